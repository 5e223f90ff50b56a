"""Speed and cost, measured as ratios in one run: `python -m bench` (see `--help`; `--list` names the sections).

Belongs here: everything that has to do with time and with what a hub has to bear. The tests have no time limits;
this has no assertions, and its limits stand in its rows; only the gate (`--gate`, baseline.py) fails. Whole processes
are measured, interleaved (A B A B ...), by the minimum and the median of several runs, so that what else the machine
does falls on both sides alike.

The sections, and what a row of each says:

writes, far     a claim, create or close with nobody in the way against the same git commands typed, here and with
                a hub 50 ms away
reads, output   a read from a warm cache against a click command that does nothing; whole lists against json.dumps
startup, cache, memory
                what each call pays before it does anything; building and advancing the cache; peak memory
cycle           one agent from create to close: pushes, objects and bytes a finished bead leaves in the hub; an idle
                agent's day; then several agents
endurance       a worker that finishes 10,000 beads: memory, open files, loose objects
dags            a plan of 1,000 and of 10,000 tasks in one commit: time and memory; reads of the larger DAG, warm and cold
contention      2 to 64 clones after the next bead at once: pushes a claim, refused ones, those beside the branch and
                deletions included, counted where they are started; at three delays of the hub's push, throughput
                against the source paper's retry loop (typed/retry.sh) and the slowest agents against one alone
graphs          processor time of every walk over a graph as its depth, width and length double
fairness        a writer whose every connection is slow among fast ones in a loop: how long it waits
crowd           64 processes in one clone: pushes a write
growth          the same writes in a hub of 100,000 beads (2,800 of them in the active folder) and in one of 100;
                what an idle poll and `bd archive` do for a hub that never archived
long            the same commands in a hub with 50,000 commits and in one with a few
pools           a pool 0..10 with thirty beads at once and then silence, its size each second, as its controller and a
                worker are killed and its check prints garbage; nobody is started twice, everything is done
simulation      `bd simulate` against real workers at two delays of the hub's push: time, pushes and lost ones
simulated       a fleet of processes and the same fleet in `bd simulate`, with times of a lone agent: beads a minute, median
                wait, pushes
day             a day of the hub in commits: a quiet one, which has none, and a busy one, by verb
waking          from a push to a hub on this machine to the claim of an idle agent, with its files watched and without
races           clones after one and the same bead, round after round: one winner each time
tools           other trackers on PATH, and the source paper's recipe as a script, verb by verb
page            the other tool's browser interface: from a sync until an open page shows what came
serve           `bd serve`: from another clone's push until an open page is told, and has it, against that push
workspaces      the second workspace of a large code repository against git worktree add
api             the HTTP API: 200 reads a second for 200 agents while the hub moves, claims at once, silent clients
past            reading old commits: `history`, `--at` and `audit`
fuzz            what others wrote, made to do harm, against every reader of it: inputs a second, and what broke
torture         tests/torture at length: histories with faults, those that happened by kind, and what was broken
breakdown       where the time of a claim goes, see README.md; words, no verdicts
"""
