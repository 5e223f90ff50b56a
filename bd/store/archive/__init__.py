"""Beads that were moved out of the way, many to a file."""
