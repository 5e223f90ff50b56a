"""Everything that is done with git: processes, objects, trees, fetch and push. Read repository.py first."""
