"""Fault injection: many agents in many clones of a real hub, everything that can fail failing, and a check afterwards.

    make torture SEED=7 RUNS=100          or   python -m tests.torture --seed 7 --runs 100

| module | its noun |
| --- | --- |
| yard.py | a hub, its clones and the sealed environment of one history |
| calls.py | one bd command in a process of its own: its words, its faults, what it said |
| workload.py | which command an agent types next |
| faults/ | what goes wrong, each a small function; `faults/registry.py` says how to add one |
| history.py | one history: rounds of calls with faults, then peace, then the check |
| reading.py | the hub's commits, read with git alone |
| schema_check.py | the rules; pure, so that it can be fed broken histories |

The seed decides who does what in which clone, which faults come and at which step or moment. What the kernel makes of
processes that run at once is not in it: `--repeat 20` runs one seed so many times.
"""
