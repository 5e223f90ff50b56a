"""A hub and its clones in memory: what store/contract.py asks for, without git, files and processes.

Read first: server.py, then place.py (how a clone is opened on it). Commits have git's form, and trees are flat. Each clone has
objects of its own: what nobody fetched is not there. What the contract promises of crashes holds here, too: an entry that
was not synced is lost with its machine, and a lock goes with its process.
"""
