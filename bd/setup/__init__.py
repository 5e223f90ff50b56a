"""Making a hub, and joining one. Read hub.py first."""
