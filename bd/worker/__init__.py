"""One agent at work: find, claim, run, close or fail, and rest. Read loop.py first.

- loop.py is `bd work`; job.py is one claimed bead; child.py the command that works on it; result.py the outcome.
- heartbeats.py keeps claims alive; validation.py checks outputs before a close counts.
- poll.py and wait.py are for agents that claim by themselves; pacing_state.py keeps an agent's pace between cron runs.
- stall_recovery.py frees stalled claims; maintenance.py runs periodic chores.
"""
