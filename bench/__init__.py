"""Speed, measured as ratios in one run: `python -m bench` (see `--help`).

Belongs here: everything that has to do with time. The tests have no time limits; this has no
assertions. Whole processes are measured, interleaved (A B A B ...), by the minimum and the
median of several runs, so that what else the machine does falls on both sides alike.
"""
