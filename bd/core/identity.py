"""The identity of the caller: one precedence for every command.

`--agent`/`--actor`, BD_AGENT, BEADS_ACTOR, BD_ACTOR, the clone's or the user's settings. Without any of these, git's user.name is
used for writes that claim nothing; it may claim only for a person at a terminal, and for the compatibility form `update --claim`.
"""

from __future__ import annotations

import os

from bd import TYPE_CHECKING
from bd.core.errors import NoIdentity
from bd.core.ids import agent_from_person, check_agent
from bd.core.schema import is_agent
from bd.core.value import Value

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from bd.core.settings import Settings


class Identity(Value):
    """`agent` is the name that claims, `by` the author of writes (`agent:x`, `human:Ada`), `source` where it comes from."""

    agent: str
    by: str
    source: str


def identify(
    flag: str | None,
    clone_layer: Mapping[str, Any],
    user_layer: Mapping[str, Any],
    user_name: str,
    *,
    actor: str | None = None,
) -> Identity:
    """Return the caller's identity. `flag` and `actor` are what was typed. Raises BadInput for an invalid agent name."""
    named = [
        ("--agent", flag),
        ("--actor", actor),
        ("BD_AGENT", os.environ.get("BD_AGENT")),
        ("BEADS_ACTOR", os.environ.get("BEADS_ACTOR")),
        ("BD_ACTOR", os.environ.get("BD_ACTOR")),
        ("clone configuration", clone_layer.get("agent")),
        ("user configuration", user_layer.get("agent")),
    ]
    for source, name in named:
        if name:
            return _named(name, source)
    person = user_name or os.environ.get("USER") or "unknown"
    return Identity("", f"human:{person}", "git user.name" if user_name else "login name")


def _named(name: str, source: str) -> Identity:
    """Return an agent's identity if the name can be an agent's; existing clients also pass a person's name as actor."""
    if source in ("--agent", "BD_AGENT") or is_agent(name.strip().replace("_", "-")):
        agent = check_agent(name)
        return Identity(agent, f"agent:{agent}", source)
    return Identity(agent_from_person(name), f"human:{name}", source)


def claimant(identity: Identity, *, is_person: bool) -> Identity:
    """Return the identity with an agent name to claim under. Raises NoIdentity if there is neither an agent nor a person."""
    if identity.agent:
        return identity
    if not is_person:
        raise NoIdentity
    name = identity.by.split(":", 1)[-1]
    return identity.replace(agent=agent_from_person(name))


def git_author(by: str, settings: Settings, user_name: str, user_mail: str) -> str:
    """Return the git author (`Name <mail>`): a person's own git name and mail, or an agent's owner identity."""
    kind, _, name = by.rpartition(":")
    mail = settings.owner(name)
    if kind == "human" and user_name:
        name, mail = user_name, user_mail or mail
    clean = str.maketrans("", "", "<>\n\r\0")
    return f"{name.translate(clean).strip() or 'unknown'} <{mail.translate(clean).strip()}>"
