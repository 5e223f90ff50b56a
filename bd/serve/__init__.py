"""The hub as web pages, for people who would rather look: everything here runs only inside `bd serve`.

One thread follows the hub (feed.py), one reads and one writes (hub_thread.py); the rest is asyncio. Starlette and uvicorn are an
optional extra, and are imported nowhere else.
"""
