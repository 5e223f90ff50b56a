"""What only this clone knows: journal, lock, tokens, observations, rejected changes. Read journal.py first."""
