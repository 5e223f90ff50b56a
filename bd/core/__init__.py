"""What every other package speaks of: beads, claims, settings, ids, times, errors. Read model.py first."""
