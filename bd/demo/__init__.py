"""The demonstration: a hub made for the occasion, agents that race through it, and the proof. Read race.py first."""
