"""A bead's history: who changed it, when, and which fields, read from the hub's commits; and its claims in words."""

from __future__ import annotations

from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.core.schema import FILE_LIMIT, bead_path, volume_of
from bd.report import commits
from bd.report.commits import BY_HAND, who
from bd.store.yaml import codec

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from bd.report.commits import Commit
    from bd.store.git.repository import GitRepo

# Times that change together with other fields, and say nothing alone.
_QUIET = frozenset({"updated_at", "heated_at", "reopened_at"})
# How a claim ended, by verb.
_ENDS = {
    "close": "closed",
    "handoff": "closed, and handed over",
    "release": "given back",
    "take": "taken over",
    "fail": "it failed",
    "reassign": "freed, because it had stalled",
    "cancel": "cancelled",
    "wait-human": "parked for a person",
    "undo": "taken back",
    "delete": "deleted",
}


class Event(NamedTuple):
    """One commit that changed a bead. `changes` maps a field to its (old, new) values; None if unset.

    `kind` is the kind of `by`: agent, human, hand (plain git) ... `claims` describes what happened to the bead's claims.
    """

    commit: str
    at: str
    by: str
    kind: str
    subject: str
    verb: str
    changes: Mapping[str, tuple[Any, Any]]
    claims: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        changes = {key: _pair(pair) for key, pair in self.changes.items()}
        return {**self._asdict(), "changes": changes, "claims": list(self.claims)}


def _pair(pair: tuple[Any, Any]) -> dict[str, Any]:
    return {key: value for key, value in zip(("old", "new"), pair, strict=True) if value is not None}


def events(repo: GitRepo, bead_id: str, tip: str, since: str | None = None, *, path: str = "") -> list[Event]:
    """Return the bead's events, oldest first, without those that `since` contains.

    Without those of the first commit of a shallow clone: what that changed is unknown. `path` is the bead's file at the tip.
    Moves to the archive and back are followed, and so is a file that got another id.
    """
    ranges = (f"^{since}",) if since else ()
    cut = {*repo.shallow_commits()}
    paths = {bead_path(bead_id), volume_of(path) or path or bead_path(bead_id)}
    while True:
        limits = [f":(literal){one}" for one in sorted(paths)]
        read = commits.read(repo, tip, *ranges, paths=limits)
        made = [_of_bead(commit, bead_id) for commit in read if commit.name not in cut]
        others = _elsewhere(repo, made, bead_id) - paths
        if not others:
            break
        paths |= others
    found = [event for event in (_event(repo, commit, bead_id) for commit in made) if event is not None]
    if found and not since and "id" in found[0].changes:
        return [*_before_its_id(repo, found[0], bead_id), *found]
    return found


def _of_bead(commit: Commit, bead_id: str) -> Commit:
    """Return the commit with only the bead's files."""
    return commit._replace(sides=tuple(tuple(file for file in side if file.bead == bead_id) for side in commit.sides))


def _elsewhere(repo: GitRepo, made: Sequence[Commit], bead_id: str) -> set[str]:
    """Return other paths of the bead's file: if it appears or disappears in a commit, it may have been moved there."""
    names = [commit.name for commit in made if len(commit.files) == 1 and not (commit.files[0].old and commit.files[0].new)]
    if not names:
        return set()
    whole = commits.read(repo, names[0], "--no-walk", *names[1:])
    return {volume_of(file.path) or file.path for commit in whole for file in _of_bead(commit, bead_id).files}


def _event(repo: GitRepo, commit: Commit, bead_id: str) -> Event | None:
    """Return what a commit did to the bead; None if nothing, or if a merge only combines."""
    files = list(commit.files)
    for side in commit.sides[1:]:
        paths = {file.path for file in side}
        files = [file for file in files if file.path in paths]
    if not files:
        return None
    old, new = (min((f for f in files if getattr(f, end)), key=lambda f: len(f.path), default=None) for end in ("old", "new"))
    before, after = _fields(repo, old.old if old else "", bead_id), _fields(repo, new.new if new else "", bead_id)
    changes = {key: pair for key, pair in _changes(before, after).items() if key not in _QUIET}
    if old and new and old.path != new.path:
        changes["file"] = (old.path, new.path)
    by = who(commit)
    claims = tuple(_claim_words(before, after, commit))
    verb = commit.verb or BY_HAND
    return Event(commit.name, commit.at, by.name, by.kind, commit.subject, verb, changes, claims) if changes else None


def _fields(repo: GitRepo, oid: str, bead_id: str) -> dict[str, Any]:
    data = repo.objects.read(oid, at_most=FILE_LIMIT + 1) if oid else None
    if data is None:
        return {}
    try:
        return codec.parse_bead(data, bead_id).fields
    except codec.Unreadable as error:
        return {"id": bead_id, "unreadable": str(error)}


def _changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    return {key: (before.get(key), after.get(key)) for key in {**before, **after} if before.get(key) != after.get(key)}


def _before_its_id(repo: GitRepo, first: Event, bead_id: str) -> list[Event]:
    """Return the events of the file that became this bead's in its first commit: one with the same uid that disappeared."""
    uid = first.changes.get("uid", (None, None))[1]
    if not uid:
        return []
    (commit,) = commits.read(repo, first.commit, f"^{first.commit}^@")
    gone = [file for file in commit.files if file.bead not in ("", bead_id) and not file.new]
    for file in gone:
        if _fields(repo, file.old, file.bead).get("uid") == uid:
            return events(repo, file.bead, commit.parents[0])
    return []


# --- claims in words --------------------------------------------------------------------------


def _claim_words(before: Mapping[str, Any], after: Mapping[str, Any], commit: Commit) -> Iterator[str]:
    olds, news = _claims(before), _claims(after)
    gone = [claim for token, claim in olds.items() if token not in news]
    for token, claim in news.items():
        if token in olds:
            yield from _kept_words(olds[token], claim)
            continue
        was = next(
            (old for old in gone if (old.get("agent"), old.get("attempt")) == (claim.get("agent"), claim.get("attempt"))), None
        )
        if was is not None:
            gone.remove(was)
            yield f"{claim.get('agent')} took its claim over under a new token"
        else:
            how = "claimed" if claim.get("started_at") else "reserved"
            yield f"{how} by {claim.get('agent')}, attempt {claim.get('attempt', 1)}"
    for claim in gone:
        yield f"the claim of {claim.get('agent')} ended: {_end_words(commit, claim)}"


def _claims(fields: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    claims: Sequence[Mapping[str, Any]] = [fields["claim"]] if fields.get("claim") else fields.get("claims", [])
    return {str(claim.get("token")): claim for claim in claims}


def _kept_words(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    if new.get("agent") != old.get("agent"):
        yield f"the claim of {old.get('agent')} became {new.get('agent')}'s"
    elif new.get("started_at") and not old.get("started_at"):
        yield f"{new.get('agent')} began the work"
    elif new.get("heartbeat_at") != old.get("heartbeat_at"):
        yield f"a heartbeat of {new.get('agent')}"


def _end_words(commit: Commit, claim: Mapping[str, Any]) -> str:
    if commit.is_by_hand:
        return "removed by hand"
    words = _ENDS.get(commit.verb, f"by `{commit.verb}`")
    if commit.args.get("force") and claim.get("token") not in commit.tokens:
        reason = commit.args.get("reason") or commit.args.get("note")
        return f"{words}, by force{f': {reason}' if reason else ''}"
    return words
