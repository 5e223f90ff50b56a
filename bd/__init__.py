"""A git repository of YAML bead files as the work queue of a fleet of agents."""

__version__ = "0.10.0.dev0"

# What `typing` has under this name, without importing it, which takes a command 5 ms: a claim needs nothing else of it.
TYPE_CHECKING = False
