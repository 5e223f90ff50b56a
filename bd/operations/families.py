"""Every family of operations, imported so that each verb is registered: what a replay needs."""

from bd.operations import (
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
    transfer,
    waiting,
)

__all__ = [
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
    "transfer",
    "waiting",
]
