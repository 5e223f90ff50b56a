"""A checked-out hub branch follows what was published. Read checkout.py first.

- Index and files first, the ref last; all or nothing. Edits made by hand are never overwritten.
- git moves index, files and branch; checkout.py says what is in the way.
"""
