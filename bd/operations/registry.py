"""Every operation by its verb, for replays and other processes to read one back."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core import versions
from bd.core.operation import Once, UnknownOperation
from bd.operations import (  # noqa: F401  each module registers its verbs
    agents,
    archive,
    beads,
    board,
    claims,
    close,
    costs,
    create,
    dags,
    dependencies,
    fail,
    friction_beads,
    hand_edits,
    handoff,
    heartbeat,
    heat,
    human_wait,
    import_beads,
    init,
    memories,
    notify,
    plan,
    pools,
    schedules,
    settings,
    signers,
    spawn,
    switches,
    take,
    triggers,
    undo,
    upgrade,
    validate,
    work_stealing,
)
from bd.operations.base import REGISTRY

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from bd.core.runtime import Runtime
    from bd.operations.base import Operation


def from_json(form: Mapping[str, Any], runtime: Runtime) -> Operation:
    """Return the operation of a commit's `Bd-Op`. Ids that an older bd did not mint are minted now.

    Raises UnknownOperation for a verb, a version or an argument that this installation does not know.
    """
    verb, version = form["verb"], form.get("v", 1)
    kind = REGISTRY.get(verb)
    if kind is None:
        raise UnknownOperation(f"the verb {verb!r} is unknown")
    if not versions.is_known(version, versions.operation(verb)):
        raise UnknownOperation(f"version {version} of the verb {verb!r} is unknown")
    once = Once(**form["once"]) if form.get("once") else None
    return kind(
        by=form["by"], at=form["at"], uid=form["uid"], tokens=form.get("tokens"), runtime=runtime, once=once, **form["args"]
    )
