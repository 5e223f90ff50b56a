"""`python -m tests.torture --seed 7 --runs 100`: run histories, a few at a time; exit 1 when a rule was broken."""

from __future__ import annotations

import argparse
import json
import os
import pkgutil
import shutil
import sys
import tempfile
import traceback
from collections import Counter
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from tests.torture import workload
from tests.torture.faults import names
from tests.torture.history import Result, run
from tests.torture.yard import sealed, template

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


def main(words: Sequence[str] | None = None) -> int:
    asked = _arguments(words)
    _load_bd()
    folder = Path(asked.folder or tempfile.mkdtemp(prefix="bd-torture-"))
    folder.mkdir(parents=True, exist_ok=True)
    os.environ.update(sealed(folder / "home"))
    model = folder / "model"
    model.mkdir()
    template(model, workload.SEEDED, workload.AGENTS)
    seeds = [asked.seed] * asked.repeat if asked.repeat else range(asked.seed, asked.seed + asked.runs)
    results = []
    for result in _all(list(seeds), folder, model, asked):
        results.append(result)
        _tell(result, folder, asked)
    _summary(results, asked)
    if not asked.keep and not any(result.violations for result in results):
        shutil.rmtree(folder, ignore_errors=True)
    return 1 if any(result.violations for result in results) else 0


def _arguments(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.torture", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="the first history's seed; the others count on from it")
    parser.add_argument("--runs", type=int, default=20, help="how many histories")
    parser.add_argument("--repeat", type=int, metavar="N", help="the one seed, N times")
    parser.add_argument("--fault", choices=names(), metavar="NAME", help="this fault again and again, and no other")
    parser.add_argument("--list", action="store_true", help="name the faults")
    parser.add_argument("--jobs", type=int, default=min(4, os.cpu_count() or 1), help="histories at a time")
    parser.add_argument("--keep", action="store_true", help="leave every history's folder, not only those of failures")
    parser.add_argument("--folder", help="where; a temporary one when left out")
    parser.add_argument("--json", action="store_true", help="the result as one JSON document")
    asked = parser.parse_args(words)
    if asked.list:
        print("\n".join(names()))
        sys.exit(0)
    return asked


def _load_bd() -> None:
    """Import all of bd, so that what is forked has it."""
    import encodings.utf_8_sig  # noqa: F401  who may read nothing can't import it later
    import sqlite3  # noqa: F401

    import bd

    for module in pkgutil.walk_packages(bd.__path__, "bd."):
        if not module.name.endswith("__main__") and ".examples" not in module.name:
            import_module(module.name)


def _all(seeds: list[int], folder: Path, model: Path, asked: argparse.Namespace) -> Iterator[Result]:
    """Each history in a process of its own, `--jobs` of them at a time, in the order in which they end."""
    waiting = list(enumerate(seeds))
    running: dict[int, tuple[int, Path]] = {}
    while waiting or running:
        while waiting and len(running) < asked.jobs:
            number, seed = waiting.pop(0)
            place = folder / f"{seed}.{number}"
            place.mkdir()
            sys.stdout.flush()
            pid = os.fork()
            if not pid:
                _one(seed, place, model, asked.fault)
            running[pid] = (seed, place)
        pid, _ = os.wait()
        if pid in running:
            seed, place = running.pop(pid)
            yield _result_in(seed, place, asked)


def _one(seed: int, place: Path, model: Path, fault: str | None) -> None:
    """The process of a history: never returns."""
    try:
        result = run(seed, place, model, fault)
        (place / "result").write_text(json.dumps(result))
    except BaseException:
        (place / "result").write_text(json.dumps(Result(seed, [f"the harness: {traceback.format_exc()}"], [], 0, 0.0)))
    finally:
        os._exit(0)


def _result_in(seed: int, place: Path, asked: argparse.Namespace) -> Result:
    file = place / "result"
    result = Result(*json.loads(file.read_text())) if file.exists() else Result(seed, ["the harness died"], [], 0, 0.0)
    if not result.violations and not asked.keep:
        shutil.rmtree(place, ignore_errors=True)
    return result


def _tell(result: Result, folder: Path, asked: argparse.Namespace) -> None:
    if not result.violations or asked.json:
        return
    print(f"seed {result.seed}: {len(result.violations)} violations, {result.calls} calls, faults: {', '.join(result.faults)}")
    print("".join(f"  {text}\n" for text in result.violations), end="")
    fault = f' --fault "{asked.fault}"' if asked.fault else ""
    print(
        f"  again: python -m tests.torture --seed {result.seed} --repeat 10{fault}    kept in {folder}/{result.seed}.*",
        flush=True,
    )


def _summary(results: list[Result], asked: argparse.Namespace) -> None:
    counted = Counter(name for result in results for name in result.faults)
    failed = [result for result in results if result.violations]
    if asked.json:
        document = {
            "histories": len(results),
            "calls": sum(result.calls for result in results),
            "faults": {name: counted[name] for name in names()},
            "violations": {result.seed: result.violations for result in failed},
        }
        print(json.dumps(document, indent=2))
        return
    for name in names():
        if counted[name]:
            print(f"{counted[name]:6}  {name}")
    seconds = sum(result.seconds for result in results) / max(1, len(results))
    print(
        f"{len(results)} histories, {sum(result.calls for result in results)} calls, {sum(counted.values())} faults, "
        f"{len(failed)} with a violation; {seconds:.1f} s each"
    )


if __name__ == "__main__":
    sys.exit(main())
