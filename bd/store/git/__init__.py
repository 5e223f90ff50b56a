"""Everything done with git. Read repository.py first.

- Only repository.py and discovery.py start git, and GitPython for create.py; process.py runs it, environment.py has the settings
  it runs under.
- Git itself decides which repository a folder is in, and whether the caller may use it.
- objects.py and trees.py read and write objects without a process; git makes every other change of a repository.
"""
