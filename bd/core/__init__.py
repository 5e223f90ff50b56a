"""The values that every other package uses: beads, claims, settings, ids, times, errors.

Read model.py first (Bead, Claim, Snapshot, Change), then schema.py (the tables of docs/format.md).

- Values are frozen; a change returns a new value.
- runtime.py is the interface to the machine: time, sleep, random numbers, new ids. times.py only handles texts of times.
- errors.py has every error with its exit code, its JSON code and its hint.
- versions.py says whether two installations of bd may act for each other.
- value.py, files.py, backoff.py: the one way to make a frozen value, to replace a file, to wait longer and longer.
"""
