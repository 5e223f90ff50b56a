"""Seeded histories of a fleet in memory, on the product's own code and a virtual clock, held to the rules of the torture.

`python -m tests.histories --seed 7` plays one; fleet.py has what happens in it, reading.py reads the hub afterwards, and
tests/torture/checker.py has the rules. What only git and processes can break is left to tests/torture.
"""
