"""What a history proves, and every violation in it. Read audit.py first.

- steps.py gives each commit with what it did to beads; rules.py judges a commit, claim_periods.py claims over time.
- signed_changes.py judges signatures; proof.py and incidents.py are what the demonstration shows at its end.
"""
