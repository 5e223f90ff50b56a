"""The parsed files of one commit, and what was derived from them, in SQLite. Read cache.py first."""
