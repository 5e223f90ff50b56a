"""A checked-out hub branch follows what was published. Read checkout.py first.

- Index and files first, the ref last; all or nothing. Edits made by hand are never overwritten.
- plain_update.py and plain_ref.py do the common case without starting git.
"""
