"""What only this clone knows. Read journal.py first.

- journal.py: operations that were begun and not settled; lock.py: one writer a clone.
- tokens.py: the fencing tokens of claims made here, so that nobody has to type them.
- observations.py: what was seen of others' heartbeats, and since when; last_fetch.py: when this clone last fetched.
- rejected.py: changes that the hub refused, until somebody dismisses them.
"""
