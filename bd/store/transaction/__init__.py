"""The only code that moves the hub branch, as a state machine. Read states.py and transitions.py first, with docs/protocol.md.

- queue.py: the journal entry and the clone's lock around one write.
- states.py: what a write knows and the effect it asks for next; effects.py: the effects and the events they can report;
  transitions.py: the next state for each event. These are pure; driver.py carries the effects out on git.
- batch.py: what goes into one push; drafts.py: decided operations as commit drafts.
- verdict.py: whether a push landed; finish.py: updating this clone afterwards; offline.py: keeping a write while the remote is
  unreachable.
- recovery.py: what killed processes left in the journal (findings.py); unpublished.py: operations that never reached the hub;
  replay.py: deciding unpublished commits again on a newer tip.
- The outcome of a push comes from the server's answer or from a fetch, never from an exit status.
"""
