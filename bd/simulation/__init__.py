"""A fleet on a hub in memory and a virtual clock: what `bd simulate` runs, with the product's own code. Read run.py first.

scenario.py says what is simulated; agent.py and makers.py are who acts, hub.py and clone.py what they act on, jobs.py and beats.py
what is computed; tally.py counts, figures.py is what comes out. machine.py, connection.py, driver.py and loop.py are the virtual
machine, which the tests' histories use too. The same seed gives the same figures.
"""
