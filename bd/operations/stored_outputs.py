"""Outputs stored in the hub next to their beads: `stores`, an argument of operations that end an attempt.

It maps a file name to its content in base64. The commit message leaves the content out: it is in the same commit, and a replay
takes it from there. store/artifacts.py says what a reference may name.
"""

from __future__ import annotations

from base64 import b64decode, b64encode

from bd import TYPE_CHECKING
from bd.core.errors import BadInput
from bd.core.schema import ARTIFACTS_DIR
from bd.store.object_names import name_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from bd.core.model import Bead
    from bd.store import Clone


def packed(data: bytes) -> str:
    """Encode content for an operation."""
    return b64encode(data).decode()


def unpacked(content: str) -> bytes:
    """Decode it again."""
    return b64decode(content)


def path_of(bead_id: str, name: str) -> str:
    """Return the hub path of a bead's stored output."""
    return f"{ARTIFACTS_DIR}{bead_id}/{name}"


def files_of(stores: Mapping[str, Any], bead_id: str) -> dict[str, bytes | None]:
    """Return the files to write. Raises BadInput if the content of one is lost."""
    if not all(isinstance(content, str) for content in stores.values()):
        raise BadInput(f"the output of {bead_id} is no longer here", hint="close it again with --output", id=bead_id)
    return {path_of(bead_id, name): unpacked(content) for name, content in stores.items()}


def with_stored(output: Any, stores: Mapping[str, Any], bead: Bead) -> Any:
    """Return an attempt's output with its stored files added."""
    if not stores:
        return output
    names = {*stores}
    before = (bead.get("output") or {}).get("artifacts")
    kept = [one for one in before or [] if not (isinstance(one, dict) and one.get("name") in names)]
    given = output if isinstance(output, dict) else {"data": output} if output else {}
    return {**given, "artifacts": [*kept, *({"name": name, "ref": path_of(bead.id, name)} for name in stores)]}


def without_contents(stores: Mapping[str, Any], length: int) -> dict[str, Any]:
    """Return the stores for a commit message: each file by the object name of its content (`length` hex digits)."""
    return {
        name: {"blob": name_of(b"blob", unpacked(content), length)} if isinstance(content, str) else content
        for name, content in stores.items()
    }


def with_contents(hub: Clone, form: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return an operation's JSON form with the contents that `without_contents` left out, as far as this clone has them."""
    stores = (form.get("args") or {}).get("stores")
    if not isinstance(stores, dict):
        return form
    found = {name: one if isinstance(one, str) else _content(hub, one) for name, one in stores.items()}
    return {**form, "args": {**form["args"], "stores": found}}


def _content(hub: Clone, one: Any) -> Any:
    data = hub.repo.objects.read(one["blob"]) if isinstance(one, dict) and isinstance(one.get("blob"), str) else None
    return one if data is None else packed(data)
