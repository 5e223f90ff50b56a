"""The yardstick of start-up: a click group that imports its commands lazily, and a command that does nothing."""

from __future__ import annotations

import click


class LazyGroup(click.Group):
    """Knows its commands by name, and makes one only when it is run."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return ["nothing"]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return click.Command("nothing", callback=lambda: None) if cmd_name == "nothing" else None


@click.group(cls=LazyGroup)
def group() -> None:
    """A group with one command."""


if __name__ == "__main__":
    group()
