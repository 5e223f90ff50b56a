"""Reports about a hub; nothing here writes.

Read selection.py first (which beads a list shows), then commits.py and bead_events.py (what a history says).

- audit/ judges a history, board/ shows the fleet on a page, metrics/ counts.
- doctor.py finds faults in the hub and in this clone; attention.py finds what needs a person.
"""
