"""Data that only this clone has. Read journal.py first.

- journal.py: operations that were begun and not settled; lock.py: one writer per clone.
- tokens.py: the fencing tokens of claims made here, so that nobody has to type them.
- last_fetch.py: when this clone last fetched; state.py: all of it as files.
"""
