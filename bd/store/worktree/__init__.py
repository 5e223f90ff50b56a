"""Keeps a checked-out hub branch up to date with what was published. Read checkout.py first.

- Index and files move first, the ref last; all or nothing. Hand edits are never overwritten.
- git moves index, files and branch; checkout.py reports what is in the way.
"""
