"""What `bd overseer` does for a fleet, one duty after another. Read duties.py first.

- duties.py is the table of duties: each says what it would do, and does it.
- concerns.py files what needs a person and is no bead yet; pages.py publishes pages about the fleet in the hub.
"""
