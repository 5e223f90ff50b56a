"""A checked-out hub branch follows what was published. Read checkout.py first."""
