"""A write as a state machine: states.py, effects.py, transitions.py (pure), driver.py (git)."""
