"""Races and crashes on real git, with processes of their own.

The histories in memory (tests/histories) cover most of what can go wrong between writers, so only some of these are quick.
"""
