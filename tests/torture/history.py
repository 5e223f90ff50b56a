"""One history: rounds of calls with faults, then peace, then what is to be checked.

Belongs here: the order of things. Does not belong here: which calls and which faults there are, and what must hold.
"""

from __future__ import annotations

import itertools
import random
import time
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from tests.torture import reading, workload
from tests.torture.calls import Call, Told
from tests.torture.checker import Lived, violations
from tests.torture.faults import OF_A_CALL, OF_A_HISTORY, OF_A_ROUND, ONLY
from tests.torture.faults.kills import WITH_ITS_GIT
from tests.torture.yard import Yard, git

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ROUNDS = (3, 5)
CALLS = (2, 4)
OF_CALLS, OF_ROUNDS, OF_HISTORIES = 0.4, 0.5, 0.3
CLONES = ("north", "south", "west")


class Result(NamedTuple):
    """What came of a history: its seed, what is wrong, which faults it had, and how many calls."""

    seed: int
    violations: list[str]
    faults: list[str]
    calls: int
    seconds: float


def run(seed: int, folder: Path, model: Path, only: str | None = None) -> Result:
    """Live a history, and check it. With `only`, that one fault comes again and again, and no other."""
    began = time.monotonic()
    yard = Yard(folder, model, random.Random(f"{seed}"), workload.SEEDED)
    try:
        _live(yard, only)
        lived = _looked_at(yard)
        found = violations(lived)
        _write_log(yard, lived, found)
    finally:
        for action in reversed(yard.undo):
            action()
    return Result(seed, found, yard.faults, len(yard.told), time.monotonic() - began)


def _live(yard: Yard, only: str | None) -> None:
    for name in CLONES[: yard.rng.choice([2, 2, 3])]:
        yard.add_clone(name)
    for name, begin in OF_A_HISTORY.items():
        if only == name or (only is None and yard.rng.random() < OF_HISTORIES / len(OF_A_HISTORY)):
            begin(yard)
            yard.injected(name)
    for _ in range(yard.rng.randint(*ROUNDS)):
        _round(yard, only)


def _round(yard: Yard, only: str | None) -> None:
    """Some calls at once, with a fault around them now and then."""
    name = only if only in OF_A_ROUND else None
    if only is None and yard.rng.random() < OF_ROUNDS:
        name = yard.rng.choice(list(OF_A_ROUND))
    trouble = OF_A_ROUND[name].begin(yard) if name else iter(())
    is_first = not name or OF_A_ROUND[name].first
    moment = yard.rng.uniform(0.0, 0.2)
    if name:
        yard.injected(name)
    if is_first:
        next(trouble, None)
    calls = [_call(yard, only) for _ in range(yard.rng.randint(*CALLS))]
    calls, yard.pending = [*calls, *yard.pending], []
    runs = [yard.start(call) for call in calls]
    if not is_first:
        yard.later(moment, lambda: next(trouble, None))
    yard.wait(runs)
    yard.end_round()
    for _ in trouble:  # what it does after its yield; all of it where its moment did not come
        pass


def _call(yard: Yard, only: str | None) -> Call:
    call = workload.any_call(yard)
    fitting = [name for name, verbs in ONLY.items() if not verbs or call.kind in verbs]
    name = only if only in fitting else None
    if only is None and yard.rng.random() < OF_CALLS:
        name = yard.rng.choice(fitting)
    if name:
        OF_A_CALL[name](yard, call)
        call.faults.append(name)
    return call


# --- afterwards ---------------------------------------------------------------------------


def _peace(yard: Yard) -> list[Told]:
    """All faults are over: every clone syncs, writes once more (so that the tip moves), syncs again, and sweeps.

    The last sync comes when no request without an answer can arrive any more: only then is it settled what became of it.
    Locks that git processes killed in the hub's own repository have left there are its operator's to remove; those that one
    killed with its bd has left in a clone are its owner's, and `bd doctor` names them.
    """
    yard.await_late_pushes()
    yard.be_patient()
    for lock in yard.hub.rglob("*.lock"):
        lock.unlink()
    if WITH_ITS_GIT in yard.faults:
        for name in yard.clones:
            for left in ("HEAD.lock", "refs/heads/main.lock"):
                (yard.path(name) / ".git" / left).unlink(missing_ok=True)
    said: list[Told] = []

    def everywhere(make: Callable[[str], Call]) -> None:
        told = yard.run(*[make(name) for name in yard.clones])
        said.extend(told)
        del yard.told[-len(told) :]

    everywhere(lambda name: Call(name, "", "sync", ["sync", "--json"]))
    everywhere(lambda name: workload.create(yard, name, "eve"))
    everywhere(lambda name: workload.late_sync(yard, name))
    for name in yard.clones:  # one by one: a clone that has given the refs beside the branch up sweeps none
        said += yard.run(workload.sweep(yard, name))
        del yard.told[-1:]
    return said


def _looked_at(yard: Yard) -> Lived:
    peace = _peace(yard)
    env = yard.env
    tips = reading.moves(yard.hub, env)
    rewrites = set(yard.rewritten)
    backward = [
        f"from {older[:10]} to {newer[:10]}"
        for older, newer in itertools.pairwise(tips)
        if older not in rewrites
        and newer.strip("0")
        and older.strip("0")
        and not reading.is_ancestor(yard.hub, env, older, newer)
    ]
    commits = reading.history(yard.hub, "refs/heads/main", env)
    known = {commit.oid for commit in commits}
    gone = [c for old in yard.rewritten for c in reading.history(yard.hub, old, env) if c.oid not in known]
    return Lived(
        commits,
        yard.told,
        gone=gone,
        peace=peace,
        kept="\n".join(_kept(yard, name) for name in yard.clones),
        lost_clones=frozenset(yard.lost_clones),
        leftovers=[text for name in yard.clones for text in _leftovers(yard, name)],
        audit=_audit(yard, commits[0].oid if gone else None),
        backward=backward,
        intents=reading.refs(yard.hub, env, "refs/bd/intents"),
        beats=reading.refs(yard.hub, env, "refs/bd/claims"),
        is_blind=yard.is_blind,
    )


def _kept(yard: Yard, clone: str) -> str:
    """The texts of all that a clone was refused, and keeps."""
    found = reading.refs(yard.path(clone), yard.env, "refs/bd/kept")
    return "\n".join(git(yard.path(clone), "show", f"refs/bd/kept/{uid}", env=yard.env) for uid in found)


def _leftovers(yard: Yard, clone: str) -> list[str]:
    path = yard.path(clone)
    found = [f"{lock.relative_to(path)} is left in {clone}" for lock in (path / ".git").rglob("*.lock") if "bd" not in lock.parts]
    journal = path / ".git" / "bd" / "journal"
    entries = list(journal.iterdir()) if journal.is_dir() else []
    found += [f"the journal of {clone} still has {entry.name}: {_last_step(entry)}" for entry in entries]
    if git(path, "rev-parse", "HEAD", env=yard.env) != git(path, "rev-parse", "refs/bd/published", env=yard.env):
        found.append(f"the checkout of {clone} is not at the published tip")
    status = git(path, "status", "--porcelain", env=yard.env)
    return found + ([f"{clone} is not clean: {status[:200]}"] if status else [])


def _last_step(entry: Path) -> str:
    """How far an operation had come, as its entry of the journal says."""
    return (entry.read_text().splitlines() or ["nothing"])[-1][:2000]


def _audit(yard: Yard, since: str | None) -> list[str]:
    from bd.report.audit.audit import examine
    from bd.store.git.discovery import find_repo

    repo = find_repo(str(yard.hub))
    assert repo is not None
    try:
        tip = git(yard.hub, "rev-parse", "refs/heads/main", env=yard.env)
        return [f"{each.code}: {each.bead} in {each.commit[:10]}: {each.text}" for each in examine(repo, tip, since).violations]
    finally:
        repo.close()


def _write_log(yard: Yard, lived: Lived, found: list[str]) -> None:
    """What was done and said, for whoever reads it."""
    lines = [told.line() for told in sorted([*yard.told, *lived.peace], key=lambda told: told.began)]
    more = [f"#{told.number}: {told.uids} {told.err[-600:]}" for told in [*yard.told, *lived.peace] if told.code]
    history = [f"{commit.oid[:10]} {commit.subject} {' '.join(commit.uids)}" for commit in lived.commits]
    text = "\n".join([*lines, "", *more, "", *history, "", *found, ""])
    with suppress(OSError):
        (yard.folder / "log").write_text(text)
