"""Negate each condition, run the tests that come by it until one fails, and keep its name in branches.txt."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from pathlib import Path
from typing import IO, TYPE_CHECKING

from tests.branches.conditions import wrapped
from tests.branches.listed import MODULES, keys, listed, write
from tests.branches.plugin import FOUND, TASK
from tests.branches.switch import SEEN

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

ROOT = Path(__file__).parents[2]
TESTS = (
    "tests/contract",
    "tests/store/test_transitions.py",
    "tests/store/test_member.py",
    "tests/histories",
    "tests/race",
    "tests/hub",
)
SESSIONS = 2
# So many tests are tried for one condition: what these do not notice hardly any other does.
LIMIT = 120
_FAILED = re.compile(rb"^(?:FAILED|ERROR) (tests/\S+\.py::.*?)(?: - .*)?$", re.MULTILINE)
_TOOK = re.compile(rb"^([0-9.]+)s call +(tests/.*)$", re.MULTILINE)


class Tree:
    """A copy of the repository in which conditions can be negated."""

    def __init__(self, folder: Path, tests: Sequence[str]) -> None:
        self._folder = folder
        self._tests = tests
        unneeded = shutil.ignore_patterns(".git", ".venv", "site", "__pycache__", ".*_cache", ".hypothesis", ".clients")
        shutil.copytree(ROOT, folder, ignore=unneeded)
        for module in MODULES:
            path = folder / module
            path.write_text(wrapped(path.read_text(encoding="utf-8"), module), encoding="utf-8")

    def seen(self) -> dict[str, list[str]]:
        """For each condition the tests that come by it: first those that come by many in little time."""
        file = self._folder / "seen"
        words = ["-n", "2", "--durations=0", "--durations-min=0", *self._tests]
        told, _ = self._start(words, subprocess.PIPE, **{SEEN: str(file)}).communicate()
        took = {name.decode(): float(seconds) for seconds, name in _TOOK.findall(told)}
        failed = {name.decode() for name in _FAILED.findall(told)}
        if failed:
            print(f"not tried, as they fail already: {', '.join(sorted(failed))}", flush=True)
        found: dict[str, set[str]] = defaultdict(set)
        for line in file.read_text(encoding="utf-8").splitlines():
            key, _, test = line.partition("\t")
            found[key].add(test)
        passed = Counter(test for tests in found.values() for test in tests)

        def rank(test: str) -> tuple[float, str]:
            return -passed[test] / (0.3 + took.get(test, 0.0)), test

        return {key: sorted(tests - failed, key=rank)[:LIMIT] for key, tests in found.items()}

    def negate(self, task: dict[str, list[str]], tell: Callable[[str, str], None]) -> None:
        """For each condition find the first of its tests that fails where it is negated, in two sessions side by side."""
        found = [self._folder / f"found-{number}" for number in range(SESSIONS)]
        running = []
        for number, file in enumerate(found):
            share = dict(list(task.items())[number::SESSIONS])
            (self._folder / f"task-{number}").write_text(json.dumps(share), encoding="utf-8")
            file.touch()
            more = {TASK: str(self._folder / f"task-{number}"), FOUND: str(file)}
            with (self._folder / f"output-{number}").open("wb") as output:
                running.append(self._start(["-p", "tests.branches.plugin", "--timeout=60", *self._tests], output, **more))
        read = [0] * SESSIONS
        while True:
            alive = [process for process in running if process.poll() is None]
            for number, file in enumerate(found):
                lines = file.read_text(encoding="utf-8").splitlines()
                for line in lines[read[number] :]:
                    key, _, test = line.partition("\t")
                    tell(key, test)
                read[number] = len(lines)
            if not alive:
                return
            with contextlib.suppress(subprocess.TimeoutExpired):
                alive[0].wait(timeout=2)

    def _start(self, words: list[str], output: IO[bytes] | int, **more: str) -> subprocess.Popen[bytes]:
        env = {**os.environ, "PYTHONPATH": str(self._folder), "PYTHONDONTWRITEBYTECODE": "", **more}
        words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *words]
        return subprocess.Popen(words, cwd=self._folder, env=env, stdout=output, stderr=subprocess.STDOUT)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.branches", description=__doc__)
    parser.add_argument("--again", action="store_true", help="also those that the list has")
    parser.add_argument("tests", nargs="*", default=TESTS, help="only these; those of tests/contract take the least time")
    asked = parser.parse_args()
    known = {} if asked.again else listed()
    missing = [key for key in keys() if not known.get(key)]
    if not missing:
        return 0
    with tempfile.TemporaryDirectory(prefix="bd-branches-") as place:
        tree = Tree(Path(place) / "tree", asked.tests)
        seen = tree.seen()

        def tell(key: str, test: str) -> None:
            if not test and known.get(key):
                return
            known[key] = test
            print(f"{key}\n    {test or f'NO TEST FAILS, of {len(seen.get(key, []))} that come by'}", flush=True)
            write(known)

        tree.negate({key: seen.get(key, []) for key in missing}, tell)
    alive = [key for key in keys() if not known.get(key)]
    print(f"{len(alive)} of {len(known)} conditions without a test")
    return 1 if alive else 0


if __name__ == "__main__":
    sys.exit(main())
