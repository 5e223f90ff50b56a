"""What can be done to a hub: one module a family, one class a verb.

Nothing is imported here: a claim needs one family. `families` knows them all.
"""
