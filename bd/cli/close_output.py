"""What `bd close --output` is given, for a close and for what is checked before it."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
    """The arguments of a close, and the output that the bead will have by it. Raises BadInput and NoSuchBead.

    What has to be validated lies in the bead up to a larger size: checks look there.
    """
    if output is None:
        return {}, None
    if len(typed) > 1:
        raise BadInput("one --output and several beads", hint="close them one by one")
    snapshot = app.snapshot()
    bead = bead_of(typed[0], snapshot)
    given = output_of(output, app.hub, CHECKED_IN_BEAD if validation.is_asked(bead) else IN_BEAD)
    return given, with_stored(given.get("output"), given.get("stores") or {}, bead)
