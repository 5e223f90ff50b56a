"""How the fleet is doing, in numbers. Read metrics.py first."""
