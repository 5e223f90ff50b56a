"""Many writers, one push: requests of other clones and processes, and whose turn it is. Read coordinator.py first."""
