"""The parsed files of one commit, and what was derived from them, in SQLite. Read cache.py first.

- One file for each version of bd (paths.py, fingerprint.py): two versions on one clone leave each other's alone.
- It moves from commit to commit by the difference of their trees (rows.py, hub_files.py, load.py for a first time).
- derived.py keeps phases and rendered texts beside the rows. A cache that is damaged is rebuilt.
"""
