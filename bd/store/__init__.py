"""The storage of a hub: git and YAML. Other packages use `Clone` and the values exported here, nothing deeper.

Read clone.py first (reads and writes of one clone), then transaction/driver.py (the loop of docs/protocol.md).
- transaction/ is the only way to write. The outcome of a push comes from the server's answer or a fetch, not from an exit status.
- snapshot.py presents a commit as values; cache/ makes that fast, and may be deleted at any time.
- local/ holds what only this clone knows; a crash loses what was not synced to disk, and nothing relies on it.
"""

from __future__ import annotations

from bd.store.clone import Clone
from bd.store.contract import REWRITTEN, Draft, Entry, SideRef
from bd.store.group_commit.idempotency import KeyIndex
from bd.store.hub_location import Place, locate
from bd.store.local.tokens import Tokens, session
from bd.store.offline_queue import QueuedWrite
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
    "KeyIndex",
    "Outcome",
    "Place",
    "QueuedWrite",
    "SideRef",
    "Tokens",
    "locate",
    "session",
]
