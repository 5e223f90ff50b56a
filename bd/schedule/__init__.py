"""What starts agents, and makes work, by the clock.

- crontab.py and systemd_units.py write the user's own crontab and timers; interval.py spreads the minutes; agent_log.py keeps logs.
- invocation.py: where and how one agent runs on this machine.
- sources.py: schedules and triggers that are due become beads, once for the whole fleet.
"""
