"""The values that every other package uses: beads, claims, settings, ids, times, errors.

Read first: model.py (Bead, Claim, Snapshot, Change), then schema.py (the tables of docs/format.md).

- Values are frozen; a change returns another value.
- times.py is the only reader of the clock, and the only module that sleeps.
- errors.py has every error with its exit code, its code for JSON and its hint.
- versions.py says whether two installations of bd may act for each other.
"""
