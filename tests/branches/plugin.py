"""A pytest session that negates one condition after another, and runs for each the tests that come by it until one fails.

One session for many conditions: what is started and collected once, and the fixtures of a session, are shared.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.branches import switch

if TYPE_CHECKING:
    from collections.abc import Iterable

# A file of JSON, condition -> its tests; and the file to which lines of `condition, tab, test` are added.
TASK, FOUND = "PYTEST_BRANCH_TASK", "PYTEST_BRANCH_FOUND"
# Run as they are before anything is negated: they make what a session makes once.
FIRST = 30


class Negations:
    """The loop over the conditions; `failed` is whether the test that ran last has failed."""

    def __init__(self) -> None:
        self.failed = False
        self._killers: list[str] = []
        self._apart: dict[Path, pytest.Item] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.failed = self.failed or report.failed

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        task: dict[str, list[str]] = json.loads(Path(os.environ[TASK]).read_text(encoding="utf-8"))
        items = {item.nodeid: item for item in session.items}
        self._apart = {item.path.parent: item for item in session.items}
        for item in session.items[:FIRST]:
            self._fails(item)
        for key, tests in task.items():
            test = self._first_failing(key, (items[name] for name in self._ordered(tests) if name in items))
            if test:
                self._killers = [test, *(one for one in self._killers if one != test)]
            with Path(os.environ[FOUND]).open("a", encoding="utf-8") as file:
                file.write(f"{key}\t{test}\n")
        return True

    def _ordered(self, tests: list[str]) -> list[str]:
        """Those that failed for another condition come first: they mostly find its neighbours, too."""
        killers = [test for test in self._killers if test in tests]
        return [*killers, *(test for test in tests if test not in killers)]

    def _first_failing(self, key: str, items: Iterable[pytest.Item]) -> str:
        for item in items:
            switch.negate(key)
            try:
                fails = self._fails(item)
            finally:
                switch.negate("")
            if fails and not self._fails(item):  # and it is this condition that makes it fail
                return item.nodeid
        return ""

    def _fails(self, item: pytest.Item) -> bool:
        """Run it with fixtures of its own: before a test of another folder only those of the session stay."""
        self.failed = False
        other = next(other for folder, other in self._apart.items() if folder != item.path.parent)
        item.ihook.pytest_runtest_protocol(item=item, nextitem=other)
        return self.failed


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Negations(), "negations")
