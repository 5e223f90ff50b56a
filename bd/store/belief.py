"""What readers believe where signatures are required: kept with the cache, brought forward over new commits once.

A change of state that nobody who may has signed counts as not made: the bead reads as it was, until somebody who may writes
it again. Belongs here: which beads that is true of. Does not belong here: judging commits (standing.py).
"""

from __future__ import annotations

from bd.fields import CONFIG_PATH, FILE_LIMIT, SIGNERS_PATH
from bd.light import json_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from bd.store.files import Row
    from bd.store.gitrepo import GitRepo
    from bd.store.standing import Standing

KEY = "belief"
# What decides whose word counts.
DECIDING = frozenset({SIGNERS_PATH, CONFIG_PATH})


def standing_of(note: str | None) -> Standing:
    """Who may sign, of a note."""
    from bd.store.standing import NOBODY, Standing  # noqa: PLC0415  most hubs ask for no signatures

    if note is None:
        return NOBODY
    lines, is_required, at_s = _read(note)["standing"]
    return Standing(tuple(lines), is_required, at_s)


def _read(note: str) -> dict[str, Any]:
    import json  # noqa: PLC0415  the same

    found: dict[str, Any] = json.loads(note)
    return found


def forward(repo: GitRepo, note: str | None, commit: str, changed: set[str]) -> tuple[str, list[Row | str]]:
    """The note at a commit, and the files that have to be read otherwise than they stand there, or as they stand again."""
    from bd.store import standing  # noqa: PLC0415  most hubs ask for no signatures

    known = _read(note) if note else {"commit": None, "masks": {}}
    before = standing_of(note)
    if note and not before.is_in_force and not changed & DECIDING:
        return note, []
    since = known["commit"]
    if since and (repo.objects.read(since) is None or not repo.is_ancestor(since, commit)):
        since, before = None, standing.NOBODY
    masks: dict[str, Mapping[str, Any]] = dict(known["masks"]) if since else {}
    again = set(known["masks"])
    for judged in standing.walk(repo, commit, since, before):
        before = judged.after
        for path in judged.touched if judged.is_in_force else ():
            had = masks.get(path)
            if path in judged.untrue:
                masks[path] = had if had is not None else judged.untrue[path]
            elif judged.signer:
                masks.pop(path, None)
    fresh = {"commit": commit, "standing": [list(before.signers), before.is_required, before.at_s], "masks": masks}
    rows = [_row(repo, commit, path, masks.get(path)) for path in sorted(again | set(masks))]
    if before.is_in_force:
        rows += _settings(repo, commit)
    return json_text(fresh, compact=True), [row for row in rows if row is not None]


def _row(repo: GitRepo, commit: str, path: str, had: Mapping[str, Any] | None) -> Row | str | None:
    """A bead's file as it stands, or with the state that is believed."""
    from bd.store.standing import GUARDED  # noqa: PLC0415  the same

    row = _parsed(repo, commit, path)
    if row is None or had is None or row.fields is None:
        return row or path
    row.fields = {**{key: value for key, value in row.fields.items() if key not in GUARDED}, **had}
    row.is_simple = False  # whoever writes it next compares with what stands there
    return row


def _settings(repo: GitRepo, commit: str) -> list[Row | str | None]:
    """The hub's settings, where somebody who may not has turned the requirement off."""
    row = _parsed(repo, commit, CONFIG_PATH)
    if row is None or row.fields is None:
        return []
    defaults = row.fields.get("defaults")
    row.fields = {**row.fields, "require_signed": True}
    if isinstance(defaults, dict):
        row.fields["defaults"] = {key: value for key, value in defaults.items() if key != "require_signed"}
    row.is_simple = False
    return [row]


def _parsed(repo: GitRepo, commit: str, path: str) -> Row | None:
    from bd.store.files import parse_file  # noqa: PLC0415  the same

    entries = repo.diff(None, commit, path)
    if not entries or entries[0].oid is None:
        return None
    return parse_file(path, entries[0].oid, repo.objects.read(entries[0].oid, at_most=FILE_LIMIT + 1))
