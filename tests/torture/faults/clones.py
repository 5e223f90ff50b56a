"""Clones: stale locks in them, one deleted and cloned anew, two processes of one agent in one of them."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from tests.torture import workload
from tests.torture.faults.registry import of_a_round

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.torture.yard import Yard


@of_a_round("stale index.lock", first=True)
def index_lock(yard: Yard) -> Iterator[None]:
    lock = yard.path(yard.rng.choice(yard.clones)) / ".git" / "index.lock"
    lock.touch()
    yield
    assert lock.exists(), f"{lock} was somebody else's, and is gone"
    lock.unlink()


@of_a_round("stale ref lock in a clone", first=True)
def ref_lock(yard: Yard) -> Iterator[None]:
    folder = yard.path(yard.rng.choice(yard.clones)) / ".git"
    lock = folder / yard.rng.choice(["refs/bd/view.lock", "refs/bd/published.lock", "refs/heads/main.lock", "packed-refs.lock"])
    lock.parent.mkdir(parents=True, exist_ok=True)
    lock.touch()
    yard.later(yard.rng.choice([0.2, 1.0, 9.0]), lambda: lock.unlink(missing_ok=True))
    yield
    lock.unlink(missing_ok=True)


@of_a_round("clone deleted and cloned anew", first=True)
def cloned_anew(yard: Yard) -> Iterator[None]:
    """What it had not published goes with it, and what it had asked for is nobody's."""
    name = yard.rng.choice(yard.clones)
    path = yard.path(name)
    if not (path / ".git").is_mount():
        yard.lost_clones.add(yard.identity(name))
        shutil.rmtree(path)
        yard.add_clone(name)
    yield


@of_a_round("two processes of one agent", first=True)
def two_of_one_agent(yard: Yard) -> Iterator[None]:
    """Three loops of one agent in one clone, which all want work."""
    clone, agent = yard.rng.choice(yard.clones), yard.rng.choice(workload.AGENTS)
    for _ in range(3):
        yard.add(workload.claim_next(yard, clone, agent))
    yield
