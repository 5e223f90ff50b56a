"""Many writers, one push (docs/protocol.md, "Many writers at once"). Read requests.py first.

- local.py: other processes of this clone; whoever holds the clone's lock takes their operations along.
- requests.py: requests of other clones, in refs/bd/intents/; remote.py carries them out, verdict_trailers.py answers.
- order.py says in which order they are decided on a tip. Who is served by other rules publishes alone.
- A request is never the truth: only the branch says what happened.
"""
