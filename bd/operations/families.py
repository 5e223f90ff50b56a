"""Every family of operations, imported so that each verb is registered: what a replay needs."""

from bd.operations import (
    agents,
    archiving,
    beads,
    claims,
    creation,
    endings,
    failing,
    graph,
    hand,
    handover,
    heating,
    hubs,
    recovery,
    switches,
    transfer,
    waiting,
)

__all__ = [
    "agents",
    "archiving",
    "beads",
    "claims",
    "creation",
    "endings",
    "failing",
    "graph",
    "hand",
    "handover",
    "heating",
    "hubs",
    "recovery",
    "switches",
    "transfer",
    "waiting",
]
