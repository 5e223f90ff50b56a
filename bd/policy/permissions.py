"""Rights of a command that `bd work` runs: its own bd calls act for its one claim, and whatever goes beyond that is in this table.

This guards against mistakes: a command can do with the clone's files whatever its user may. A sandbox is the boundary.
"""

from __future__ import annotations

from typing import NamedTuple

from bd import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

# The rights that an agent file may give (`may`), and what no command of a worker ever does.
FORCE, ACT_AS, END_OTHERS, NEVER = "force", "act-as", "end-others", "never"
# This one an agent needs wherever it runs (memories.py): what it writes there, every agent reads.
REMEMBER = "remember"


class Deed(NamedTuple):
    """A command (`stalled`, `config set`; "" for all), the argument that makes it a deed ("": it always is), the right, and words."""

    command: str
    argument: str
    right: str
    words: str


DEEDS = (
    Deed("trust", "", NEVER, "decide what this machine may run for the hub"),
    Deed("config set", "", NEVER, "change settings"),
    Deed("config unset", "", NEVER, "change settings"),
    Deed("repo add", "", NEVER, "change the code repositories of the hub"),
    Deed("repo remove", "", NEVER, "change the code repositories of the hub"),
    Deed("repo check", "", NEVER, "check a repository"),
    Deed("take", "", NEVER, "take a bead over"),
    Deed("workspace prune", "forget", NEVER, "drop what was set aside"),
    Deed("token create", "", NEVER, "give somebody access"),
    Deed("token revoke", "", NEVER, "take somebody's access away"),
    Deed("identity allow", "", NEVER, "decide whose keys the hub trusts"),
    Deed("identity revoke", "", NEVER, "decide whose keys the hub trusts"),
    Deed("", "force", FORCE, "use --force"),
    Deed("stalled", "free", END_OTHERS, "end other claims"),
    Deed("claim", "resume", END_OTHERS, "take over other claims"),
    Deed("agent remove", "", END_OTHERS, "end other claims"),
    Deed("agent rename", "", END_OTHERS, "end other claims"),
    Deed("overseer", "", END_OTHERS, "end other claims"),
    Deed("pool run", "", END_OTHERS, "end other claims"),
    Deed("undo", "", END_OTHERS, "undo what others have done"),
)


def deed_of(command: str, arguments: Mapping[str, Any]) -> Deed | None:
    """Return what in a command line goes beyond the caller's own claim; None if nothing does. `arguments` are those of its SPEC."""
    for deed in DEEDS:
        if deed.command in ("", command) and (not deed.argument or arguments.get(deed.argument)):
            return deed
    return None


def rights_of(agent: Mapping[str, Any] | None) -> Sequence[str]:
    """Return the rights that an agent's file gives; none if it gives them in no list."""
    may = (agent or {}).get("may")
    return [str(right) for right in may] if isinstance(may, list) else []
