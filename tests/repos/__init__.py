"""Code repositories: entries, workspaces, branches, and what is left unpushed."""
