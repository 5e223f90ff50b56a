"""What a history proves, and every violation in it. Read audit.py first."""
