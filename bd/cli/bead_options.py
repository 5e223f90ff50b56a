"""The flags for a bead's fields, as one table: of create and update, and in part of q, spawn and schedule add.

Belongs here: which flag sets which key of a bead, and reading the values. Does not belong here: the flags for the maps `spec`,
`retry` and `output` (work_options.py), and what several words make together, such as labels that are added and removed. A plan
takes the same names as keys (compat/plan_beads.py).
"""

from __future__ import annotations

from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.cli.spec import CLAIM_MODE, INTEGER, PRIORITY, TEXT, Flag, Option, list_option, real_number, whole_number
from bd.cli.values import flat, text_argument

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from bd.cli.spec import Kind


class Field(NamedTuple):
    """A key of a bead and its flags. `help` is for a new bead, `changing` for one that is there, where that differs."""

    key: str
    flags: tuple[str, ...]
    help: str
    changing: str = ""
    kind: Kind = TEXT
    name: str = ""
    metavar: str | None = None
    is_list: bool = False

    @property
    def argument(self) -> str:
        """The name of the argument that the flag becomes."""
        return self.option().name

    def option(self, help: str = "") -> Option:
        """Return the flag, with this text of help or its own."""
        if self.is_list:
            return list_option(*self.flags, name=self.name, help=help or self.help)
        return Option(*self.flags, name=self.name, kind=self.kind, metavar=self.metavar, help=help or self.help)


_PRIORITIES = "0 (critical) to 4 (background); default: 2."
_TABLE = (
    Field("type", ("--type", "-t"), "task, bug, feature, research ... (task)", "Another type.", name="bead_type"),
    Field("priority", ("--priority", "-p"), _PRIORITIES, "0 to 4.", PRIORITY),
    Field("base_priority", ("--base-priority",), "The finer scale, 0 to 100.", kind=real_number(0, 100)),
    Field("description", ("--description", "-d", "--body"), "The description; - reads stdin."),
    Field("design", ("--design",), "The design."),
    Field("acceptance_criteria", ("--acceptance", "--acceptance-criteria"), "The acceptance criteria."),
    Field("notes", ("--notes",), "Anything else.", "Replace the notes."),
    Field(
        "assignee", ("--assignee", "-a", "--assign"), "Route it to this agent or person.", 'Route it to this name; "" to nobody.'
    ),
    Field("labels", ("--labels", "-l", "--label"), "Labels (repeat, or commas).", is_list=True),
    Field("deps", ("--deps", "--depends-on"), "What it waits for: ID, or blocks:ID, discovered-from:ID ...", is_list=True),
    Field("needs", ("--needs",), "Capabilities that it needs.", 'Capabilities that it needs; "" for none.', is_list=True),
    Field("parent", ("--parent",), "Its parent.", 'Its parent; "" for none.'),
    Field("id", ("--id",), "Use this id.", name="bead_id"),
    Field("external_ref", ("--external-ref",), "Such as gh-9 or a URL."),
    Field("deadline", ("--due", "--deadline"), "A date, a time, or 2d.", name="deadline"),
    Field("defer_until", ("--defer",), "Hide it until then.", name="defer_until"),
    Field("expected", ("--expected",), "How long it should take, such as 45m.", "How long it should take."),
    Field("estimated_minutes", ("--estimate", "-e"), "Minutes.", kind=INTEGER),
    Field(
        "exclusive",
        ("--exclusive",),
        "A name such as repo:site; two beads with the same one are never in progress at once.",
        "A name; two beads with the same one are never in progress at once.",
    ),
    Field("max_attempts", ("--max-attempts",), "The maximum number of attempts.", kind=whole_number(1)),
    Field("repo", ("--repo",), "The name of the code repository it is about."),
    Field(
        "budget_ceiling_usd",
        ("--budget-ceiling",),
        "The maximum cost of it and everything below it.",
        kind=real_number(0),
        metavar="USD",
    ),
    Field("claim_mode", ("--claim-mode",), "advisory: several agents may work on it at once.", kind=CLAIM_MODE),
)
FIELDS = {field.key: field for field in _TABLE}
# The Go tool's options for a long description or design.
LONG_TEXTS = (Flag("--stdin", hidden=True), Option("--design-file", hidden=True))
BODY_FILE = Option("--body-file", help="Read the description from a file, - for stdin.")


def options(*keys: str, changing: bool = False, helps: Mapping[str, str] | None = None) -> tuple[Option, ...]:
    """Return the flags for these keys of a new bead, or of one that is changed; `helps` has other texts of help, by key."""
    helps, fields = helps or {}, [FIELDS[key] for key in keys]
    return tuple(one.option(helps.get(one.key) or (one.changing if changing else "")) for one in fields)


def typed_fields(flags: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    """Return the values of the flags that were typed, by the bead's key; all keys without `keys`. Reads long texts. Raises BadInput."""
    given = dict(flags)
    given["description"] = text_argument(
        "-" if flags.get("stdin") else flags.get("description"), flags.get("body_file"), "description"
    )
    given["design"] = text_argument(flags.get("design"), flags.get("design_file"), "design")
    found = {key: given.get(FIELDS[key].argument) for key in keys or FIELDS}
    return {key: flat(value) if FIELDS[key].is_list else value for key, value in found.items() if value not in (None, ())}


def filled(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a new bead: what was typed as nothing is just not there."""
    return {key: value for key, value in fields.items() if value not in (None, "", [], {})}
