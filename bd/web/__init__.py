"""The hub as web pages and for programs: everything here runs inside `bd serve`.

Read first: app.py (routes), then site.py (what a handler works with).

- One thread follows the hub (feed.py), one reads and one writes (hub_thread.py); the rest is asyncio.
- request_guard.py lets requests in, authentication.py knows who may change something, writes.py makes ordinary operations of it.
- Starlette and uvicorn are an optional extra, and are imported nowhere else.
"""
