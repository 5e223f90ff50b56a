"""The web pages and the HTTP API of a hub; everything here runs inside `bd serve`.

Read first: app.py (routes), then site.py (what a handler works with).

- One thread follows the hub (feed.py), one reads and one writes (hub_thread.py); the rest is asyncio.
- request_guard.py decides which requests are allowed, authentication.py who may write, and writes.py turns requests of pages into
  ordinary operations; api/ is for agents, and has several writers (writers.py).
- Starlette and uvicorn are an optional extra and are imported nowhere else.
"""
