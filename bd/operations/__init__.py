"""Everything that can be done to a hub: one class per verb, one module per family.

Read base.py first, then claims.py as an example.

- An operation is made once, with everything it will ever need (ids, tokens and times are minted at creation), and is frozen: one
  with other ids, or one that inherits a claim, is a new operation.
- `decide(snapshot, context)` returns a Change or raises a refusal. It has no side effects, may be called many times, on one tip
  after another, and may run in another process or another clone.
- registry.py reads an operation back from its JSON form (replay, crash recovery, requests of other clones).
- reader.py reads operations back from commits and requests, for the store.
"""
