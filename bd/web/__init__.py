"""The hub as web pages and for programs, inside `bd serve` only. Read app.py and site.py first."""
