"""How a hub is kept: git and YAML, and nothing else knows either."""
