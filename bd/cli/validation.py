"""Validation before `bd close`, `bd handoff` and `bd update --status closed`."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core import ids
from bd.core.errors import NotValidated, UrlNotAllowed
from bd.operations.fail import Fail
from bd.operations.human_wait import WaitHuman
from bd.operations.validate import Validate
from bd.policy import validation
from bd.policy.lifecycle import with_output

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, NoReturn

    from bd.cli.app import App
    from bd.core.model import Bead


def seals_of(app: App, typed: Sequence[str], output_of: Callable[[Bead], Any] = lambda _: None) -> dict[str, str]:
    """Return the seals of the beads that ask for validation and passed, with their new output. Raises NotValidated.

    If one that is held here does not pass, its attempt is recorded as failed.
    """
    snapshot = app.snapshot()
    known = (ids.resolve(text, snapshot.starting, snapshot.exists) for text in typed if snapshot.starting(text))
    beads = [bead for bead_id in known if (bead := snapshot.bead(bead_id)) is not None and not bead.is_done]
    asking = [bead for bead in beads if validation.is_asked(with_output(bead, output_of(bead)))]
    return {bead.id: _seal(app, bead, output_of(bead)) for bead in asking}


def _seal(app: App, bead: Bead, output: Any) -> str:
    from bd.worker.validation import check  # noqa: PLC0415  few beads have their output checked

    made = with_output(bead, output)
    asked = app.asked([bead.id])
    token = asked["tokens"].get(bead.id) or asked["tokens"].get("*")
    is_mine = bead.claim is not None and bead.claim.token == token
    if is_mine and validation.kind_of(made) in validation.SLOW:
        app.publish(Validate(**app.asked([bead.id], ids=[bead.id], output=output)))
    verdict = check(app.hub, made)
    if verdict.passed:
        return validation.seal_of(made)
    if verdict.told_here:
        app.out.note(verdict.told_here)
    if verdict.is_for_person:
        _let_wait(app, bead, verdict.words if is_mine else "")
    if verdict.passed is None:
        hint = "fix that and close it again; --force --reason TEXT closes it unchecked"
        raise NotValidated(f"{bead.id} can't be validated: {verdict.words}", hint=hint, id=bead.id)
    hint = "fix it and close it again"
    if is_mine:
        app.publish(
            Fail(**app.asked_to_end([bead.id], ids=[bead.id], reason="invalid_output", error=f"not valid: {verdict.words}"))
        )
        hint = f"the attempt has failed; `bd show {bead.id}` says what is next"
    raise NotValidated(f"{bead.id} is not valid: {verdict.words}", hint=hint, id=bead.id)


def _let_wait(app: App, bead: Bead, question: str) -> NoReturn:
    """Refuse to close a bead whose URL may not be asked here; one that is held waits for a person, by this question."""
    hint = "`bd config set url_allow HOST --clone` allows the request from here; --force --reason TEXT closes the bead unchecked"
    words = f"{bead.id} can't be validated: its URL leads to an address that is not public"
    if question:
        app.publish(WaitHuman(**app.asked_to_end([bead.id], ids=[bead.id], reason=question)))
        hint = f"{hint}; `bd answer {bead.id} TEXT` opens it again"
        words = f"{words}; it waits for a person"
    raise UrlNotAllowed(words, hint=hint, id=bead.id)
