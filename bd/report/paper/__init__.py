"""A fleet on paper: what `bd simulate` runs. A discrete event simulation of agents, a hub and the line between them."""
