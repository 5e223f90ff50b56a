"""The checked-in list: condition -> the test that fails when it is negated."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tests.branches.conditions import conditions

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT = Path(__file__).parents[2]
PATH = Path(__file__).with_name("branches.txt")
MODULES = (
    "bd/store/transaction/transitions.py",
    "bd/store/transaction/states.py",
    "bd/store/transaction/recovery.py",
    "bd/store/transaction/findings.py",
    "bd/store/transaction/driver.py",
    "bd/store/transaction/batch.py",
)
_ARROW = "  ->  "


def keys() -> list[str]:
    """All conditions that there are, under the names that they have in the list."""
    return [f"{module} | {one.key}" for module in MODULES for one in conditions((ROOT / module).read_text(encoding="utf-8"))]


def listed() -> dict[str, str]:
    """The list as it is checked in."""
    lines = PATH.read_text(encoding="utf-8").splitlines() if PATH.exists() else []
    pairs = (line.rpartition(_ARROW) for line in lines if line and not line.startswith("#"))
    return {key: test for key, _, test in pairs}


def write(known: Mapping[str, str]) -> None:
    """Write the list, in the order of the modules."""
    head = "# Each condition of the modules that decide what becomes of a write, and the test that fails when it is negated.\n"
    lines = (f"{key}{_ARROW}{known[key]}\n" for key in keys() if key in known)
    PATH.write_text(head + "".join(lines), encoding="utf-8")
