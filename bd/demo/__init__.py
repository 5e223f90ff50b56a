"""The parts of `bd demo`: a temporary hub, agents as processes, the display, and the proof. Read race.py first."""
