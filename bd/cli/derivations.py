"""The derivations that bd hands to its store: what it keeps of beads, so that a list need not work it out again.

Each names all code that its function may import.
"""

from __future__ import annotations

from bd.cli.bead_lines import lasting_lines
from bd.compat.bead_json import lasting_entries
from bd.core.queries import Derivation
from bd.policy.derivations import phases

PHASES = Derivation("phase", ("core", "policy"), phases)
ENTRIES = Derivation("issue", ("core", "policy", "compat"), lasting_entries)
LINES = Derivation("line", ("core", "policy", "cli/bead_lines.py", "cli/output.py"), lasting_lines)
DERIVATIONS = (PHASES, ENTRIES, LINES)
