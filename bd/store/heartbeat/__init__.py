"""Heartbeats of claims, and the agents' own records, in side refs (refs/bd/...). Read side_refs.py first.

- A heartbeat moves a claim's ref to an object that stands for the time (objects.py); it makes no commit on the branch.
- claim_refs.py decides which of these refs a commit creates and deletes.
- agent_records.py sanitises what others wrote there: anybody who may push can write any JSON.
"""
