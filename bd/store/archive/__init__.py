"""Closed beads that were moved out of the way, many to a file. Read volumes.py first.

Every reader gets an archived bead as if it had a file of its own.
"""
