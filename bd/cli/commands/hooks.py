"""bd hooks."""

from __future__ import annotations

import click

from bd.cli.app import App
from bd.cli.options import pass_app

_NONE = "bd has no git hooks: every write is published by itself, and `bd sync` takes edits made by hand."


@click.group("hooks", no_args_is_help=False)
def command() -> None:
    """Answer git hooks that call bd; bd needs none."""


@command.command("run", epilog="\b\nExample:\n  bd hooks run pre-commit")
@click.argument("name")
@click.argument("arguments", nargs=-1)
@pass_app
def run(app: App, name: str, arguments: tuple[str, ...]) -> None:
    """Let a hook that was installed for the Go tool go on: does nothing, says nothing."""
    if app.out.is_json:
        app.out.object({"hook": name, "done": True})


@command.command("install", epilog="\b\nExample:\n  bd hooks install")
@pass_app
def install(app: App) -> None:
    """Say that there is nothing to install."""
    _say(app)


@command.command("uninstall", epilog="\b\nExample:\n  bd hooks uninstall")
@pass_app
def uninstall(app: App) -> None:
    """Say that there is nothing to remove."""
    _say(app)


@command.command("list", epilog="\b\nExample:\n  bd hooks list")
@pass_app
def list_hooks(app: App) -> None:
    """List bd's hooks: there are none."""
    _say(app)


def _say(app: App) -> None:
    if app.out.is_json:
        app.out.object({"hooks": [], "note": _NONE})
    else:
        app.out.said(_NONE)
