"""Pools: several agents of one kind on one host. Read controller.py first.

- desired_size.py says how many there should be (policy/scaling.py has the rule); supervisor.py starts, drains and ends members;
  session.py is one member as a process; state.py is what the host remembers.
- If a controller dies, its members finish; the next controller finds them.
"""
