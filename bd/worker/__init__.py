"""One agent at work: find, claim, run, close or fail, and rest. Read loop.py first."""
