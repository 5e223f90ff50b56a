"""What can be done to a hub: one module a family, one class a verb.

Importing the package registers every operation, so that a replay can find it by its verb.
"""

from bd.operations import beads, claims, graph, hand, hubs, recovery

__all__ = ["beads", "claims", "graph", "hand", "hubs", "recovery"]
