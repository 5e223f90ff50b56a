"""The one place where bd refuses its caller because the caller is a command of `bd work`. The table is in policy/permissions.py."""

from __future__ import annotations

import os

from bd import TYPE_CHECKING
from bd.core.errors import BdError, NotPermitted
from bd.policy.permissions import ACT_AS, NEVER, deed_of, rights_of
from bd.worker.isolation import is_within

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from bd.cli.app import App


# What an isolated command may do with bd: nothing here is about the hub.
ANYWHERE = frozenset({"help", "version", "completion", "schema", "quickstart", "simulate", "demo", "init"})
# A worker sets both; who has taken a claim by hand may have set the token.
_SIGNS = ("BD_TOKEN", "BD_BEAD_FILE")


def refuse(app: App, command: str, arguments: Mapping[str, Any]) -> None:
    """Refuse what goes beyond the claim of the command that this call belongs to. Raises NotPermitted.

    Whoever presents a token by hand, without being a worker's command, is refused only what no agent may.
    """
    deed = deed_of(command, arguments)
    if deed is not None and deed.right == NEVER:
        there = " and ".join(name for name in _SIGNS if os.environ.get(name))
        hint = f"do it in a terminal of your own, without {there}"
        raise NotPermitted(f"an agent can't {deed.words}", hint=hint, command=command)
    if os.environ.get("BD_API_URL") and os.environ.get("BD_BEAD_FILE") and command not in ANYWHERE:
        _refuse_isolated(app, command)
    if not (os.environ.get("BD_BEAD_FILE") or os.environ.get("BD_BEAD_ID")):
        return
    holder, name = _holder(app)
    rights = rights_of(app.snapshot().agent(holder)) if holder and (deed or name != holder) else []
    if holder and name != holder and ACT_AS not in rights:
        raise _missing(ACT_AS, f"act as {name}", holder, command)
    if deed is not None and deed.right not in rights:
        raise _missing(deed.right, deed.words, holder or "the agent", command)


def _holder(app: App) -> tuple[str, str]:
    """Return the agent that holds the caller's claim, "" if nobody does any more, and the name under which the caller acts."""
    token = os.environ.get("BD_TOKEN", "")
    try:
        claims = (claim for bead in app.snapshot().claimed(token) for claim in bead.claims) if token else ()
        holder = next((str(claim["agent"]) for claim in claims if claim.get("token") == token), "")
        return holder, app.identity.by.rpartition(":")[2] if holder else ""
    except BdError:  # where there is no hub nothing can be done to it
        return "", ""


def _refuse_isolated(app: App, command: str) -> None:
    """Refuse a command of `bd work --isolated` any hub but one that it has made itself in its workspace."""
    workspace = os.environ.get("BD_WORKSPACE")
    if workspace and app.has_hub() and is_within(app.hub.checkout, workspace):
        return
    hint = "`bd-api METHOD PATH [JSON]` calls it; `bd-api GET openapi.json` says what there is"
    raise NotPermitted("an isolated command gets the API of the hub, not a clone of it", hint=hint, command=command)


def _missing(right: str, words: str, agent: str, command: str) -> NotPermitted:
    return NotPermitted(
        f"a command of `bd work` acts for its own claim only, and may not {words}",
        hint=f"a person may, or adds `may: [{right}]` to the agent file of {agent}",
        command=command,
        right=right,
    )
