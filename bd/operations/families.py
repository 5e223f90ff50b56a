"""Every family of operations, imported so that each verb is registered: what a replay needs."""

from bd.operations import beads, claims, graph, hand, hubs, recovery, transfer

__all__ = ["beads", "claims", "graph", "hand", "hubs", "recovery", "transfer"]
