"""The only way to write. Read driver.py first, beside docs/protocol.md.

- queue.py: the journal entry and the clone's lock; driver.py: fetch, decide, push by compare-and-swap, or decide again.
- batch.py: what goes into one push; drafts.py: decided operations on their way to be commits.
- verdict.py: what became of a push, found out by looking; finish.py: this clone follows.
- recovery.py: what killed processes left in the journal; unpublished.py: what never reached the hub; offline.py: what is kept while
  the remote is away; replay.py: deciding that again.
"""
