"""The parsed files of one commit, and what is derived from them, in SQLite. Read cache.py first.

- One file for each version of bd (paths.py, fingerprint.py), so two versions on one clone don't disturb each other.
- It moves from commit to commit by the difference of their trees (rows.py, hub_files.py; load.py for the first time).
- derived.py keeps phases and rendered texts next to the rows. A damaged cache is rebuilt.
"""
