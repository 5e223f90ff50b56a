"""Previews of how a hub's commands will run on this machine, for the person who decides whether to trust them. Runs nothing."""

from __future__ import annotations

import os
from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.core.ids import hub_name
from bd.core.pools import Pool, pools_of
from bd.pool import placeholders
from bd.pool.session import PROVIDERS
from bd.pool.state import Quarters

if TYPE_CHECKING:
    from bd.core.model import Snapshot
    from bd.notify.command_pins import Asked
    from bd.store import Clone

_OF_WORK = "the folder of `bd close`, or of the command of `bd work`"
_TRUSTS_HUB = "whoever may push to this hub, for whatever else it reads there"
_OF_REPO = "the workspace of each bead about it"
_TRUSTS_REPO = "that repository, and whoever may push to it: a command that runs its files runs whatever they are by then"
_TRUSTS_WORK = "the repository that the work is done in: it runs files of that"


class Preview(NamedTuple):
    """A command with the values of its placeholders (of a pool's first member), its folder, and whom it means to trust."""

    text: str
    folder: str
    trusts: str


def preview(hub: Clone, snapshot: Snapshot, command: Asked) -> Preview:
    """Return how a command will run here."""
    if command.agent:
        pool = pools_of(snapshot).get(command.agent, Pool(command.agent))
        return _of_pool(hub, pool, snapshot.config().get("prefix"), command)
    if command.repo:
        return Preview(command.text, _OF_REPO, _TRUSTS_REPO)
    if command.name.startswith("config.notify"):
        return Preview(command.text, hub.checkout, _TRUSTS_HUB)
    return Preview(command.text, _OF_WORK, _TRUSTS_WORK)


def _of_pool(hub: Clone, pool: Pool, prefix: object, command: Asked) -> Preview:
    key = command.name.rpartition(".")[2]
    if key == "check":
        return Preview(command.text, hub.checkout, _TRUSTS_HUB)
    name = next(iter(pool.members), pool.name)
    clone = os.path.join(Quarters(hub).folder, "clones", name) if hub.place.url else hub.checkout
    values = placeholders.values_of(name, pool.name, hub_name(prefix), clone)
    text = placeholders.shown(command.text, values)
    if key != "start" or pool.alive:
        return Preview(text, hub.checkout, _TRUSTS_HUB)
    provider = PROVIDERS.get(pool.provider)
    whole = placeholders.shown(provider.start, {**values, "command": text}) if provider else text
    return Preview(whole, clone, _TRUSTS_HUB)
