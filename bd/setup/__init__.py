"""Creating and joining hubs. Read hub.py first; dry_run.py does all the checks and writes nothing."""
