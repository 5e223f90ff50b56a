"""Coding agents that bd knows: how they are started, what they print, and what they cost. Read known.py first.

- known.py is the table, one entry an agent; a new agent is an entry there and a reader.
- reader.py is what all readers share; claude.py, codex.py and gemini.py read the lines of one program each, into a Result.
- result.py decides how a run ended; provider_errors.py tells whose fault an error is.
- spending.py works out what one run cost from totals that may cover a whole session; sessions.py when a session is resumed.

Nothing that a program prints is trusted: an attempt succeeds only if its result, its exit code and its denials agree.
"""
