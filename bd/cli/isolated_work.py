"""`bd work --isolated`: whether it is possible as it was typed, and the API that its commands get."""

from __future__ import annotations

import os
import shutil
from importlib.util import find_spec

from bd import TYPE_CHECKING
from bd.core.errors import BadInput
from bd.worker.isolation import hidden_from, is_within

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bd.cli.app import App
    from bd.core.runtime import Runtime
    from bd.store import Clone
    from bd.worker.isolation import Api


def hidden_folders(app: App, program: str, folder: str | None) -> Sequence[str]:
    """Return the folders that the commands must not see. `program` is what they start, `folder` where, if that was typed.

    Raises BadInput if either is in such a folder.
    """
    if not find_spec("starlette") or not find_spec("uvicorn"):
        raise BadInput("--isolated serves an API, which needs an extra", hint="pip install 'gitbeads[serve]'")
    hidden = hidden_from(app.hub)
    if folder and _is_in(folder, hidden):
        hint = "leave --folder out: each bead gets an empty folder, or a clone of its repository"
        raise BadInput(f"{folder} is in the hub's folder, which an isolated command does not see", hint=hint)
    found = shutil.which(program, path=os.environ.get("PATH")) or os.path.join(folder or ".", program)
    if _is_in(found, hidden):
        raise BadInput(f"{program} is in the hub's folder, which an isolated command does not see", hint="move it elsewhere")
    return hidden


def _is_in(path: str, folders: Sequence[str]) -> bool:
    return any(is_within(path, folder) for folder in folders)


def api_for(open_hub: Callable[[], Clone], runtime: Runtime, tell: Callable[[str], None]) -> Api:
    """Return the API for the commands of a worker. Nothing is served before the first of them."""
    from bd.web.attempt_api import AttemptApi  # noqa: PLC0415  imports the extra

    return AttemptApi(open_hub, runtime, tell)
