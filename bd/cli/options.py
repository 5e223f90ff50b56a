"""Option decorators and parameter types that several commands share."""

from __future__ import annotations

import click

from bd.cli.values import comma_list, priority_of
from bd.core.clock import duration_s
from bd.core.errors import BadInput
from bd.core.ids import check_agent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

pass_app: Callable[..., Any] = click.pass_obj
NO_LIMIT = 0


class CommaList(click.ParamType):  # type: ignore[type-arg]
    """A list flag: may be repeated, and takes commas."""

    name = "list"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> list[str]:
        return value if isinstance(value, list) else comma_list(str(value))


class PriorityType(click.ParamType):  # type: ignore[type-arg]
    """0-4 or P0-P4."""

    name = "priority"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            return priority_of(str(value))
        except BadInput as error:
            self.fail(error.message, param, ctx)


class AgentType(click.ParamType):  # type: ignore[type-arg]
    """An agent's name."""

    name = "agent"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return check_agent(str(value))


class DurationType(click.ParamType):  # type: ignore[type-arg]
    """Seconds, from `90s`, `45m`, `2h`, `1d`."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        return value if isinstance(value, float) else duration_s(str(value))


PRIORITY = PriorityType()
AGENT = AgentType()
DURATION = DurationType()
CLAIM_MODE = click.Choice(["exclusive", "advisory"])


def list_option(*names: str, help: str, **extra: Any) -> Callable[..., Any]:
    """A list flag that repeats or takes commas."""
    return click.option(*names, multiple=True, type=CommaList(), help=help, **extra)


def filter_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The filters that list, ready, count and search share."""
    options = [
        list_option("--type", "-t", "types", help="Only these types."),
        click.option("--priority", "-p", "priorities", multiple=True, type=PRIORITY, help="Only this priority (repeatable)."),
        click.option("--assignee", "-a", help="Only what is assigned to this name."),
        click.option("--unassigned", "--no-assignee", "-u", is_flag=True, help="Only what nobody is assigned to."),
        list_option("--label", "-l", "--labels", "labels", help="Only beads with all of these labels."),
        list_option("--label-any", "labels_any", help="Only beads with one of these labels."),
        list_option("--exclude-label", "labels_not", help="No beads with these labels."),
        list_option("--exclude-type", "types_not", help="No beads of these types."),
        click.option("--waiting", metavar="WORD", help="Only what waits for this, such as human."),
        click.option("--parent", help="Only beads below this one."),
        click.option("--no-parent", is_flag=True, help="Only beads that are below none."),
        click.option("--title", "--title-contains", help="Only titles with this text in them."),
        click.option("--desc-contains", "description", hidden=True),
        click.option("--notes-contains", "notes", hidden=True),
        click.option("--priority-min", type=PRIORITY, hidden=True),
        click.option("--priority-max", type=PRIORITY, hidden=True),
        click.option("--no-labels", is_flag=True, hidden=True),
        list_option("--id", "ids", help="Only these ids."),
        click.option("--metadata-field", "metadata", multiple=True, metavar="KEY=VALUE", help="Only beads with this metadata."),
        click.option("--created-after", help="Only beads made after this time: 2026-02-21, yesterday, or 2d for two days ago."),
        click.option("--created-before", help="Only beads made before this time."),
        click.option("--updated-after", help="Only beads changed after this time."),
        click.option("--updated-before", help="Only beads changed before this time."),
        click.option("--closed-after", help="Only beads closed after this time."),
        click.option("--closed-before", help="Only beads closed before this time."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def key_values(pairs: tuple[str, ...]) -> dict[str, str]:
    """`k=v` pairs as a mapping; `k=` is an empty text. Raises BadInput."""
    found: dict[str, str] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise BadInput(f"{pair!r} is not KEY=VALUE")
        found[key] = value
    return found


def long_texts(command: Callable[..., Any]) -> Callable[..., Any]:
    """The Go tool's ways to hand over a long description or design."""
    command = click.option("--design-file", hidden=True)(command)
    return click.option("--stdin", is_flag=True, hidden=True)(command)
