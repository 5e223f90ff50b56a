"""What `bd close` does once its flags are read. Loads no click: an agent's close goes by cli/parse.py."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from bd.cli.app import App


def close(
    app: App,
    beads: Sequence[str],
    *,
    reason: str | None = None,
    output: str | None = None,
    take_next: bool = False,
    force: bool = False,
) -> None:
    """Close and answer. Raises BadInput, NotValidated, and what the close is refused with."""
    from bd.operations.close import Close

    extra: dict[str, Any] = {}
    made = None
    if output is not None:
        from bd.cli.close_output import given_output

        extra, made = given_output(app, beads, output)
    if not force:
        from bd.cli.validation import seals_of

        seals = seals_of(app, beads, lambda _: made)
        extra.update({"seals": seals} if seals else {})
    if take_next:
        extra["next"] = {"agent": app.claimant().agent, "host": os.uname().nodename if hasattr(os, "uname") else ""}
    outcome = app.publish(Close(**app.asked_to_end(beads, ids=list(beads), reason=reason, force=force, **extra)))
    claimed = {bead_id for _, bead_id in outcome.change.tokens} if outcome.change else set()
    said = {bead.id: "Claimed" if bead.id in claimed else "Closed" for bead in app.written(outcome)}
    app.show_written(outcome, said)
