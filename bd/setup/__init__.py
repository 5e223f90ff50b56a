"""Making a hub, and joining one. Read hub.py first; dry_run.py goes through every check and writes nothing."""
