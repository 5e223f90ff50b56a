"""Who may sign for whom at each commit of a hub, and what of its commits is therefore believed.

A key is believed from the commit on that allows it, if somebody who was believed made that commit; the first one vouches
for itself. So a commit is judged by what its parent says: whoever is let in later proves nothing about earlier, and a date
that is made up helps nobody. Belongs here: walking over commits with that in mind. Does not belong here: what comes of it
for readers (cache.py) and for the audit.
"""

from __future__ import annotations

import os

from bd import signers
from bd.config import hub_setting
from bd.fields import BEADS_DIR, CONFIG_FIELDS, CONFIG_PATH, FILE_LIMIT, SIGNERS_PATH
from bd.light import NamedTuple, suppress
from bd.store import message, signatures
from bd.store.answers import difference
from bd.store.files import bead_id_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from bd.store.gitrepo import GitRepo

# Bringing back what there was may bring back another's claim.
_RESTORING = ("undo", "import")
# What a commit may change of a bead only when it is believed.
GUARDED = (
    "status assignee owner claim claims claimed_at started_at attempts output closed_at closed_by close_reason dead_lettered_at"
).split()
_AT_ONCE = 500


class Standing(NamedTuple):
    """What holds after a commit: the believed lines of allowed signers, whether signatures are required, and the time it got to."""

    signers: tuple[str, ...] = ()
    is_required: bool = False
    at_s: int = 0

    @property
    def is_in_force(self) -> bool:
        """Whether what is not signed counts as not made. It takes somebody who may sign."""
        return self.is_required and bool(self.signers)

    def allows(self, name: str, key: str, at_s: int = 0) -> bool:
        """Whether a name may sign with a key, at a time that is no earlier than what was seen already."""
        at = signers.stamp_of(max(at_s, self.at_s))
        return any(signer.may(name, key, at) for signer in signers.read(self.signers))


class Judged(NamedTuple):
    """A commit and what its signature is worth. `signer` is empty and `words` say why where it is not believed.

    `touched` are the paths that it changed, `untrue` the beads (by path) whose state it may not have changed: what guarded
    fields they had is in there. `overruled` are the files that say whose word counts, which it may not have changed.
    """

    name: str
    signer: str
    words: str
    is_in_force: bool
    after: Standing
    touched: tuple[str, ...] = ()
    untrue: Mapping[str, Mapping[str, Any]] = {}
    overruled: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


NOBODY = Standing()


def guarded(fields: Mapping[str, Any] | None, like: Mapping[str, Any]) -> dict[str, Any]:
    """The guarded fields of a bead; of one that was not there yet, those of a new one that is routed like `like`."""
    if fields is None:
        return {"status": "open", **({"assignee": like["assignee"]} if like.get("assignee") and not like.get("claim") else {})}
    return {key: fields[key] for key in GUARDED if fields.get(key) is not None}


def first_of(repo: GitRepo, tip: str) -> str | None:
    """The commit that first allowed anybody; None where no one ever did."""
    _, out, _ = repo.run("rev-list", "--reverse", "--topo-order", tip, "--", SIGNERS_PATH)
    return out.decode().split("\n", 1)[0] or None


def walk(repo: GitRepo, tip: str, since: str | None, standing: Standing) -> Iterator[Judged]:
    """Judge the commits that a tip has and `since` has not, parents first; `standing` is what held at `since`.

    Without `since` it begins where somebody was first allowed.
    """
    start = None if since else first_of(repo, tip)
    if since is None and start is None:
        return
    bounds = [f"^{since}"] if since else [f"^{parent}" for parent in _parents(repo, start or "")]
    _, out, _ = repo.run("rev-list", "--reverse", "--topo-order", "--parents", tip, *bounds)
    is_shallow = os.path.exists(os.path.join(repo.common_dir, "shallow"))
    states: dict[str, Standing] = {since: standing} if since else {}
    lines = [line.split(" ") for line in out.decode().splitlines()]
    for begin in range(0, len(lines), _AT_ONCE):
        chunk = lines[begin : begin + _AT_ONCE]
        changes = _changes(repo, chunk)
        for words, data in zip(chunk, list(repo.objects.read_many([words[0] for words in chunk])), strict=True):
            name, parent = words[0], words[1] if len(words) > 1 else ""
            commit = _Commit(repo, name, parent, data or b"", changes.get(name, []))
            judged = commit.found() if not parent and is_shallow else commit.judge(states.get(parent, NOBODY))
            states[name] = judged.after
            yield judged


def _parents(repo: GitRepo, commit: str) -> list[str]:
    headers, _ = message.split_commit(repo.objects.read(commit) or b"")
    return [parent for parent in headers.get("parent", []) if repo.objects.read(parent) is not None]  # not in a shallow clone


def _changes(repo: GitRepo, chunk: Sequence[Sequence[str]]) -> dict[str, list[Any]]:
    """What each commit changed against its first parent, where that is a hub's."""
    found: dict[str, list[Any]] = {}
    data = "".join(f"{' '.join(words[:2])}\n" for words in chunk).encode()
    args = ("diff-tree", "--stdin", "--always", "-r", "-z", "--root", "--raw", "--no-renames", "--full-index")
    _, out, _ = repo.run(*args, "--", BEADS_DIR.rstrip("/"), SIGNERS_PATH, CONFIG_PATH, data=data)
    name, records = "", [b""]
    parts = iter(out.split(b"\0")[:-1])
    for part in parts:
        if part.startswith(b":"):
            records += [part, next(parts)]
        else:
            found[name] = difference(b"\0".join([*records[1:], b""]))
            name, records = part.decode().split(" ")[0].strip(), [b""]
    found[name] = difference(b"\0".join([*records[1:], b""]))
    return found


class _Commit:
    """One commit on its way to a judgement."""

    def __init__(self, repo: GitRepo, name: str, parent: str, data: bytes, entries: list[Any]) -> None:
        self._repo = repo
        self._name = name
        self._parent = parent
        self._data = data
        self._paths = {entry.path for entry in entries}
        headers, text = message.split_commit(data)
        self._author, self._at_s = message.signed_by(headers)
        self._form = message.form_of(text) or {}

    def found(self) -> Judged:
        """The first commit that a shallow clone has: what stands there has to be taken as it is."""
        lines = tuple(self._text(self._name, SIGNERS_PATH).splitlines())
        return Judged(self._name, "", "", False, Standing(lines, self._requires()))

    def judge(self, before: Standing) -> Judged:
        """What it is worth, after what its parent says."""
        touches = bool({SIGNERS_PATH, CONFIG_PATH} & self._paths)
        if not (before.is_in_force or touches):
            return Judged(self._name, "", "", False, before)
        lines = self._lines_changed() if SIGNERS_PATH in self._paths else (frozenset(), ())
        vouching = before._replace(signers=tuple(lines[1])) if not before.signers else before
        signer, words = self._signer(vouching)
        after = self._after(before, lines, is_believed=bool(signer))
        beads = sorted(path for path in self._paths if path.startswith(BEADS_DIR) and bead_id_of(path))
        untrue = self._untrue(beads, signer) if before.is_in_force else {}
        return Judged(
            self._name,
            signer,
            words,
            before.is_in_force,
            after,
            tuple(sorted(self._paths)),
            untrue,
            self._overruled(before, signer),
            self._removed(beads) if before.is_in_force and not signer else (),
        )

    def _removed(self, paths: Sequence[str]) -> tuple[str, ...]:
        """The ids of beads that are nowhere any more, as far as these paths say."""
        left = {path for path in paths if self._repo.objects.read(f"{self._name}:{path}", at_most=FILE_LIMIT) is not None}
        kept = {bead_id_of(path) for path in left}
        return tuple(sorted({bead_id_of(path) or "" for path in paths} - kept - {""}))

    def _overruled(self, before: Standing, signer: str) -> tuple[str, ...]:
        if signer:
            return ()
        lines = (SIGNERS_PATH,) if SIGNERS_PATH in self._paths else ()
        is_other = before.signers and CONFIG_PATH in self._paths and self._requires() != before.is_required
        return (*lines, CONFIG_PATH) if is_other else lines

    def _signer(self, standing: Standing) -> tuple[str, str]:
        """Who signed it, as who acts; or nobody, and why."""
        name = signers.principal_of(self._form, self._author)
        signature = signatures.of_commit(self._data)
        if signature is None:
            return "", f"it is not signed, and says that {name or 'nobody'} made it"
        if not standing.allows(name, signature.key, self._at_s):
            known = [one.names for one in signers.read(standing.signers) if one.key == signature.key]
            whose = f"{', '.join(known[0])}'s" if known else "an unknown"
            return (
                "",
                f"it says that {name or 'nobody'} made it, and is signed with {whose} key, which that name may not use then",
            )
        if not signatures.is_good(self._repo, signature):
            return "", f"its signature by {name}'s key is not of this commit"
        return name, ""

    def _after(self, before: Standing, lines: tuple[frozenset[str], tuple[str, ...]], *, is_believed: bool) -> Standing:
        gone, new = lines
        after = before
        if is_believed and SIGNERS_PATH in self._paths:
            after = after._replace(signers=(*(line for line in before.signers if line not in gone), *new))
        if CONFIG_PATH in self._paths and (is_believed or not before.signers):
            after = after._replace(is_required=self._requires())
        if is_believed:
            after = after._replace(at_s=max(after.at_s, self._at_s))
        return after

    def _lines_changed(self) -> tuple[frozenset[str], tuple[str, ...]]:
        """The lines of allowed signers that it takes away, and those that it adds."""
        old, new = (self._text(commit, SIGNERS_PATH).splitlines() for commit in (self._parent, self._name))
        return frozenset(old) - frozenset(new), tuple(line for line in new if line not in old)

    def _text(self, commit: str, path: str) -> str:
        data = self._repo.objects.read(f"{commit}:{path}", at_most=FILE_LIMIT) if commit else None
        return (data or b"").decode("utf-8", "replace")

    def _requires(self) -> bool:
        from bd.store import codec  # noqa: PLC0415  settings change rarely

        with suppress(codec.Unreadable):
            fields = codec.parse(self._text(self._name, CONFIG_PATH).encode(), CONFIG_FIELDS).fields
            return bool(hub_setting(fields, "require_signed"))
        return False

    def _bead(self, commit: str, path: str) -> dict[str, Any] | None:
        from bd.store import codec  # noqa: PLC0415  only where signatures are required

        data = self._repo.objects.read(f"{commit}:{path}", at_most=FILE_LIMIT) if commit else None
        if data is None:
            return None
        try:
            return codec.parse_bead(data, bead_id_of(path) or "").fields
        except codec.Unreadable:
            return None

    def _untrue(self, paths: Sequence[str], signer: str) -> dict[str, dict[str, Any]]:
        """The beads whose state changed by nobody who is believed, or to a claim for somebody else; with what they had."""
        found: dict[str, dict[str, Any]] = {}
        for path in paths:
            after = self._bead(self._name, path)
            if after is None:
                continue
            before = self._bead(self._parent, path)
            had = guarded(before, after)
            if (had != guarded(after, after)) if not signer else self._takes_for_another(before or {}, after, signer):
                found[path] = had
        return found

    def _takes_for_another(self, before: Mapping[str, Any], after: Mapping[str, Any], signer: str) -> bool:
        if self._form.get("verb") in _RESTORING:
            return False
        old = {claim.get("token") for claim in _claims(before)}
        return any(claim.get("token") not in old and claim.get("agent") != signer for claim in _claims(after))


def _claims(fields: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [claim for claim in (fields.get("claim"), *(fields.get("claims") or ())) if isinstance(claim, dict)]
