"""The Runtime of commands that tests run in this process, and clones opened with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bd.cli import app
from bd.cli.runtime import SystemRuntime

if TYPE_CHECKING:
    from bd.store import Clone, Place

# One for all: a test that wants another clock or other names sets them on it, with monkeypatch.
RUNTIME = SystemRuntime()


def open_clone(place: Place, **listeners: Any) -> Clone:
    """A clone as commands of this process open it."""
    return app.open_clone(place, RUNTIME, **listeners)
