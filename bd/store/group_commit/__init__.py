"""Group commit: many writers, one push (docs/protocol.md, "Many writers at once"). Read requests.py first.

- local.py: processes of one clone; the holder of the clone's lock takes the others' operations along.
- requests.py: requests of other clones in refs/bd/intents/, read and carried out; verdict_trailers.py: the answers to them.
- order.py: the order in which they are decided on a tip. A clone that runs different rules publishes alone.
- A request is never the truth: only the branch says what happened.
"""
