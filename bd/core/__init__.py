"""The values that every other package uses: beads, claims, settings, ids, times, errors.

Read first: model.py (Bead, Claim, Snapshot, Change), then schema.py (the tables of docs/format.md).

- Values are frozen; a change returns another value.
- runtime.py is what a process may ask of the machine: time, sleep, chance, new names. times.py knows texts of times alone.
- errors.py has every error with its exit code, its code for JSON and its hint.
- versions.py says whether two installations of bd may act for each other.
- value.py, files.py, backoff.py: the one way to make a frozen value, to replace a file, to wait ever longer.
"""
