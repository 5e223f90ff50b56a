"""Trust: whose changes count in a hub that requires signatures. Read verification.py first.

- authority.py says who may sign for whom at a commit; verification.py judges each commit by its parents' state; merges.py does so
  where histories meet.
- guarded_fields.py and guarded_blobs.py say which parts of a file are protected; anybody may change the rest.
- signing.py signs with the keys of this machine's agents; signatures.py verifies; state.py keeps the result with the cache.
"""
