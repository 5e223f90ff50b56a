"""Starting agents and creating work on a schedule.

- crontab.py and systemd_units.py write the user's crontab and timers; interval.py chooses the minutes; agent_log.py keeps logs.
- invocation.py describes how one agent is started on this machine.
- sources.py turns due schedules and triggers into beads, once for the whole fleet.
"""
