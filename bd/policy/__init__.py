"""The rules: pure functions of (snapshot, settings, now, random numbers). No I/O, no clock.

Read readiness.py first (is a bead ready, and if not, why), then eligibility.py (may this agent take it).

- lifecycle.py and claims.py change beads: bead in, new bead or a refusal out.
- A rule that several commands need is in one place. `Eligibility` is the only answer to what an agent may take.
- liveness.py judges by observations, never by another machine's clock alone.
"""
