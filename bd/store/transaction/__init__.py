"""The only way to write: a state machine. Read states.py and transitions.py first, beside docs/protocol.md.

- queue.py: the journal entry and the clone's lock, around one write.
- states.py: what a write knows, and what it is about to do; effects.py: what it may do, and what may come of it;
  transitions.py: what comes next. Pure. driver.py carries effects out on git.
- batch.py: what goes into one push; drafts.py: decided operations on their way to be commits.
- verdict.py: what became of a push; finish.py: this clone follows; offline.py: what is kept while the remote is away.
- recovery.py: what killed processes left in the journal; unpublished.py: what never reached the hub; replay.py: what is
  unpublished, decided again.
- What happened to a push is found out by looking, never believed from an exit status.
"""
