"""The conditions of the modules that decide what becomes of a write, and for each a test that fails where it is negated.

`branches.txt` is the list as far as it goes: a condition a line, with that test. A condition is known by its module, function and text, so
that lines may move.

    python -m tests.branches             find a test for each condition that the list lacks, and add it
    python -m tests.branches --again     all of them anew; exit 1 where no test fails

All conditions are wrapped at once, in a copy of the tree (conditions.py); a variable of the environment negates one of them
(switch.py). The first run notes which tests come by which condition, so that only those are tried.

Belongs here: finding conditions, and negating them. Does not belong here: a test of any of them.
"""
