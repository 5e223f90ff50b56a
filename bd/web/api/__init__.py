"""The HTTP API for agents without git, `/api/v1`; the tools of `bd mcp` are the same endpoints.

Read first: endpoints.py (the table of endpoints), then call.py (what one request is).

- The table is the only list: routes, validation, the OpenAPI document and MCP's tools are made from it.
- reads.py and writes.py call the operations and reports that the commands call, and answer with the commands' JSON.
- An agent's token says who asks; a claim's token also which bead. Nothing here has a force, a trust or a setting.
"""
