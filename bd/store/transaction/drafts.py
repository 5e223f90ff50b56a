"""A chain of decided operations on one base commit, turned into commit drafts.

Each operation is decided on the snapshot that the ones before it left. This module turns changes into file contents and drafts;
it does not push.
"""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.errors import BadInput, Damaged
from bd.core.model import Change, Overlay
from bd.core.schema import (
    BEAD_FIELDS,
    CAPACITY_DIR,
    CONFIG_PATH,
    FILE_LIMIT,
    SIGNERS_PATH,
    bead_path,
    fields_of_path,
    flaw_of_claim,
    is_volume,
    volume_of,
)
from bd.core.settings import hub_setting
from bd.core.value import Value
from bd.store.archive import volumes
from bd.store.contract import Draft
from bd.store.git import commit_message
from bd.store.group_commit import answer, idempotency
from bd.store.hub_files import Row, is_wanted, misnamed, parse_file
from bd.store.object_names import name_of
from bd.store.yaml import editor

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from bd.core.model import Snapshot
    from bd.core.operation import DecisionContext, Operation
    from bd.core.schema import Kind
    from bd.store.contract import Repository
    from bd.store.snapshot import CachedSnapshot


class Step(Value):
    """One decided operation: its change, the new file contents, and the claims on its beads before and after."""

    operation: Operation
    change: Change
    files: dict[str, bytes | None]
    draft: Draft
    claims_before: list[dict[str, Any]]
    claims_after: list[dict[str, Any]]


class Chain:
    """Steps on top of a base. `add` decides one more operation; if it is refused, the chain stays as it was."""

    def __init__(self, repo: Repository, snapshot: CachedSnapshot, context: DecisionContext) -> None:
        self._repo = repo
        self._context = context
        self.base = snapshot
        self.snapshot: Snapshot = snapshot
        self.steps: list[Step] = []
        # The changes of all steps together: one layer on the base, however many steps there are.
        self._sum = Change({}, "")
        self._texts: dict[str, tuple[bytes, bool] | None] = {}
        # The archive's volumes as the chain leaves them: path -> documents by bead.
        self._volumes: dict[str, dict[str, bytes]] = {}
        self._rows: dict[str, Row | str] = {}

    @property
    def drafts(self) -> list[Draft]:
        return [step.draft for step in self.steps]

    def add(
        self,
        operation: Operation,
        author: str,
        at_s: int,
        *,
        tries: int,
        original: str | None = None,
        context: DecisionContext | None = None,
        told: Callable[[Change], str] | None = None,
        was_kept: bool = False,
    ) -> Change:
        """Decide an operation at the end of the chain; an empty change adds no step. Raises what `decide` raises.

        `context` replaces the chain's own for an operation of another clone; `told` returns further trailers. `was_kept`: the
        operation is older than its commit, whose committer's date is not before that of its parent.
        """
        before = self.snapshot
        done = self._carried_out(operation)
        if done is not None:
            return done
        change = operation.decide(before, context or self._context)
        if change.is_empty:
            return change
        kept = dict(self._texts), dict(self._rows)
        try:
            files = self._in_volumes(self._encode(change, before))
        except BaseException:
            self._texts, self._rows = kept
            raise
        more = told(change) if told else idempotency.trailer(operation.uid, change) if operation.once else ""
        settings = (context or self._context).settings
        trailers = [*settings.commit_trailers, *([f"Signed-off-by: {author}"] if settings.sign_off else ())]
        text = commit_message.compose(
            change,
            operation.pinned(change, before),
            tries=tries,
            original=original,
            more=more,
            prefix=settings.commit_prefix,
            trailers=trailers,
        )
        were = [before.head(bead_id) for bead_id in change.beads]
        held = [claim for bead in were if bead is not None for claim in bead.claims]
        holds = [claim for bead in change.beads.values() if bead is not None for claim in bead.claims]
        sign = self._signer(operation, change, before) if context is None else None  # this clone signs only its own operations
        placed_s = max(at_s, self._end_s()) if was_kept else None
        draft = Draft(text, author, at_s, files, change.modes, sign, placed_s)
        self.steps.append(Step(operation, change, files, draft, held, holds))
        self._sum = _joined(self._sum, change)
        self.snapshot = Overlay(self.base, self._sum)
        return change

    def _carried_out(self, operation: Operation) -> Change | None:
        """Return what a request with an idempotency key did earlier, on the base or in this chain; None if it is new."""
        once = operation.once
        if once is None:
            return None
        for step in self.steps:
            if step.operation.once and step.operation.once.key == once.key:
                done = idempotency.CarriedOut(step.operation.once.body, step.operation.uid, "", answer.of_change(step.change))
                return done.result(once, self.snapshot)
        known = idempotency.between(self._repo, once.since, self.base.commit)
        return known[once.key].result(once, self.snapshot) if once.key in known else None

    def _end_s(self) -> int:
        """Return the committer's time of the chain's last commit."""
        if self.steps:
            return self.steps[-1].draft.placed_s
        data = self._repo.objects.read(self.base.commit) if self.base.commit else None
        return commit_message.committed_at_s(commit_message.split_commit(data or b"")[0])

    def _signer(self, operation: Operation, change: Change, before: Snapshot) -> Callable[[bytes], bytes] | None:
        """Return the function that signs the commit; None if neither this clone nor the hub asks for a signature."""
        settings = self._context.settings
        if not (settings.sign or settings.require_signed or _decides(change, before)):
            return None
        from bd.store.trust import signing  # noqa: PLC0415  most hubs ask for no signatures

        standing = self.base.cache.standing() if self.base.commit else None
        is_required = bool(standing and standing.signers) and (settings.require_signed or _decides(change, before))
        if not is_required and not settings.sign and SIGNERS_PATH not in change.files:
            return None
        return signing.signer_of(operation.by, standing, is_required=is_required)

    def tell(self, more: str) -> None:
        """Add trailers to the last commit."""
        last = self.steps[-1]
        self.steps[-1] = last.replace(draft=last.draft.replace(message=last.draft.message + more))

    def rows(self) -> list[Row | str]:
        """Return the files at the chain's end as cache rows."""
        return list(self._rows.values())

    # --- files ---

    def _in_volumes(self, files: dict[str, bytes | None]) -> dict[str, bytes | None]:
        """Replace the files of archived beads, which have none of their own, with the new contents of their volumes."""
        if not any(volume_of(path) or is_volume(path) for path in files):
            return files
        found = {path: data for path, data in files.items() if not volume_of(path)}
        self._volumes |= {path: volumes.parse(data or b"").documents for path, data in found.items() if is_volume(path)}
        changed: dict[str, dict[str, bytes]] = {}
        for path, data in files.items():
            volume = volume_of(path)
            if volume is None or volume in found:  # a change that writes a whole volume includes its beads
                continue
            if volume not in changed:
                known = self._volumes.get(volume)
                changed[volume] = dict(self._documents(volume) if known is None else known)
            bead_id = path.rpartition("/")[2].removesuffix(".yaml")
            if data is None:
                changed[volume].pop(bead_id, None)
            else:
                changed[volume][bead_id] = data
        for volume, documents in changed.items():
            found[volume] = volumes.compose(documents) if documents else None
        self._volumes.update(changed)
        return found

    def _documents(self, volume: str) -> dict[str, bytes]:
        """Return the documents of a volume at the base. Raises Damaged if some are unreadable: a write would lose them."""
        objects = self._repo.objects
        read = objects.known if self.base.bead_paths(f"{volume}/") else objects.read
        return volumes.parse(read(f"{self.base.commit}:{volume}") or b"").documents

    def _encode(self, change: Change, before: Snapshot) -> dict[str, bytes | None]:
        """The files of a change. Raises BadInput for one that no clone could read: nothing of that kind is published."""
        _refuse_odd_claims(change)
        files: dict[str, bytes | None] = {}
        damaged = {damage.path: damage.reason for damage in self.base.damages if damage.path not in change.files}
        after = Overlay(before, change)
        for bead_id in {**change.beads, **change.moves}:
            there = before.head(bead_id) is not None
            old = before.path_of(bead_id) if there else bead_path(bead_id)
            path = after.path_of(bead_id) if after.head(bead_id) is not None else old
            if there and path != old:
                _refuse_damaged(old, damaged, self._texts)  # the volume that the bead leaves is written too
                _refuse_damaged(path, damaged, {})
                files[old], files[path] = None, self._moved(old, path)
            typed = change.texts.get(old) or change.texts.get(path)
            if typed is not None:
                self._texts[path] = (typed, False)
            _refuse_damaged(path, damaged, self._texts)
            if bead_id in change.beads:
                bead = change.beads[bead_id]
                if bead is not None:
                    _refuse_misnamed(path)
                files[path] = self._file(path, bead.fields if bead else None, BEAD_FIELDS, exists=there or typed is not None)
        for path, fields in change.records.items():
            if path in damaged and path.startswith(CAPACITY_DIR):
                continue  # it only repeats the claims, so leave it alone
            if fields is not None:
                _refuse_misnamed(path)
            if path in change.texts:
                self._texts[path] = (change.texts[path], False)
            _refuse_damaged(path, damaged, self._texts)
            exists = before.record(path) is not None or path in change.texts
            files[path] = self._file(path, fields, fields_of_path(path), exists=exists)
        for path, data in change.files.items():
            files[path] = data
            if data is None:
                self._rows[path] = path
            elif is_wanted(path):
                self._rows[path] = parse_file(path, name_of(b"blob", data, len(self.base.commit)), data)
        return files

    def _moved(self, old: str, new: str) -> bytes:
        """Return a bead's file for another path, byte for byte as it was."""
        (data, is_simple), fields = self._text(old), dict(self._fields_now(old))
        self._texts[new], self._texts[old] = (data, is_simple), None
        self._rows[new] = Row(new, name_of(b"blob", data, len(self.base.commit)), fields, is_simple=is_simple)
        self._rows[old] = old
        return data

    def _file(self, path: str, fields: Mapping[str, Any] | None, table: Mapping[str, Kind], *, exists: bool) -> bytes | None:
        if fields is None:
            self._rows[path] = path
            self._texts[path] = None
            return None
        plain = {key: value for key, value in fields.items() if value is not None}
        if exists:
            data, is_simple = self._text(path)
            old = self._fields_now(path)
            if not is_simple:
                from bd.store.yaml import codec  # noqa: PLC0415  only for files that the line editor can't handle

                old = codec.parse(data, table).fields
            text = self._rewritten(data, old, plain, table, is_simple=is_simple)
        else:
            text, is_simple = editor.document(plain, table), True
        out = text.encode()
        if len(out) > FILE_LIMIT:
            raise BadInput(f"{path} would be larger than {FILE_LIMIT // 1_000_000} MB", hint="store what is large as an artifact")
        is_simple = is_simple and editor.spans_of_lines(text.splitlines(keepends=True)) is not None
        self._texts[path] = (out, is_simple)
        self._rows[path] = Row(path, name_of(b"blob", out, len(self.base.commit)), plain, is_simple=is_simple)
        return out

    def _rewritten(
        self, data: bytes, old: Mapping[str, Any], new: Mapping[str, Any], table: Mapping[str, Kind], *, is_simple: bool
    ) -> str:
        if is_simple:
            text = data.decode()
            spans = editor.spans_of_lines(text.splitlines(keepends=True))
            if spans is not None:
                changes = {key: new.get(key) for key in {**old, **new} if old.get(key) != new.get(key)}
                return editor.replace_keys(text, spans, changes, list(table))
        from bd.store.yaml import codec  # noqa: PLC0415  only for files that the line editor can't handle

        return codec.rewrite(data, old, new, table, is_simple=False)

    def _text(self, path: str) -> tuple[bytes, bool]:
        known = self._texts.get(path)
        if known is not None:
            return known
        return self._repo.objects.known(f"{self.base.commit}:{path}"), self._is_simple(path)

    def _is_simple(self, path: str) -> bool:
        found: tuple[Any, ...] | None
        if path.startswith("beads/"):
            found = self.base.cache.bead(path.rpartition("/")[2].removesuffix(".yaml"))
            return bool(found and found[0] == path and found[2])
        found = self.base.cache.record(path)
        return bool(found and found[1])

    def _fields_now(self, path: str) -> Mapping[str, Any]:
        row = self._rows.get(path)
        if isinstance(row, Row):
            return row.fields or {}
        if path.startswith("beads/"):
            found = self.base.cache.bead(path.rpartition("/")[2].removesuffix(".yaml"))
            return found[3] if found else {}
        record = self.base.cache.record(path)
        return record[2] if record else {}


def _decides(change: Change, before: Snapshot) -> bool:
    """Return True if the change edits the signers or `require_signed`: such a change counts only if it is signed."""
    if SIGNERS_PATH in change.files:
        return True
    settings = change.records.get(CONFIG_PATH)
    old = before.record(CONFIG_PATH) if settings else None
    return bool(settings) and hub_setting(settings or {}, "require_signed") != hub_setting(old or {}, "require_signed")


def _joined(total: Change, change: Change) -> Change:
    """Merge two changes into one. A bead that is open again is no longer in the archive."""
    opened = {bead_id for bead_id, bead in change.beads.items() if bead is None or not bead.is_done}
    moves = {bead_id: path for bead_id, path in total.moves.items() if bead_id not in opened}
    return Change(
        {**total.beads, **change.beads},
        "",
        records={**total.records, **change.records},
        files={**total.files, **change.files},
        moves={**moves, **change.moves},
    )


def _refuse_odd_claims(change: Change) -> None:
    for bead in filter(None, change.beads.values()):
        flaw = next(filter(None, map(flaw_of_claim, bead.claims)), "")
        if flaw:
            raise BadInput(f"{bead.id} {flaw}")


def _refuse_misnamed(path: str) -> None:
    reason = misnamed(path)
    if reason:
        raise BadInput(f"{path} {reason}", hint="`bd doctor` says what is wrong with this hub")


def _refuse_damaged(path: str, damaged: Mapping[str, str], mended: Mapping[str, Any]) -> None:
    """Refuse to rewrite an unreadable file, unless the change is a person's repair of it."""
    volume = volume_of(path)
    if volume in damaged and volume is not None:
        raise Damaged(f"{volume} {damaged[volume]}", hint="fix it by hand; `bd doctor` lists every damaged file")
    if path in damaged and path not in mended:
        raise Damaged(f"{path} {damaged[path]}", hint="bd does not touch it: fix it by hand; `bd doctor` lists all damaged files")
