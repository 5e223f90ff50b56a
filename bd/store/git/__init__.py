"""Everything that is done with git. Read repository.py first.

- repository.py and discovery.py are the only modules that start git; process.py runs it, environment.py says under which settings.
- Git decides which repository a folder is in, and whether the caller may use it.
- objects.py and trees.py read and write objects without a process; every other change of a repository is git's own.
"""
