"""Every family of operations, imported so that each verb is registered: what a replay needs."""

from bd.operations import beads, claims, creation, endings, graph, hand, handover, heating, hubs, recovery, transfer, waiting

__all__ = [
    "beads",
    "claims",
    "creation",
    "endings",
    "graph",
    "hand",
    "handover",
    "heating",
    "hubs",
    "recovery",
    "transfer",
    "waiting",
]
