"""bd hooks."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.cli.spec import Argument, Command, Group

if TYPE_CHECKING:
    from bd.cli.app import App


_NONE = "bd has no git hooks: every write is published by itself, and `bd sync` publishes hand edits."


RUN = Command(
    "run",
    Argument("name"),
    Argument("arguments", many=True),
    help="Does nothing, so that hooks installed for the Go tool still pass.",
    examples=["bd hooks run pre-commit"],
)


def run(app: App, name: str, arguments: tuple[str, ...]) -> None:
    """Let a hook that was installed for the Go tool pass: does nothing, prints nothing."""
    if app.out.is_json:
        app.out.object({"hook": name, "done": True})


INSTALL = Command(
    "install",
    help="Does nothing: bd needs no hooks.",
    examples=["bd hooks install"],
)


def install(app: App) -> None:
    """Does nothing: bd needs no hooks."""
    _say(app)


UNINSTALL = Command(
    "uninstall",
    help="Does nothing: bd has installed no hooks.",
    examples=["bd hooks uninstall"],
)


def uninstall(app: App) -> None:
    """Does nothing: bd has installed no hooks."""
    _say(app)


LIST_HOOKS = Command(
    "list",
    help="List bd's hooks: there are none.",
    examples=["bd hooks list"],
)


def list_hooks(app: App) -> None:
    """List bd's hooks: there are none."""
    _say(app)


def _say(app: App) -> None:
    if app.out.is_json:
        app.out.object({"hooks": [], "note": _NONE})
    else:
        app.out.said(_NONE)


SPEC = Group(
    "hooks",
    {
        "run": (RUN, run),
        "install": (INSTALL, install),
        "uninstall": (UNINSTALL, uninstall),
        "list": (LIST_HOOKS, list_hooks),
    },
    help="For git hooks that call bd; bd needs none.",
)
