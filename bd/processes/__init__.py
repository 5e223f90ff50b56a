"""Commands that bd starts, each with everything that it starts itself. Read tree.py first.

- tree.py is such a command as its starter sees it; run.py runs one to its end within a limit.
- supervisor.py is the small program between bd and the command. It adopts what the command leaves behind, and ends the
  whole tree when bd asks for it or has died, however that happened.
"""
