"""Versions of beads at commits, with the fields that an audit needs; each content is parsed once."""

from __future__ import annotations

import re
from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.core.schema import BEADS_DIR, FILE_LIMIT
from bd.store.hub_files import bead_id_of
from bd.store.yaml import codec

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    from bd.store.git.repository import GitRepo

# A file that does not match holds no claim, and need not be parsed to know that.
_CLAIM_KEY = re.compile(rb"claims?[\"']?\s*:")
_AT_ONCE = 500


class Version(NamedTuple):
    """A bead as a commit has it. `claims` are the maps of its claims: at most one if it is exclusive and intact."""

    bead: str
    uid: str
    status: str
    owner: str
    assignee: str
    claims: tuple[Mapping[str, Any], ...]
    is_advisory: bool
    output: Any
    attempts: int
    exclusive: str
    comments: Mapping[str, tuple[str, ...]]
    type: str = "task"
    expected: str = ""

    @property
    def tokens(self) -> frozenset[str]:
        return frozenset(str(claim["token"]) for claim in self.claims)

    @property
    def claim(self) -> Mapping[str, Any] | None:
        """The claim of an exclusive bead."""
        return self.claims[0] if self.claims and not self.is_advisory else None


def version_of(fields: Mapping[str, Any]) -> Version:
    """Make a version from a bead's fields."""
    claims = [fields.get("claim"), *fields.get("claims", [])]
    return Version(
        fields["id"],
        fields.get("uid", ""),
        fields.get("status", "open"),
        fields.get("owner", ""),
        fields.get("assignee", ""),
        tuple(claim for claim in claims if claim and claim.get("token")),
        fields.get("claim_mode") == "advisory" and not fields.get("claim"),
        fields.get("output"),
        fields.get("attempts", 0),
        fields.get("exclusive", ""),
        {_name_of(comment): tuple(map(str, comment.values())) for comment in fields.get("comments", [])},
        fields.get("type", "task"),
        fields.get("expected", ""),
    )


def _name_of(comment: Mapping[str, Any]) -> str:
    """Return what identifies a comment: its id, or its content if it was typed without one."""
    return str(comment.get("id") or (comment.get("author"), comment.get("at"), comment.get("text")))


class Versions:
    """The versions by (bead, blob). For an unreadable file, the last readable version counts."""

    def __init__(self, repo: GitRepo) -> None:
        self._repo = repo
        self._known: dict[tuple[str, str], Version | None] = {}
        self.unreadable: set[tuple[str, str]] = set()

    def learn(self, blobs: Iterable[tuple[str, str]]) -> None:
        """Read these contents, unless they are known."""
        wanted = list(dict.fromkeys(pair for pair in blobs if pair[1] and pair not in self._known))
        contents = self._repo.objects.read_many([oid for _, oid in wanted], at_most=FILE_LIMIT + 1)
        for pair, data in zip(wanted, contents, strict=True):
            self._known[pair] = self._parsed(pair, data)

    def _parsed(self, pair: tuple[str, str], data: bytes | None) -> Version | None:
        try:
            return version_of(codec.parse_bead(data or b"", pair[0]).fields)
        except codec.Unreadable:
            self.unreadable.add(pair)
            return None

    def get(self, bead: str, oid: str) -> Version | None:
        """Return the version in a content; None if there is none that was ever readable."""
        if not oid:
            return None
        if (bead, oid) not in self._known:
            self.learn([(bead, oid)])
        return self._known[bead, oid]

    def follow(self, bead: str, old: str, new: str) -> tuple[Version | None, Version | None]:
        """Return a bead before and after a change of its file."""
        before, after = self.get(bead, old), self.get(bead, new)
        if after is None and (bead, new) in self.unreadable:
            after = self._known[bead, new] = before
        return before, after

    def claimed_at(self, commit: str) -> Iterator[Version]:
        """The beads that are claimed at a commit."""
        found: list[tuple[str, str]] = []
        for entry in self._repo.diff(None, commit, BEADS_DIR):  # archived ones are claimed by nobody
            bead_id = bead_id_of(entry.path)
            if bead_id and entry.path == f"{BEADS_DIR}{bead_id}.yaml" and entry.oid:
                found.append((bead_id, entry.oid))
        for start in range(0, len(found), _AT_ONCE):
            chunk = found[start : start + _AT_ONCE]
            contents = self._repo.objects.read_many([oid for _, oid in chunk], at_most=FILE_LIMIT + 1)
            held = [pair for pair, data in zip(chunk, list(contents), strict=True) if data and _CLAIM_KEY.search(data)]
            self.learn(held)
            for pair in held:
                version = self._known[pair]
                if version is not None and version.claims:
                    yield version
