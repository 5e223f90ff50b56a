"""The rules: pure functions of (snapshot, settings, now, random numbers). No input or output, no clock.

Read first: readiness.py (is a bead ready, and why not), then eligibility.py (may this agent take it).

- lifecycle.py and claims.py change beads: bead in, new bead out, or a refusal.
- A rule that several commands need has one place. `Eligibility` is the only answer to what an agent may take.
- liveness.py judges by observations, never by another machine's clock alone.
"""
