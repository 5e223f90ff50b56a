"""One write without contention, against the same fetch, edit, add, commit and push typed as git commands."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING

from bench.hubs import AGENT, LARGE, MIDDLE, SMALL
from bench.rows import Note, Ratio
from bench.stopwatch import Program, interleaved

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from bench.hubs import Hub, Shape
    from bench.machine import Machine
    from bench.rows import Row
    from bench.stopwatch import Times

TITLE = "one write without contention, against git commands typed"
FAR_TITLE = "a claim with a hub 50 ms away (a stand-in for ssh that waits)"
# Of a claim, by the size of the hub.
LIMITS = {SMALL.label: 1.4, MIDDLE.label: 1.4, LARGE.label: 1.2}
GROWTH_LIMIT = 1.3
_TYPED = Path(__file__).with_name("typed")
_FAR = Path(__file__).with_name("far.sh")


def _clone(machine: Machine, hub: Hub, *, far: bool, by_bd: bool = False) -> Path:
    folder = hub.own_clone(machine, by_bd=by_bd)
    if far:
        machine.run(["git", "remote", "set-url", "origin", f"ssh://far{folder.with_name('hub.git')}"], cwd=folder)
    return folder


def typed(machine: Machine, hub: Hub, verb: str, *more: str, far: bool = False, by_bd: bool = False) -> Program:
    """A write typed as git commands, in a clone of its own; `more` is what its script is told besides."""
    folder = _clone(machine, hub, far=far, by_bd=by_bd)
    words = iter(hub.open_ids) if verb != "create" else (str(number) for number in itertools.count(1))
    return Program(lambda: ["sh", str(_TYPED / f"{verb}.sh"), next(words), *more], folder)


def ours(machine: Machine, hub: Hub, verb: str, rounds: int, *, far: bool = False) -> Program:
    """The same write by bd, in a clone of its own."""
    folder = _clone(machine, hub, far=far)
    machine.run([*machine.bd, "count"], cwd=folder)
    if verb == "close":
        machine.run([*machine.bd, "claim", *hub.open_ids[: rounds + 2], "--agent", AGENT], cwd=folder)
    return Program(argv_of(machine, verb, iter(hub.open_ids)), folder)


def _after_news(machine: Machine, program: Program) -> Program:
    """The same where each time somebody else has written to the hub meanwhile, and bd has not looked just now."""
    folder = program.cwd
    assert folder is not None
    other = folder.with_name("other")
    machine.run(["git", "clone", "--quiet", str(folder.with_name("hub.git")), str(other)])
    numbers = itertools.count(1)

    def write() -> None:
        machine.run(["git", "pull", "--quiet", "--ff-only"], cwd=other)
        machine.run(["sh", str(_TYPED / "create.sh"), str(next(numbers))], cwd=other)
        (folder / ".git" / "bd" / "looked").unlink(missing_ok=True)

    return program._replace(before=write)


def argv_of(machine: Machine, verb: str, ids: Iterator[str]) -> Callable[[], Sequence[str]]:
    """What gives bd's words for a write, the next bead each time."""
    forms: dict[str, Callable[[], Sequence[str]]] = {
        "claim": lambda: [*machine.bd, "claim", next(ids), "--agent", AGENT],
        "claim --next": lambda: [*machine.bd, "claim", "--next", "--agent", AGENT],
        "close": lambda: [*machine.bd, "close", next(ids), "--reason", "done", "--agent", AGENT],
        "create": lambda: [*machine.bd, "create", "A bead made in a measurement", "--agent", AGENT],
    }
    return forms[verb]


def measure(machine: Machine) -> list[Row]:
    """Claim, create and close at three sizes, all sizes in the same rounds; then how each grows."""
    shapes = machine.shapes(SMALL, MIDDLE, LARGE)
    rounds = machine.rounds(15)
    rows: list[Row] = []
    growth: list[Row] = []
    for verb in ("claim", "create", "close"):
        programs: dict[str, Program] = {}
        for shape in shapes:
            hub = machine.hub(shape)
            programs[f"typed {shape.label}"] = typed(machine, hub, verb)
            programs[f"bd {shape.label}"] = ours(machine, hub, verb, rounds)
            if verb == "claim":
                programs[f"next {shape.label}"] = ours(machine, hub, "claim --next", rounds)
        found = interleaved(machine, programs, rounds=rounds, warm=2)
        rows += _compared(found, verb, [shape.label for shape in shapes])
        growth += _grown(found, verb, shapes[0].label, shapes[-1].label)
    return [*rows, *_with_news(machine, shapes), *growth]


def _with_news(machine: Machine, shapes: list[Shape]) -> list[Row]:
    """A claim that finds what others have written meanwhile, as most of a fleet's do."""
    rounds = machine.rounds(10)
    programs: dict[str, Program] = {}
    for shape in shapes:
        hub = machine.hub(shape)
        programs[f"typed {shape.label}"] = _after_news(machine, typed(machine, hub, "claim", "merge"))
        programs[f"bd {shape.label}"] = _after_news(machine, ours(machine, hub, "claim", rounds))
    found = interleaved(machine, programs, rounds=rounds, warm=2)
    return [
        Ratio(f"{label}: claim ID, after news", found[f"bd {label}"], found[f"typed {label}"], LIMITS[label], "typed")
        for label in (shape.label for shape in shapes)
    ]


def _compared(found: dict[str, Times], verb: str, labels: list[str]) -> list[Row]:
    rows: list[Row] = []
    for label in labels:
        typed = found[f"typed {label}"]
        limit = LIMITS[label] if verb == "claim" else None
        rows.append(
            Ratio(f"{label}: {verb} ID" if verb != "create" else f"{label}: create", found[f"bd {label}"], typed, limit, "typed")
        )
        if verb == "claim":
            rows.append(Ratio(f"{label}: claim --next", found[f"next {label}"], typed, limit, "typed"))
    return rows


def _grown(found: dict[str, Times], verb: str, small: str, large: str) -> list[Row]:
    """A write in the large hub against one in the small one; and what git's own commands grow by."""
    limit = GROWTH_LIMIT if verb == "claim" else None
    return [
        Ratio(f"bd {verb}: {large} to {small}", found[f"bd {large}"], found[f"bd {small}"], limit, "small"),
        Ratio(f"  typed {verb}: {large} to {small}", found[f"typed {large}"], found[f"typed {small}"], None, "small"),
    ]


def far_hub(machine: Machine, seconds: float) -> dict[str, str]:
    """The environment in which each connection waits: by a command that is called `ssh`, as git and bd go by its name."""
    command = machine.folder / "far" / "ssh"
    if not command.exists():
        command.parent.mkdir(exist_ok=True)
        command.symlink_to(_FAR)
    return {"GIT_SSH_COMMAND": str(command), "BENCH_FAR_S": str(seconds)}


def measure_far(machine: Machine) -> list[Row]:
    """A claim where the way to the hub counts, as it does in use."""
    machine.environment.update(far_hub(machine, 0.05))
    rounds = machine.rounds(10)
    rows: list[Row] = [Note("Each connection waits 50 ms; a real ssh hand-shake costs several round trips more on both sides.")]
    try:
        for shape in machine.shapes(SMALL, LARGE):
            hub = machine.hub(shape)
            programs = {
                "typed": typed(machine, hub, "claim", far=True),
                "bd": ours(machine, hub, "claim", rounds, far=True),
            }
            found = interleaved(machine, programs, rounds=rounds)
            rows.append(Ratio(f"{shape.label}: claim ID, far hub", found["bd"], found["typed"], None, "typed"))
    finally:
        del machine.environment["GIT_SSH_COMMAND"]
    return rows
