"""How a hub is kept: git and YAML. No other package knows either.

Read first: clone.py (a hub as one clone holds it), then transaction/driver.py (the loop of docs/protocol.md).

- transaction/ is the only way to write. What became of a push is found out by looking, never by an exit status.
- snapshot.py gives a commit as values; cache/ makes that quick, and may be deleted at any time.
- local/ holds what only this clone knows; what was not synced is lost in a crash, and nothing relies on it.
"""
