"""The mechanism of `bd demo`: a hub made for the occasion, agents as processes, what is shown, and the proof. Read race.py first."""
