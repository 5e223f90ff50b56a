"""The state that readers believe in a hub that requires signatures: kept with the cache, and updated for new commits.

An unsigned or untrusted change of state counts as not made: the bead reads as it was until a trusted signer writes it again. This
module keeps track of such beads; verification.py judges commits.
"""

from __future__ import annotations

import json

from bd import TYPE_CHECKING
from bd.core.json_shapes import MAYBE_TEXT, fits
from bd.core.schema import CONFIG_PATH, FILE_LIMIT, SIGNERS_PATH
from bd.store.bead_locations import Archived
from bd.store.hub_files import parse_entries, parse_file
from bd.store.trust import guarded_fields

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from bd.store.bead_locations import Archived
    from bd.store.git.repository import GitRepo
    from bd.store.hub_files import Row
    from bd.store.trust.authority import Standing

KEY = "belief"
_SHAPE = {"commit": MAYBE_TEXT, "standing": list, "masks": {...: (str, dict, type(None))}}
_STANDING: tuple[Any, ...] = ([str], bool, int)
# The files that decide who is trusted.
DECIDING = frozenset({SIGNERS_PATH, CONFIG_PATH})


class ForeignNote(ValueError):
    """A note that bd did not write."""


def standing_of(note: str | None) -> Standing:
    """Return the signers recorded in a note."""
    from bd.store.trust.authority import NOBODY, Standing  # noqa: PLC0415  most hubs ask for no signatures

    if note is None:
        return NOBODY
    lines, is_required, at_s = _read(note)["standing"]
    return Standing(tuple(lines), is_required, at_s)


def _read(note: str) -> dict[str, Any]:
    found: Any = None
    try:
        found = json.loads(note)
    except (ValueError, RecursionError):
        pass
    if not fits(found, _SHAPE) or len(found["standing"]) != len(_STANDING) or not all(map(fits, found["standing"], _STANDING)):
        raise ForeignNote("the trust note was not written by bd")
    return found  # type: ignore[no-any-return]


def forward(repo: GitRepo, note: str | None, commit: str, changed: set[str]) -> tuple[str, list[Row | str]]:
    """Update the note to a commit. Return it, and the rows that must differ from their files or are equal to them again."""
    from bd.store.trust import authority, verification  # noqa: PLC0415  most hubs ask for no signatures

    known = _read(note) if note else {"commit": None, "masks": {}}
    before, masks = standing_of(note), known["masks"]
    if note and not (before.is_in_force or masks or changed & DECIDING):
        return note, []
    since = known["commit"]
    if since and (repo.objects.read(since) is None or not repo.is_ancestor(since, commit)):
        since, before, masks = None, authority.NOBODY, {}
    again = set(known["masks"])
    for judged in verification.walk(repo, commit, since, before, masks):
        before, masks = judged.after, judged.masks
    fresh = {"commit": commit, "standing": [list(before.signers), before.is_required, before.at_s], "masks": masks}
    keys = sorted(again | set(masks))
    archived = Archived(repo)
    return json.dumps(fresh, separators=(",", ":")), [row for key in keys for row in _rows(repo, archived, commit, key, masks)]


def _rows(repo: GitRepo, archived: Archived, commit: str, key: str, masks: Mapping[str, Any]) -> Iterator[Row | str]:
    """Yield the rows of a key's files, with the believed values in place of what the files say."""
    if "/" in key:
        entries = repo.diff(None, commit, key)
        if key in masks and masks[key] is None:
            yield key
        elif key in masks:
            there = parse_file(key, masks[key], repo.objects.read(masks[key], at_most=FILE_LIMIT + 1))
            there.is_simple = False  # the next write has to compare with the real file
            yield there
        else:
            yield from parse_entries(repo, entries) if entries else [key]
        return
    for row in parse_entries(repo, archived.all_of(key, commit)):
        if key in masks and not isinstance(row, str) and row.fields is not None:
            row.fields = {
                **{name: value for name, value in row.fields.items() if name not in guarded_fields.SIGNED_FIELDS},
                **masks[key],
            }
            row.is_simple = False
        yield row
