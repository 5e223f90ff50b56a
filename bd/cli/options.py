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


def long_texts(command: Callable[..., Any]) -> Callable[..., Any]:
    """The Go tool's ways to hand over a long description or design."""
    command = click.option("--design-file", hidden=True)(command)
    return click.option("--stdin", is_flag=True, hidden=True)(command)
