"""The value of `bd close --output`, for the close and for the check before it."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.cli.lookup import bead_of
from bd.compat.close_outputs import CHECKED_IN_BEAD, IN_BEAD, output_of
from bd.core.errors import BadInput
from bd.operations.stored_outputs import with_stored
from bd.policy import validation

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from bd.cli.app import App


def given_output(app: App, typed: Sequence[str], output: str | None) -> tuple[dict[str, Any], Any]:
    """Return the arguments of a close, and the bead's output after it. Raises BadInput and NoSuchBead.

    Output that has to be validated may be larger and still be kept in the bead: checks read it there.
    """
    if output is None:
        return {}, None
    if len(typed) > 1:
        raise BadInput("--output is for one bead", hint="close them one by one")
    snapshot = app.snapshot()
    bead = bead_of(typed[0], snapshot)
    given = output_of(output, app.hub, CHECKED_IN_BEAD if validation.is_asked(bead) else IN_BEAD)
    stores = given.get("stores") or {}
    return given, with_stored(given.get("output"), stores, bead)
