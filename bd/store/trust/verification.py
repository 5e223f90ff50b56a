"""Verification: which commits of a hub are believed, by their signatures.

A key is trusted from the commit that allows it, if a trusted signer made that commit; the first one vouches for itself. So a
commit is judged by its parents' state: somebody let in later proves nothing about earlier commits, and a forged date gains
nothing. This module walks the commits; state.py and the audit use the results, and merges.py says what a merge may do.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.core import signers
from bd.core.schema import CONFIG_FIELDS, CONFIG_PATH, FILE_LIMIT, SIGNERS_PATH
from bd.core.settings import hub_setting
from bd.store.git import commit_message
from bd.store.git.porcelain import difference
from bd.store.hub_files import with_volumes
from bd.store.trust import guarded_fields, signatures
from bd.store.trust.authority import Standing
from bd.store.trust.guarded_blobs import Contents, key_of
from bd.store.trust.merges import Sides
from bd.store.trust.signature_checks import Checks
from bd.store.yaml import codec

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from bd.store.contract import Entry
    from bd.store.git.repository import GitRepo
    from bd.store.trust.merges import Believed
    from bd.store.trust.signatures import Signature

    Masks = Mapping[str, Any]

# Restoring an earlier state may restore another agent's claim.
_RESTORING = ("undo", "import")
_AT_ONCE = 500


class Judged(NamedTuple):
    """A judged commit. If it is not believed, `signer` is "" and `words` say why.

    `untrue` are the beads whose state it was not allowed to change, `removed` those it was not allowed to remove or break,
    `overruled` the hub's own files it was not allowed to change. `after` and `masks` hold after it. A mask is what must be
    believed instead of the file: the guarded fields of a bead, by id, or the blob of another file, by path.
    """

    name: str
    signer: str
    words: str
    is_in_force: bool
    after: Standing
    masks: Masks = {}
    untrue: tuple[str, ...] = ()
    overruled: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


def first_of(repo: GitRepo, tip: str) -> str | None:
    """Return a commit that first allowed anybody; None if none did. Merges can't hide it."""
    _, out, _ = repo.run("rev-list", "--reverse", "--topo-order", "--full-history", tip, "--", SIGNERS_PATH)
    return out.decode().split("\n", 1)[0] or None


def walk(repo: GitRepo, tip: str, since: str | None, standing: Standing, masks: Masks | None = None) -> Iterator[Judged]:
    """Judge the commits of `tip` that are not in `since`, parents first. `standing` and `masks` are the state at `since`.

    Without `since`, or if a merge brings in history from before it, start where somebody was first allowed.
    """
    lines = _lines(repo, tip, [f"^{since}"]) if since else []
    known = {since, *(words[0] for words in lines)}
    if since is None or any(parent not in known for words in lines for parent in words[1:]):
        since, start = None, first_of(repo, tip)
        if start is None:
            return
        lines = _lines(repo, tip, [f"^{parent}" for parent in _parents(repo, start)])
    walking = _Walk(repo, {since: (standing, masks or {})} if since else {})
    for begin in range(0, len(lines), _AT_ONCE):
        yield from walking.chunk(lines[begin : begin + _AT_ONCE])


def _lines(repo: GitRepo, tip: str, bounds: Sequence[str]) -> list[list[str]]:
    _, out, _ = repo.run("rev-list", "--reverse", "--topo-order", "--parents", tip, *bounds)
    return [line.split(" ") for line in out.decode().splitlines()]


def _parents(repo: GitRepo, commit: str) -> list[str]:
    headers, _ = commit_message.split_commit(repo.objects.read(commit) or b"")
    return [parent for parent in headers.get("parent", []) if repo.objects.read(parent) is not None]  # missing in a shallow clone


class _Walk:
    """The state after each commit, from the states after its parents."""

    def __init__(self, repo: GitRepo, after: dict[str, Believed]) -> None:
        self._repo = repo
        self._after = after
        self._is_shallow = os.path.exists(os.path.join(repo.common_dir, "shallow"))
        self._checks = Checks(repo)
        self._contents = Contents(repo)

    def chunk(self, lines: Sequence[Sequence[str]]) -> Iterator[Judged]:
        changes = _changes(self._repo, lines)
        names = [words[0] for words in lines]
        commits = {
            name: _Commit(name, data or b"") for name, data in zip(names, self._repo.objects.read_many(names), strict=True)
        }
        is_read = False
        for words in lines:
            name, parents = words[0], words[1:]
            sides = Sides(self._repo, self._contents, name, parents, changes[name], self._after, is_shallow=self._is_shallow)
            if not is_read and sides.standing.is_in_force:
                is_read = True
                self._contents.learn(entry for own in changes.values() for entries in own for entry in entries)
                self._checks.learn(_promising(commits, sides.standing))
            judged = self._found(name) if not parents and self._is_shallow else self._judge(commits[name], sides)
            self._after[name] = judged.after, judged.masks
            yield judged
        self._checks.note()

    def _found(self, name: str) -> Judged:
        """Accept the first commit of a shallow clone as it is."""
        lines = tuple(self._text(name, SIGNERS_PATH).splitlines())
        return Judged(name, "", "", False, Standing(lines, self._requires(name, False)))

    def _judge(self, commit: _Commit, sides: Sides) -> Judged:
        """Judge a commit by what its parents say."""
        before = sides.standing
        touches = bool({SIGNERS_PATH, CONFIG_PATH} & sides.paths)
        if not (before.is_in_force or touches or sides.has_masks):
            return Judged(commit.name, "", "", False, before)
        gone, new = self._lines_changed(commit.name, sides) if SIGNERS_PATH in sides.paths else (frozenset(), ())
        vouching = before if before.signers else before._replace(signers=new)
        signer, words = self._signer(commit, vouching)
        after = before
        if signer:
            kept = tuple(line for line in before.signers if line not in gone)
            after = after._replace(
                signers=(*kept, *(line for line in new if line not in kept)), at_s=max(after.at_s, commit.at_s)
            )
        verdict = self._weigh(commit, sides, signer)
        if CONFIG_PATH in sides.paths and CONFIG_PATH not in verdict.masks and (signer or not before.signers):
            after = after._replace(is_required=self._requires(commit.name, before.is_required))
        if sides.is_tearing:
            words = "this merges histories with different first signers, so nobody is trusted from here on"
            verdict.overruled.add(SIGNERS_PATH)
        return Judged(
            commit.name,
            signer,
            words,
            before.is_in_force,
            after,
            verdict.masks if verdict.masks != sides.masks else sides.masks,  # else each commit would have a copy
            tuple(sorted(verdict.untrue)),
            tuple(sorted(verdict.overruled)),
            tuple(sorted(verdict.removed)),
        )

    def _signer(self, commit: _Commit, standing: Standing) -> tuple[str, str]:
        """Return the signer's name; or "", and why the commit is not believed."""
        name, signature = commit.principal, commit.signature
        if signature is None:
            return "", f"it is not signed, and says that {name or 'nobody'} made it"
        if not standing.allows(name, signature.key, commit.at_s):
            known = [one.names for one in signers.read(standing.signers) if one.key == signature.key]
            whose = f"{', '.join(known[0])}'s" if known else "an unknown"
            return (
                "",
                f"it says that {name or 'nobody'} made it, and is signed with {whose} key, which that name may not use then",
            )
        if not self._checks.is_good(commit.name, signature):
            return "", f"its signature by {name}'s key does not match this commit"
        return name, ""

    def _weigh(self, commit: _Commit, sides: Sides, signer: str) -> _Verdict:
        """Find what the commit changed in guarded parts, and what is to be believed instead."""
        found = _Verdict(dict(sides.masks), set(), set(), set())
        for key in sides.touched():
            if key == SIGNERS_PATH:  # each of its lines counts on its own
                if not signer and sides.after(key) != sides.expected(key):
                    found.overruled.add(key)
                continue
            if signer or not sides.standing.is_in_force:
                self._believe(commit, sides, key, signer, found)
                continue
            expected, now = sides.expected(key), sides.after(key)
            is_changed = now != (expected if sides.is_merge else sides.before(key))
            wanted = guarded_fields.newborn(now) if expected is None and isinstance(now, dict) else expected
            if now == wanted:
                found.masks.pop(key, None)
                continue
            if wanted is not None or "/" in key:
                found.masks[key] = wanted
            if is_changed:
                told = found.overruled if "/" in key else found.removed if now is None else found.untrue
                told.add(key)
        return found

    def _believe(self, commit: _Commit, sides: Sides, key: str, signer: str, found: _Verdict) -> None:
        """Accept a trusted commit's change of a file, except claims for others."""
        now = sides.after(key)
        taken = sides.taken(key)
        if taken and all(key in masks for masks in taken):
            found.masks[key] = taken[0][key]
        elif taken or sides.is_written(key):
            found.masks.pop(key, None)
        if (
            not signer
            or not sides.standing.is_in_force
            or commit.form.get("verb") in _RESTORING
            or not guarded_fields.claims_of(now)
        ):
            return
        expected = sides.expected(key)
        if guarded_fields.is_for_another(expected, now, signer):
            found.untrue.add(key)
            found.masks[key] = guarded_fields.newborn(now) if expected is None else expected

    def _lines_changed(self, name: str, sides: Sides) -> tuple[frozenset[str], tuple[str, ...]]:
        """Return the lines of allowed signers that a commit removes, and those it adds."""
        now = self._text(name, SIGNERS_PATH).splitlines()
        old = {line for parent in sides.parents for line in self._text(parent, SIGNERS_PATH).splitlines()}
        return frozenset(old) - frozenset(now), tuple(line for line in now if line not in old)

    def _text(self, commit: str, path: str) -> str:
        data = self._repo.objects.read(f"{commit}:{path}", at_most=FILE_LIMIT) if commit else None
        return (data or b"").decode("utf-8", "replace")

    def _requires(self, commit: str, otherwise: bool) -> bool:
        """Return whether the settings at a commit require signatures; `otherwise` if they can't be read."""
        with suppress(codec.Unreadable):
            fields = codec.parse(self._text(commit, CONFIG_PATH).encode(), CONFIG_FIELDS).fields
            return bool(hub_setting(fields, "require_signed", otherwise))
        return otherwise


class _Verdict(NamedTuple):
    """The result for a commit: what is to be believed after it, and what it was not allowed to do."""

    masks: dict[str, Any]
    untrue: set[str]
    overruled: set[str]
    removed: set[str]


class _Commit:
    """One commit, as it describes itself."""

    def __init__(self, name: str, data: bytes) -> None:
        self.name = name
        headers, text = commit_message.split_commit(data)
        author, _ = commit_message.signed_by(headers)
        _, self.at_s = commit_message.signed_by({"author": headers.get("committer", [])})  # as git does
        self.form = commit_message.form_of(text) or {}
        self.principal = signers.principal_of(self.form, author)
        self.signature = signatures.of_commit(data)


def _promising(commits: Mapping[str, _Commit], standing: Standing) -> dict[str, Signature]:
    """Return the signatures by keys of allowed signers; only these are worth checking."""
    keys = {signer.key for signer in signers.read(standing.signers)}
    return {name: one.signature for name, one in commits.items() if one.signature is not None and one.signature.key in keys}


def _changes(repo: GitRepo, lines: Sequence[Sequence[str]]) -> dict[str, list[list[Entry]]]:
    """Return the hub files that each commit changed against each of its parents, in order. One git process."""
    pairs = [(words[0], parent) for words in lines for parent in words[1:] or [""]]
    data = "".join(f"{name} {parent}".rstrip() + "\n" for name, parent in pairs).encode()
    args = ("diff-tree", "--stdin", "--always", "-r", "-z", "--root", "--raw", "--no-renames", "--full-index")
    _, out, _ = repo.run(*args, data=data)  # all files: a path filter takes git longer
    groups: list[list[bytes]] = []
    parts = iter(out.split(b"\0")[:-1])
    for part in parts:
        if part.startswith(b":"):
            groups[-1] += [part, next(parts)]
        else:  # a commit's name
            groups.append([])
    found: dict[str, list[list[Entry]]] = {}
    for (name, _), records in zip(pairs, groups, strict=True):
        entries = difference(b"\0".join([*records, b""])) if records else []
        found.setdefault(name, []).append([entry for entry in with_volumes(repo, entries) if key_of(entry.path)])
    return found
