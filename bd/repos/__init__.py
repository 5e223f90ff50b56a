"""Code repositories: where agents work on beads that are about one, and how their commits get out.

A cache (cache.py) is one bare repository for each URL, user and machine. A workspace (workspace.py) is a clone that borrows its
objects, one folder for each bead and machine. delivery.py pushes an attempt's commits to the branch of its bead (branch_names.py);
leftovers.py sets aside whatever else is unpushed, so that nothing is lost. standing.py says which repositories this clone may work
on. The entries themselves are in core/code_repos.py. Read attempt.py first: it is what a worker calls.

Must hold: bd trusts nothing that an agent can write. It runs no git with the settings of a workspace, except git's own upload-pack
to fetch from it; it pushes from the cache, only by fast-forward or to a new branch, and deletes nothing that is not set aside.
"""
