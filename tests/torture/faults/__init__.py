"""What goes wrong. Importing this package registers every fault; registry.py says how to add one."""

from tests.torture.faults import answers, clocks, clones, disks, kills, people, servers, timing
from tests.torture.faults.registry import OF_A_CALL, OF_A_HISTORY, OF_A_ROUND, ONLY, names

__all__ = ["OF_A_CALL", "OF_A_HISTORY", "OF_A_ROUND", "ONLY", "names"]
__all__ += ["answers", "clocks", "clones", "disks", "kills", "people", "servers", "timing"]
