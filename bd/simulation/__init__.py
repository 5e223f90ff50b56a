"""A discrete event simulation of a fleet: agents, a hub, and the line between them. Read run.py first."""
