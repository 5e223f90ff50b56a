"""`python -m bench`: run the benchmarks, print the table, write bench/results/<date>.json."""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from bench import (
    api,
    baseline,
    breakdown,
    cache,
    contention,
    crowd,
    cycle,
    dags,
    day,
    endurance,
    fairness,
    fuzz,
    graphs,
    growth,
    long,
    memory,
    page,
    past,
    pools,
    races,
    reads,
    serve,
    simulated,
    simulation,
    startup,
    tools,
    torture,
    waking,
    workspaces,
    writes,
)
from bench.machine import Machine
from bench.rows import Section, missed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bench.rows import Row

HERE = Path(__file__).parent
BENCHES: dict[str, tuple[str, Callable[[Machine], list[Row]]]] = {
    "writes": (writes.TITLE, writes.measure),
    "far": (writes.FAR_TITLE, writes.measure_far),
    "reads": (reads.TITLE, reads.measure),
    "output": (reads.OUTPUT_TITLE, reads.measure_output),
    "startup": (startup.TITLE, startup.measure),
    "cache": (cache.TITLE, cache.measure),
    "memory": (memory.TITLE, memory.measure),
    "cycle": (cycle.TITLE, cycle.measure),
    "endurance": (endurance.TITLE, endurance.measure),
    "dags": (dags.TITLE, dags.measure),
    "graphs": (graphs.TITLE, graphs.measure),
    "contention": (contention.TITLE, contention.measure),
    "fairness": (fairness.TITLE, fairness.measure),
    "crowd": (crowd.TITLE, crowd.measure),
    "past": (past.TITLE, past.measure),
    "page": (page.TITLE, page.measure),
    "serve": (serve.TITLE, serve.measure),
    "api": (api.TITLE, api.measure),
    "growth": (growth.TITLE, growth.measure),
    "long": (long.TITLE, long.measure),
    "fuzz": (fuzz.TITLE, fuzz.measure),
    "pools": (pools.TITLE, pools.measure),
    "simulation": (simulation.TITLE, simulation.measure),
    "simulated": (simulated.TITLE, simulated.measure),
    "day": (day.TITLE, day.measure),
    "workspaces": (workspaces.TITLE, workspaces.measure),
    "waking": (waking.TITLE, waking.measure),
    "races": (races.TITLE, races.measure),
    "torture": (torture.TITLE, torture.measure),
    "tools": (tools.TITLE, tools.measure),
    "breakdown": (breakdown.TITLE, breakdown.measure),
}


def _arguments(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--only", action="append", metavar="NAME", help="run this benchmark (repeatable)")
    parser.add_argument("--quick", action="store_true", help="small hubs and few runs: a smoke test, no measurement")
    parser.add_argument("--write", action="store_true", help="also write bench/RESULTS.md")
    parser.add_argument("--list", action="store_true", help="name the benchmarks")
    parser.add_argument(
        "--gate", action="store_true", help="hold a few ratios against bench/baseline.json; exit 1 where one is worse"
    )
    parser.add_argument("--set", action="store_true", help="with --gate: write bench/baseline.json anew")
    parser.add_argument(
        "--old",
        metavar="CHECKOUT",
        type=Path,
        help="also hold bd against that of another checkout, of the same format, in the same rounds",
    )
    parser.add_argument("--keep", action="store_true", help="leave the scratch folder for a look")
    found = parser.parse_args(words)
    unknown = set(found.only or ()) - set(BENCHES)
    if unknown:
        parser.error(f"no benchmark {', '.join(sorted(unknown))}; there are {', '.join(BENCHES)}")
    return found


def _circumstances(machine: Machine) -> dict[str, object]:
    """What the ratios were taken on; never part of a claim."""
    git = subprocess.run(["git", "--version"], capture_output=True, text=True, check=True).stdout.split()
    return {
        "at": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "python": platform.python_version(),
        "git": git[2],
        "system": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 2),
        "bd": machine.how,
        "quick": machine.quick,
    }


def _heading(facts: dict[str, object]) -> list[str]:
    return [
        f"bd is {facts['bd']}; Python {facts['python']}, git {facts['git']}, {facts['system']},",
        f"{facts['cores']} cores, load {facts['load']} at the start.",
        "Whole processes, interleaved; milliseconds are the minimum of each side;",
        "x is ours by theirs: of the minima, and of the medians. 10,000/3,000: 3,000",
        "of 10,000 beads in the active folder, the rest archived.",
        *(["A smoke test: too few runs to mean anything."] if facts["quick"] else []),
    ]


def main(words: Sequence[str] | None = None) -> int:
    """Run what was asked for. The exit code is 0 whatever the ratios are: they are told, not asserted, but by the gate."""
    asked = _arguments(words)
    if asked.list:
        for name, (title, _) in BENCHES.items():
            print(f"{name:<10} {title}")
        return 0
    machine = Machine(quick=asked.quick)
    if asked.gate or asked.old:
        try:
            return baseline.hold(machine, asked.old, anew=asked.set)
        finally:
            machine.remove()
    facts = _circumstances(machine)
    print("\n".join(_heading(facts)))
    sections: list[Section] = []
    try:
        for name in asked.only or BENCHES:
            title, measure = BENCHES[name]
            begun = time.perf_counter()
            section = Section(name, title, measure(machine))
            sections.append(section)
            print("\n".join(section.lines()), flush=True)
            print(f"({name} took {time.perf_counter() - begun:.0f} s)", file=sys.stderr)
    finally:
        if asked.keep:
            print(f"scratch folder: {machine.folder}", file=sys.stderr)
        else:
            machine.remove()
    late = missed(sections)
    print(f"\nTargets missed: {len(late)}" + "".join(f"\n  {what}" for what in late))
    _write(facts, sections, asked)
    return 0


def _write(facts: dict[str, object], sections: list[Section], asked: argparse.Namespace) -> None:
    folder = HERE / "results"
    folder.mkdir(exist_ok=True)
    path = folder / f"{str(facts['at']).replace(':', '')}.json"
    path.write_text(json.dumps({**facts, "sections": [section.as_json() for section in sections]}, indent=2) + "\n")
    print(f"written: {path}", file=sys.stderr)
    if asked.write:
        lines = [
            "# Speed",
            "",
            "Made by `python -m bench --write`. Ratios of one run on one machine; see bench/__init__.py.",
            "",
            "```",
        ]
        lines += _heading(facts)
        for section in sections:
            lines += section.lines()
        (HERE / "RESULTS.md").write_text("\n".join([*lines, "```", ""]))


if __name__ == "__main__":
    sys.exit(main())
