"""bd version."""

from __future__ import annotations

from bd import TYPE_CHECKING, __version__
from bd.cli.spec import Command

if TYPE_CHECKING:
    from bd.cli.app import App


SPEC = Command(
    "version",
    help="Print the version.",
    examples=["bd version --json"],
)


def run(app: App) -> None:
    """Print the version."""
    if app.out.is_json:
        app.out.object({"version": __version__, "build": "python"})
    else:
        app.out.line(f"bd version {__version__}")
