"""The start and the end of a write in this clone: the journal, the lock, and neighbours that may carry it out.

A neighbour is another process of this clone. This module covers one call of a writer, from its journal entry to its outcome; the
loop is in driver.py.
"""

from __future__ import annotations

from contextlib import suppress

from bd import TYPE_CHECKING
from bd.core import os_errors, versions
from bd.core.errors import BdError, InterruptedWrite, LockTimeout, TryAgain
from bd.store.group_commit import answer, local
from bd.store.group_commit.requests import portable_form
from bd.store.transaction import effects, finish, give_up
from bd.store.transaction.batch import Batches
from bd.store.transaction.driver import Transaction
from bd.store.transaction.outcome import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Mapping
    from typing import Any

    from bd.core.errors import Written
    from bd.core.operation import DecisionContext, Operation
    from bd.store.contract import JournalEntry
    from bd.store.replica import Replica
    from bd.store.transaction.effects import Effect


# Pauses between two looks at the clone's lock.
_POLL_S, _POLL_CAP_S = 0.004, 0.03


class Writing:
    """The writer of one clone."""

    def __init__(
        self,
        replica: Replica,
        *,
        context: Callable[..., DecisionContext],
        author: Callable[[str, Any], str],
        revive: Callable[[Mapping[str, Any]], Operation],
        by_difference: Callable[[str, str, str, str | None], Operation],
        on_step: Callable[[str], None],
    ) -> None:
        self._replica = replica
        self._batches = Batches(replica, context=context, author=author, revive=revive, by_difference=by_difference)
        self._step = on_step

    def run(self, operation: Operation | None, *, hand: str | None = None, creates_hub: bool = False) -> Outcome:
        """Publish the operation, after everything that this clone has not published yet.

        `hand` also publishes the commits up to that local branch tip. With `operation` None only unpublished commits are
        published. Raises the operation's refusal, TryAgain (with `written`), ServerRefused, Damaged.
        """
        steps = self.steps(operation, hand=hand, creates_hub=creates_hub)
        while True:
            try:
                next(steps)
            except StopIteration as end:
                outcome: Outcome = end.value
                return outcome

    def steps(
        self, operation: Operation | None, *, hand: str | None = None, creates_hub: bool = False
    ) -> Generator[Effect, None, Outcome]:
        """Do the same, yielding each effect just before it is carried out; a simulation lets time pass or runs others there."""
        entry = self._begun(operation)
        fetch = operation is None or not operation.needs_heartbeats  # heartbeats are listed before the fetch
        try:
            if not self._replica.try_write(fetch=fetch):
                may_wait = self._replica.journal.tells_the_dead and not creates_hub
                form = portable_form(operation) if operation is not None and may_wait else None
                if form is None:
                    yield from self._wait(None, fetch=fetch)
                else:
                    outcome = yield from self._through_a_neighbour(entry, form)
                    if outcome is not None:
                        return _told(entry, outcome)
            return (yield from self._under_lock(operation, entry, hand=hand, creates_hub=creates_hub))
        except OSError as error:
            written: Written = "no" if entry.data["state"] in ("begun", "waiting") else "unknown"
            known = os_errors.told(error, written=written)
            if known is None:
                raise
            raise known from error
        finally:
            self._replica.end_write()

    def _begun(self, operation: Operation | None) -> JournalEntry:
        if operation is None:
            return self._replica.journal.begin("sync", verb="sync", agent=None, ids=None)
        return self._replica.journal.begin(operation.uid, verb=operation.verb, **operation.journal_fields())

    def _under_lock(
        self, operation: Operation | None, entry: JournalEntry, *, hand: str | None, creates_hub: bool
    ) -> Generator[Effect, None, Outcome]:
        transaction = Transaction(
            self._replica,
            entry,
            self._batches,
            operation=operation,
            hand=hand,
            creates_hub=creates_hub,
            on_step=self._step,
        )
        try:
            outcome = yield from transaction.steps()
        except BaseException as error:
            self._say(transaction.lapsed)
            pushed = transaction.may_land(entry.uid)
            _leave(entry, error, in_doubt=transaction.in_doubt, pushed=pushed)
            told = give_up.in_doubt(error) if transaction.is_own_in_doubt else error
            if told is not error:
                raise told from error
            raise
        if transaction.in_doubt:  # about a neighbour's operation: this clone's next command finds out
            _keep(entry, tokens=[])
            return outcome
        if outcome.refusal is not None:  # a refusal is reported by its error alone
            self._say(transaction.lapsed)
        return _told(entry, outcome)

    def _say(self, notes: Iterable[str]) -> None:
        for note in notes:
            if self._replica.on_note:
                self._replica.on_note(note)

    def _through_a_neighbour(self, entry: JournalEntry, form: dict[str, Any]) -> Generator[Effect, None, Outcome | None]:
        """Wait for the lock's holder to carry out the operation. None if this process got the lock after all."""
        tokens = (form.get("args") or {}).get("new_tokens") or []
        kin, rules, since = local.kin(self._replica), versions.rules(), self._replica.published()
        entry.write(durably=False, state="waiting", form=form, kin=kin, rules=rules, tokens=tokens, since=since)
        try:
            told = yield from self._wait(entry, fetch=True)
        except LockTimeout:
            if entry.data["state"] == "unknown":
                _keep(entry)
                raise give_up.taken_over() from None
            entry.remove()
            raise
        except BaseException as error:
            if local.withdraw(self._replica.journal, entry):
                entry.remove()
            elif isinstance(error, BdError | OSError | KeyboardInterrupt):
                _keep(entry)
                raise InterruptedWrite if isinstance(error, KeyboardInterrupt) else give_up.taken_over() from error
            else:
                entry.close()
            raise
        if told is None:
            entry.data.pop("form", None)
            entry.write(durably=False, state="begun")  # a waiting entry would be taken
            return None
        return self._heard(told)

    def _wait(self, entry: JournalEntry | None, *, fetch: bool) -> Generator[Effect, None, Mapping[str, Any] | None]:
        """Wait until this process gets the lock (None), or the lock's holder has answered the waiting entry.

        Raises LockTimeout if neither happens in time; the entry is then withdrawn, or its state in `data` is `unknown`.
        """
        replica, runtime, journal = self._replica, self._replica.runtime, self._replica.journal
        lock, patience_s, begun_s = replica.lock(), replica.settings().lock_timeout, runtime.monotonic()
        pause_s, on_wait = _POLL_S, replica.on_wait
        while True:
            found = journal.answered(entry) if entry else None
            if found is not None:
                return found
            if replica.try_write(lock, fetch=fetch):
                found = journal.answered(entry) if entry else None  # the last holder may have answered before it let go
                if entry and found is None:
                    journal.reclaim(entry)
                return found
            waited_s = runtime.monotonic() - begun_s
            if waited_s > 1 and on_wait:
                on_wait()
                on_wait = None
            if waited_s > patience_s and (entry is None or local.withdraw(journal, entry) or waited_s > 2 * patience_s):
                raise lock.timed_out()
            yield effects.Sleep(pause_s, jitter=False)
            runtime.sleep(pause_s)
            pause_s = min(_POLL_CAP_S, pause_s * 1.3)

    def _heard(self, told: Mapping[str, Any]) -> Outcome:
        """Turn a neighbour's answer into an outcome. Raises TryAgain if this clone can't read what was written."""
        try:
            tip = told.get("commit") or self._replica.view()
            refusal = answer.error_of(told["answer"])
            change = None if refusal else answer.change_of(told["answer"], self._replica.snapshot(tip))
        except (TryAgain, OSError) as error:
            raise give_up.unread(error) from error
        with suppress(OSError):  # the hub has it
            finish.note_last(self._replica, change, tip)
        return Outcome(change, published=True, commit=tip, tries=told.get("tries", 1), refusal=refusal)


def _told(entry: JournalEntry, outcome: Outcome) -> Outcome:
    """Return the outcome, with the entry if it won a claim, which stays until the caller has reported it. Raises a refusal."""
    if outcome.change is not None and outcome.change.tokens:
        return outcome.replace(entry=entry)
    entry.remove()
    if outcome.refusal is not None:
        raise outcome.refusal
    return outcome


def _leave(entry: JournalEntry, error: BaseException, *, in_doubt: bool, pushed: Mapping[str, Any]) -> None:
    """Keep the entry of an operation that may still land; remove any other."""
    if entry.data["state"] == "begun" and pushed and in_doubt:
        _keep(entry, **pushed)
        return
    if entry.data["state"] == "won":  # a claim that was taken over, and that nobody was told of
        entry.close()
    elif entry.data["state"] in ("pushing", "asked") and in_doubt:
        _keep(entry)
    elif isinstance(error, Exception) or entry.data["state"] == "begun":
        entry.remove()


def _keep(entry: JournalEntry, **changes: Any) -> None:
    with suppress(OSError):  # the entry as it is says enough
        entry.write(state="unknown", **changes)
    entry.close()
