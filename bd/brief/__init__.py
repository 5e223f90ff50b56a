"""The brief: everything that the hub knows for whoever works on a bead, as one text.

Belongs here: which parts a bead has (parts.py), how they are cleaned (cleaning.py), cut (limits.py), fenced and printed (brief.py), and
how the reader reports (verbs.py).
Must hold: no text of a bead can end its own fence, and nothing is left out silently. Read brief.py first.
"""
