"""Heartbeats of claims, and what agents say of themselves, in side refs (refs/bd/...). Read side_refs.py first.

- A heartbeat moves a claim's ref to an object that stands for the time (objects.py); it makes no commit.
- claim_refs.py says which of these refs a commit makes and removes.
- agent_records.py makes what others put there harmless: anybody who may push can write any JSON.
"""
