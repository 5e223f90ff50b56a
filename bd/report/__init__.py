"""What can be read out of a hub; nothing here writes.

Read first: selection.py (which beads a list shows), then commits.py and bead_events.py (what a history says).

- audit/ judges a history, board/ shows the fleet on a page, metrics/ counts.
- doctor.py looks for what is wrong in the hub and in this clone; attention.py for what needs a person.
"""
