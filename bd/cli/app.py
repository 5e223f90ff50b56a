"""App: what a command works with. Settings, identity, hub and output, each opened on first use."""

from __future__ import annotations

import os
import sys

from bd import TYPE_CHECKING
from bd.cli.derivations import DERIVATIONS
from bd.cli.output import Handle, Output, can_be_heard, escaped, lost_output, progress_bar
from bd.cli.table import is_deed
from bd.core import times
from bd.core.errors import BadInput, BdError, Damaged, NoHub, NoSuchBead, RemoteUnreachable, ServerRefused, StaleToken
from bd.core.identity import claimant, identify
from bd.core.known_keys import unknown_keys
from bd.core.schema import BEADS_DIR, CONFIG_PATH, suffix_of
from bd.core.value import Value
from bd.operations import typed_secrets
from bd.operations.reader import OperationReader
from bd.policy.ranking import Ranking
from bd.policy.unpublished import KEPT_LONG
from bd.store import Clone, locate, session
from bd.store.worktree.checkout import edited_files, is_checked_out

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import datetime
    from typing import Any

    from bd.core.identity import Identity
    from bd.core.known_keys import UnknownKey
    from bd.core.model import Bead, Change
    from bd.core.runtime import Runtime
    from bd.core.settings import Settings
    from bd.operations.base import Operation
    from bd.store import CachedSnapshot, Clone, Outcome, Place
    from bd.worker.fleet_state import View


# How many of the writes that this clone has kept are named.
_SHOWN_WRITES = 3
# What `--at` can't show: records in side refs are not kept.
SIGNS = "heartbeats in side refs"

# Mistyped keys that a read names; the doctor names all.
_SHOWN_KEYS = 5


class Globals(Value):
    """The flags that mean the same everywhere, and may be anywhere in a command line."""

    json: bool = False
    quiet: bool = False
    verbose: bool = False
    strict: bool = False
    agent: str | None = None
    actor: str | None = None
    directory: str | None = None
    at: str | None = None
    fetch: bool | None = None
    is_foreign: bool = False  # a flag was typed that only clients of the Go tool send


def open_clone(place: Place, runtime: Runtime, **listeners: Any) -> Clone:
    """Open a clone. The only place where the store, the operations and the policies are put together.

    `listeners` are those of `Clone`: on_progress, on_wait, on_note.
    """
    return Clone(place, OperationReader(), runtime=runtime, derivations=DERIVATIONS, **listeners)


class App:
    """One run of a command."""

    def __init__(self, flags: Globals, runtime: Runtime) -> None:
        self.flags = flags
        self.runtime = runtime
        self.out = Output(is_json=flags.json, quiet=flags.quiet)
        self._hub: Clone | None = None
        self._snapshot: CachedSnapshot | None = None
        self._pending: list[Outcome] = []
        self._then: datetime | None = None
        self.words: tuple[str, ...] = ()
        self._has_written = False
        self._has_told_left_behind = False

    # --- what it works with ---

    @property
    def now(self) -> datetime:
        """The current time; with `--at` the instant it refers to, so that time decides as it did then."""
        if not self.flags.at:
            return self.runtime.now()
        if self._then is None:
            self._then = self.hub.instant_at(self.flags.at)
        return self._then

    @property
    def hub(self) -> Clone:
        if self._hub is None:
            place = locate(self.flags.directory)
            hub = open_clone(place, self.runtime, on_progress=self._progress, on_wait=self._tell_waiting, on_note=self.out.note)
            self.use(hub)
            assert self._hub is not None
        return self._hub

    def open_clone(self, place: Place) -> Clone:
        """Open another clone, without listeners."""
        return open_clone(place, self.runtime)

    def use(self, hub: Clone) -> None:
        """Work on this hub from now on (after making or joining it)."""
        self._hub = hub
        hub.on_written = self._end_write
        hub.on_tried = lambda: self.tell_left_behind(hub, self.out.note)
        hub.on_state = self.out.note if self.flags.verbose else None

    def _end_write(self) -> None:
        """Note that something was written: from here on, even an unreadable answer must not look as if nothing had been."""
        self._has_written, Handle.stops = True, False
        self._export()

    def tell_left_behind(self, hub: Clone, note: Callable[[str], None]) -> None:
        """Report once the writes that this clone has kept for a long time: nobody else can see them."""
        if self._has_told_left_behind:
            return
        now = self.runtime.now()
        try:
            waiting, refused = hub.left_behind(now - KEPT_LONG)
        except (BdError, OSError):
            return  # the outcome of the write matters more
        self._has_told_left_behind = bool(waiting or refused)
        for found, what, how in (
            (waiting, "unpublished", "`bd sync` publishes what waits"),
            (refused, "refused by the hub and kept here", "`bd sync --kept` lists it"),
        ):
            if found:
                number = "1 write has" if len(found) == 1 else f"{len(found)} writes have"
                since = times.age_text((now - times.instant_of(min(one.since for one in found))).total_seconds())
                named = ", ".join(one.subject for one in found[:_SHOWN_WRITES]) + (" ..." if len(found) > _SHOWN_WRITES else "")
                note(f"warning: {number} been {what} for {since}: {named}; {how}")

    def _export(self) -> None:
        """Update `.beads/issues.jsonl`, if that is enabled. Errors there stop no write."""
        hub, note = self.hub, ""
        snapshot = hub.snapshot()
        while hub.settings(snapshot).export_auto:
            from bd.compat.auto_export import refresh  # noqa: PLC0415  few clones keep an export

            note = refresh(hub, snapshot)
            # else another process has written meanwhile, and may have been first here, too
            if note or hub.view() == snapshot.commit:
                break
            snapshot = hub.snapshot()
        if note:
            self.out.note(note)

    def _tell_waiting(self) -> None:
        self.out.note("waiting for another bd command in this clone ...")

    def _progress(self, done: int, of: int, what: str) -> None:
        if not hasattr(self, "_bar"):
            self._bar = progress_bar(what)
        if self._bar:
            self._bar(done, of, what)

    def snapshot(self, *, fetch: bool = False) -> CachedSnapshot:
        """Return the snapshot that reads answer from: the view, or the commit that `--at` names.

        `fetch` is the command's default.
        """
        if self._snapshot is None:
            wants = self.flags.fetch if self.flags.fetch is not None else fetch
            if self.flags.at:
                self._snapshot = self.hub.snapshot_aside(self.hub.commit_at(self.flags.at))
            else:
                if wants:
                    self._fetch(required=self.flags.fetch is True)
                self._snapshot = self.hub.snapshot()
            self._warn(self._snapshot)
        return self._snapshot

    def tell_gaps(self, *, reads_history: bool = True) -> dict[str, Any]:
        """Report on stderr what this clone can't see of the hub; return the key for a JSON object, if there is anything."""
        from bd.report.gaps import gaps  # noqa: PLC0415  only for who looks back

        found = list(gaps(self.hub, reads_history=reads_history))
        if self.flags.at:  # what is missing since then was not there yet
            found = [gap for gap in found if gap.code == "shallow"]
        for gap in found:
            self.out.note(f"warning: {gap.text}")
        return {"incomplete": [gap.as_json() for gap in found]} if found else {}

    def no_hub(self) -> NoHub | None:
        """Return why there is no hub here; None if there is one."""
        try:
            self.snapshot()
        except NoHub as error:
            return error
        return None

    def has_hub(self) -> bool:
        """Return whether there is a hub here, without reading it."""
        try:
            return bool(self.hub.view())
        except NoHub:
            return False

    def renew(self) -> None:
        """Read the hub again, as this clone now has it."""
        self._snapshot = None

    def _fetch(self, *, required: bool) -> None:
        try:
            self.hub.listen()  # side refs first: the branch must not be the older one
            self.hub.fetch()
        except (RemoteUnreachable, ServerRefused) as error:
            if required:
                raise
            self.out.note(f"warning: {error.message}; using this clone's last known state")

    def unknown_settings(self) -> list[UnknownKey]:
        """Return the keys of the clone's and the user's own settings that nothing reads."""
        place = self.hub.place
        layers = (("the clone's config.yaml", place.clone_layer), ("your config.yaml", place.user_layer))
        if all(layer.keys() <= {"branch", "remote", "agent"} for _, layer in layers):
            return []
        return [found.replace(path=where) for where, layer in layers for found in unknown_keys(CONFIG_PATH, layer)]

    def warn_of_keys(self, unknown: Sequence[UnknownKey]) -> None:
        """Name the keys that nothing reads; the files count all the same."""
        for found in unknown[:_SHOWN_KEYS]:
            self.out.note(f"warning: {found.path} {found.words}")
        if len(unknown) > _SHOWN_KEYS:
            self.out.note(f"warning: {len(unknown) - _SHOWN_KEYS} more unknown keys; `bd doctor` lists them")

    def _warn(self, snapshot: CachedSnapshot) -> None:
        """Name the files that can't be read; with --strict, also set the exit code."""
        damages = snapshot.damages
        for damage in damages[:10]:
            self.out.note(f"warning: {damage.path} {damage.reason} (ignored; see bd doctor)")
        if damages and self.flags.strict:
            self.out.exit_code = 7
        self.warn_of_keys([*snapshot.cache.unknown_keys(reported=True), *self.unknown_settings()])
        if sys.stdout.isatty() and not self.flags.at:
            self._warn_of_edits()

    def _warn_of_edits(self) -> None:
        """Tell a person at a terminal about hand edits, which reads ignore until they are published."""
        if is_checked_out(self.hub.repo, self.hub.branch):
            number = len(edited_files(self.hub.repo, "beads", ".beads"))
            if number:
                self.out.note(f"{number} edited files are not published; `bd sync` publishes them")

    def look(self, *, required: bool = False) -> View:
        """Observe the hub and its agents' heartbeats now; with `--at`, as far as the files of that time show.

        If the remote is unreachable, use what this clone last knew, with a warning. Raises RemoteUnreachable if `required`.
        """
        from bd.worker import fleet_state  # noqa: PLC0415  only for reads that fetch

        fetch = self.flags.fetch is not False
        if self.flags.at:
            return fleet_state.View(self.snapshot(), self.settings(), {}, self.now)
        if required:
            return fleet_state.look(self.hub, self.identity.by, fetch=fetch)
        view, away = fleet_state.look_if_possible(self.hub, self.identity.by, fetch=fetch)
        if away:
            self.out.note(f"warning: {away}; using this clone's last known state")
        return view

    def leave_out(self, *what: str) -> None:
        """With `--at`, say what the answer lacks because it exists only now."""
        if self.flags.at:
            self.out.left_out = what
            self.out.note(f"as of that time, without data that exists only now: {', '.join(what)}")

    def settings(self) -> Settings:
        return self.hub.settings(self.snapshot())

    # --- the caller ---

    @property
    def identity(self) -> Identity:
        place = self.hub.place
        layers = place.clone_layer, place.user_layer
        return identify(self.flags.agent, *layers, place.user_name, actor=self.flags.actor)

    @property
    def work_for(self) -> str | None:
        """The agent whose work is asked about: --agent, or that of the pool whose check this runs in."""
        return self.flags.agent or os.environ.get("BD_CHECK_OF")

    def claimant(self, *, compatible: bool = False) -> Identity:
        """Return the identity that claims; a person at a terminal (and the compatibility forms) may claim under git's name."""
        return claimant(self.identity, is_person=compatible or sys.stdin.isatty())

    def held_tokens(self, typed: Iterable[str]) -> dict[str, str]:
        """Return the tokens to send with a write on these beads: BD_TOKEN, else those this clone holds without ambiguity."""
        given = os.environ.get("BD_TOKEN")
        if given:
            return {"*": given}
        return self.hub.tokens.supply(typed, self._holder, session()) if self._holder else {}

    @property
    def _holder(self) -> str:
        """The agent under whose name this caller claims; empty if there is none."""
        try:
            return self.identity.agent or claimant(self.identity, is_person=True).agent or ""
        except BadInput:
            return ""

    def asked(self, typed: Iterable[str] = (), **extra: Any) -> dict[str, Any]:
        """Return the arguments of every operation: author, time, and tokens."""
        at = times.time_text(self.now, exact=True)
        return {"by": self.identity.by, "at": at, "tokens": self.held_tokens(typed), "runtime": self.runtime, **extra}

    def asked_to_end(self, typed: Iterable[str], **extra: Any) -> dict[str, Any]:
        """Return the same for an operation that ends an attempt, with the progress notes."""
        asked = self.asked(typed, **extra)
        if asked["tokens"] and os.path.isdir(os.path.join(self.hub.place.folder, "progress")):
            from bd.worker.progress import kept  # noqa: PLC0415  only who has noted progress

            beads = {bead_id: kept(self.hub, bead_id) for bead_id in asked["tokens"] if bead_id != "*"}
            if "*" in asked["tokens"]:
                beads.update({text: kept(self.hub, text) for text in typed})
            asked["progress"] = {bead_id: notes for bead_id, notes in beads.items() if notes}
        return asked

    # --- writing ---

    def refuse_past(self) -> None:
        """Refuse to change anything with `--at`. Raises BadInput."""
        if self.flags.at:
            raise BadInput("--at reads the past, which can't be changed", hint="leave --at out")

    def publish(self, operation: Operation) -> Outcome:
        """Carry out an operation, and print its notes. The result is acknowledged when the command ends well."""
        self.refuse_past()
        self._note_warning(typed_secrets.warning_of(operation))
        outcome = self._published(operation)
        self._pending.append(outcome)
        self._snapshot = None
        self._keep_tokens(outcome)
        self._forget_tokens(operation, outcome)
        self._tell(outcome)
        return outcome

    def warn_of_secrets(self, words: Any) -> None:
        """Print a warning if typed text seems to hold a secret. The text is not changed."""
        self._note_warning(typed_secrets.warning(words))

    def _note_warning(self, words: str) -> None:
        if words:
            self.out.note(words)

    def _published(self, operation: Operation) -> Outcome:
        """Publish an operation; if it lacks the token of a claim whose answer was lost, publish it again with that token."""
        try:
            return self.hub.publish(operation)
        except StaleToken:
            found = self._unheard_tokens()
            if not found:
                raise
            return self.hub.publish(operation.holding(found))

    def _unheard_tokens(self) -> dict[str, str]:
        """Return the tokens, by bead, of this caller's claims whose answer was lost; from now on this clone supplies them."""
        agent = "" if os.environ.get("BD_TOKEN") else self._holder
        return self.hub.keep_unheard_tokens(agent, session()) if agent else {}

    def tokens_of_held(self, held: Iterable[str]) -> dict[str, str]:
        """Return the tokens of beads held at the tip just fetched, including claims whose answer was lost."""
        return self.held_tokens(held) or self._unheard_tokens()

    def tolerate(self, act: Callable[[], None]) -> None:
        """Do something that will be repeated: errors are printed, and end nothing."""
        try:
            act()
        except (BdError, OSError) as error:
            self.out.note(f"{error}; trying again")

    def preview(self, *operations: Operation) -> Change:
        """Return the last change that publishing these operations would make, after all checks but without writing.

        For --dry-run.
        """
        self.refuse_past()
        return self.hub.preview(self.snapshot(), *operations)

    def _forget_tokens(self, operation: Operation, outcome: Outcome) -> None:
        """Forget the tokens of claims that their holder has ended, so that later claims of the same name are unambiguous."""
        if not operation.tokens or outcome.change is None or outcome.change.is_empty:
            return
        used = [(bead_id, operation.token_for(bead_id) or "") for bead_id in outcome.change.touched]
        snapshot = self.hub.snapshot(outcome.commit)
        for bead_id, token in used:
            bead = snapshot.head(bead_id)
            if bead is None or token not in bead.tokens:
                self.hub.tokens.forget(bead_id, token)
                self.hub.drop_note(f"progress/{bead_id}.json")

    def _keep_tokens(self, outcome: Outcome) -> None:
        if outcome.change is None or not outcome.change.tokens:
            return
        snapshot = self.hub.snapshot(outcome.commit)
        for token, bead_id in outcome.change.tokens:
            bead = snapshot.head(bead_id)
            claim = bead.claim_under(token) if bead else None
            if claim:
                self.hub.tokens.keep(bead_id, claim["agent"], session(), token)

    def _tell(self, outcome: Outcome) -> None:
        for note in (*outcome.notes, *(outcome.change.notes if outcome.change else ())):
            self.out.note(note)
        for refused in outcome.refused:
            self.out.note(f"refused: {refused.error.message} (kept; `bd sync --kept` lists it)")
        if outcome.replayed:
            self.out.note(f"published {outcome.replayed} earlier {'write' if outcome.replayed == 1 else 'writes'} of this clone")

    def finish(self) -> int:
        """End well: acknowledge every claim that the caller could read; others will be reported again. Return the exit code."""
        sys.stdout.flush()
        self._tell_renamed()
        lost = lost_output()
        if lost is not None:
            self._tell_lost(lost)
        if can_be_heard():
            for outcome in self._pending:
                outcome.acknowledge()
        return self.out.exit_code

    def _tell_lost(self, lost: OSError) -> None:
        """Say what was done although the output was lost. Raises the loss if the output was all that was asked for."""
        if not self._has_written and not is_deed(self.words) and not self.out.exit_code:
            raise lost
        won = [bead_id for one in self._pending if one.change for _, bead_id in one.change.tokens]
        again = f"; `bd claim --next` by the same agent in this clone reports {', '.join(won)} again" if won else ""
        done = "" if self.out.exit_code else "; the command itself succeeded"
        self.out.note(f"warning: could not write the output ({lost.strerror or lost}){done}{again}")

    def _tell_renamed(self) -> None:
        """Explain typed ids of this clone that now belong to somebody else's bead."""
        renamed = (self._hub.noted_json("renamed.json", {...: str}) or {}) if self._hub is not None else {}
        for old in dict.fromkeys(word for word in self.words if word in renamed):
            self.out.note(f"{old} is another bead; yours is now {renamed[old]}")

    def close(self) -> None:
        if self._hub is not None:
            self._hub.close()
        bar = getattr(self, "_bar", None)
        if bar:
            bar(1, 1, "")

    def explained(self, error: BdError) -> BdError:
        """Return the error to show: a bead whose file can't be read is damaged, not missing."""
        if not isinstance(error, NoSuchBead) or self._hub is None:
            return error
        typed = error.data.get("id")
        for damage in (self._snapshot or self._hub.snapshot()).damages:
            name = os.path.basename(damage.path).removesuffix(".yaml")
            if damage.path.startswith(BEADS_DIR) and typed in (name, suffix_of(name)):
                hint = "bd does not touch it: fix it by hand; `bd doctor` lists all damaged files"
                return Damaged(f"{damage.path} {damage.reason}", hint=hint, id=name)
        return error

    # --- showing what was written ---

    def written(self, outcome: Outcome) -> list[Bead]:
        """Return the beads that a write touched, as they are now."""
        change = outcome.change
        if change is None:
            return []
        snapshot = self.hub.snapshot(outcome.commit)
        return [bead for bead in (snapshot.bead(bead_id) for bead_id in change.touched) if bead]

    def show_written(self, outcome: Outcome, said: Mapping[str, str] | str, *, as_object: bool = False) -> None:
        """Answer a write: the touched beads as JSON, or a line each. `said` is the line's verb, or one by bead id."""
        beads = self.written(outcome)
        change = outcome.change
        failures = [dict(failure) for failure in change.failures] if change else []
        if self.out.is_json:
            self._json_written(outcome, beads, failures, as_object=as_object)
        elif self.out.quiet:
            for bead in beads:
                self.out.line(bead.id)
        else:
            for bead in beads:
                verb = said if isinstance(said, str) else said.get(bead.id, "Changed")
                words = f"✓ {verb} {self.out.styled(bead.id, 'bold')} — {escaped(bead.title)}"
                reason = bead.get("close_reason") if bead.status in ("closed", "cancelled") else None
                self.out.line(f"{words}: {escaped(reason)}" if reason and verb in ("Closed", "Cancelled") else words)
        self.out.failures(failures)
        if not outcome.published and not self.out.is_json:
            self.out.note("not published yet")

    def _json_written(self, outcome: Outcome, beads: list[Bead], failures: list[Any], *, as_object: bool) -> None:
        from bd.compat import bead_json  # noqa: PLC0415  only for JSON

        ranking = Ranking(self.hub.snapshot(outcome.commit), self.now)
        shown = bead_json.written(beads, outcome.change, ranking, published=outcome.published)
        if as_object and len(shown) == 1 and not failures:
            self.out.object(shown[0])
        else:
            self.out.json(shown)
