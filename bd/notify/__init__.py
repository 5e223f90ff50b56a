"""Who is told of what happened, and the commands that this clone may run for it. Read events.py first."""
