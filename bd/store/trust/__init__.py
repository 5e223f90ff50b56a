"""Whose changes count, where a hub requires signatures. Read verification.py first.

- authority.py says who may sign for whom at a commit; verification.py judges each commit by its parents' state; merges.py does so
  where histories meet.
- guarded_fields.py and guarded_blobs.py say what of a file is protected: the rest anybody may change.
- signing.py signs with the keys of the agents on this machine; signatures.py verifies.
"""
