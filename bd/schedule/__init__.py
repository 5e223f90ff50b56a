"""What starts agents and makes work by the clock: crontab, systemd, schedules and triggers."""
