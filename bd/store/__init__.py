"""How a hub is kept: git and YAML. Others take Clone and its values from here, and look no deeper.

Read first: clone.py (reads and writes of one clone), then transaction/driver.py (the loop of docs/protocol.md).

- transaction/ is the only way to write. What became of a push is found out by looking, never by an exit status.
- snapshot.py gives a commit as values; cache/ makes that quick, and may be deleted at any time.
- local/ holds what only this clone knows; what was not synced is lost in a crash, and nothing relies on it.
"""

from __future__ import annotations

from bd.store.clone import Clone
from bd.store.contract import REWRITTEN, Draft, Entry, SideRef
from bd.store.hub_location import Place, locate
from bd.store.local.tokens import Tokens, session
from bd.store.rejected import KeptCommit
from bd.store.snapshot import CachedSnapshot
from bd.store.transaction.outcome import Outcome

__all__ = [
    "REWRITTEN",
    "CachedSnapshot",
    "Clone",
    "Draft",
    "Entry",
    "KeptCommit",
    "Outcome",
    "Place",
    "SideRef",
    "Tokens",
    "locate",
    "session",
]
