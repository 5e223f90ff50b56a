"""Heartbeats of claims and the agents' own records, in refs next to the branch. Read side_refs.py first."""
