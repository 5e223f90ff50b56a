"""The audit of a hub's history: what it proves, and every violation in it. Read audit.py first.

- steps.py yields each commit with its changes of beads; rules.py judges a commit, claim_periods.py claims over time.
- signed_changes.py judges signatures; proof.py and incidents.py are for the end of the demos.
"""
