"""The hub: away and back, read-only, slow, repacked under one's hands, locked, with hidden refs, without atomic pushes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.hub.hooks import hook
from tests.torture.faults.registry import of_a_history, of_a_round
from tests.torture.yard import git

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.torture.yard import Yard


@of_a_round("remote down and back")
def remote_down(yard: Yard) -> Iterator[None]:
    away = yard.folder / "away.git"
    yard.hub.rename(away)
    yard.later(yard.rng.choice([0.1, 0.4, 9.0]), lambda: away.exists() and away.rename(yard.hub))
    yield
    if away.exists():
        away.rename(yard.hub)


@of_a_round("remote read-only")
def remote_read_only(yard: Yard) -> Iterator[None]:
    refusing = hook(yard.hub, "pre-receive", 'echo "the repository is read-only" >&2; exit 1')
    yield
    refusing.unlink()


@of_a_round("slow hub", first=True)
def slow_hub(yard: Yard) -> Iterator[None]:
    slow = hook(yard.hub, "pre-receive", f"sleep {yard.rng.uniform(0.05, 0.3):.2f}")
    yield
    slow.unlink()


@of_a_round("hub gc'd")
def hub_gc(yard: Yard) -> Iterator[None]:
    git(yard.hub, "gc", "--quiet", env=yard.env, check=False)
    yield


@of_a_round("hub repacked")
def hub_repacked(yard: Yard) -> Iterator[None]:
    git(yard.hub, "pack-refs", "--all", "--prune", env=yard.env, check=False)
    git(yard.hub, "repack", "-a", "-d", "--quiet", env=yard.env, check=False)
    yield


@of_a_round("stale ref lock in the hub", first=True)
def hub_ref_lock(yard: Yard) -> Iterator[None]:
    lock = yard.hub / yard.rng.choice(["refs/heads/main.lock", "packed-refs.lock"])
    lock.touch()
    yard.later(yard.rng.choice([0.3, 1.0, 9.0]), lambda: lock.unlink(missing_ok=True))
    yield
    lock.unlink(missing_ok=True)


@of_a_history("hidden refs")
def hidden_refs(yard: Yard) -> None:
    git(yard.hub, "config", "transfer.hideRefs", "refs/bd", env=yard.env)
    yard.is_blind = True


@of_a_round("refs hidden from now on")
def refs_hidden_later(yard: Yard) -> Iterator[None]:
    """What was probed before is no longer true, for the rest of the history."""
    git(yard.hub, "config", "transfer.hideRefs", "refs/bd", env=yard.env)
    yard.is_blind = True
    yield


@of_a_history("no atomic pushes")
def no_atomic(yard: Yard) -> None:
    git(yard.hub, "config", "receive.advertiseAtomic", "false", env=yard.env)
    yard.is_blind = True


@of_a_round("no atomic pushes from now on")
def no_atomic_later(yard: Yard) -> Iterator[None]:
    git(yard.hub, "config", "receive.advertiseAtomic", "false", env=yard.env)
    yard.is_blind = True
    yield


@of_a_round("branch squashed", first=True)
def branch_squashed(yard: Yard) -> Iterator[None]:
    """Somebody rewrites the hub's history and keeps its files; each clone then goes on from there, when it is told to."""
    yard.await_late_pushes()
    old = _replaced(yard, lambda tip: git(yard.hub, "commit-tree", "-m", "squashed", f"{tip}^{{tree}}", env=yard.env))
    yard.rewritten.append(old)
    yield
    yard.accept_rewrite()


@of_a_round("branch deleted", first=True)
def branch_deleted(yard: Yard) -> Iterator[None]:
    """Somebody deletes the hub's branch, and puts it back."""
    yard.await_late_pushes()
    old = _replaced(yard, lambda tip: "0" * len(tip))
    yield
    git(yard.hub, "update-ref", "refs/heads/main", old, "0" * 40, env=yard.env, check=False)


def _replaced(yard: Yard, by: Callable[[str], str]) -> str:
    """Put another commit (or none) where the branch's tip is, whoever else is still pushing; that tip."""
    for turn in range(50):
        old = git(yard.hub, "rev-parse", "refs/heads/main", env=yard.env)
        line = f"update refs/heads/main {by(old)} {old}\n"
        try:
            git(yard.hub, "update-ref", "--stdin", env=yard.env, data=line.encode())
        except RuntimeError:  # it has moved meanwhile
            if turn > 40:  # or a push that was killed has left its lock, which its administrator removes
                (yard.hub / "refs" / "heads" / "main.lock").unlink(missing_ok=True)
            continue
        return old
    raise RuntimeError("the hub's branch moves all the time")
