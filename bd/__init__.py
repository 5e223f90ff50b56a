"""A git repository of YAML bead files as the work queue of a fleet of agents."""

__version__ = "0.10.0.dev0"
