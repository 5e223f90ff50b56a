"""A hub and its clones in memory: an implementation of store/contract.py without git, files and processes.

Read server.py first, then place.py (how a clone is opened). Commits have git's form, trees are flat. Each clone has its own
objects: what was not fetched is not there. The contract's promises about crashes hold here, too: an entry that was not synced is
lost when its machine crashes, and a lock ends with its process.
"""
