"""A fleet on paper: what `bd simulate` runs. Read run.py first.

scenario.py says what is simulated, loop.py is simulated time, hub.py and writers.py are the protocol, figures.py is what comes out.
The same seed gives the same figures.
"""
