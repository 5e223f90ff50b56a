"""Who is told of what happened, and the commands that this clone may run for it. Read events.py first.

- hooks.py tells people by the clone's own hooks and by those of the hub that are trusted.
- A command that a hub names runs only where it was pinned here (command_pins.py, trusted_commands.py).
"""
