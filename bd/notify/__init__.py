"""Notifications of people, and the commands that this clone may run for them. Read events.py first.

- hooks.py notifies people through the clone's own hooks and the trusted hooks of the hub.
- A command from the hub only runs if it was pinned in this clone (command_pins.py, trusted_commands.py).
"""
