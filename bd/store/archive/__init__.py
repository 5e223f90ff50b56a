"""Closed beads that were moved out of the way, many to a file. Read volumes.py first.

Readers see an archived bead as if it had its own file.
"""
