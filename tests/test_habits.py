"""What the project keeps to besides its code: bounds of dependencies, pinned actions, help of make, released versions."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

import bd
from tests.lowest import CONSTRAINTS, lowest
from tests.release import problems
from tests.versions import WHEELS

ROOT = Path(__file__).resolve().parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def test_the_lowest_versions_are_those_of_pyproject() -> None:
    assert CONSTRAINTS.read_text(encoding="utf-8") == lowest(), "type python -m tests.lowest > tests/lowest.txt"


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_every_action_is_pinned_by_a_full_commit_and_names_its_version(path: Path) -> None:
    uses = re.findall(r"uses: *(.*)", path.read_text(encoding="utf-8"))
    assert uses
    assert [use for use in uses if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", use)] == []


def test_an_action_has_one_version_everywhere() -> None:
    found = {use for path in WORKFLOWS for use in re.findall(r"uses: *(.*)", path.read_text(encoding="utf-8"))}
    assert len(found) == len({use.partition("@")[0] for use in found}), sorted(found)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_may_only_read_unless_a_job_says_otherwise(path: Path) -> None:
    assert re.search(r"^permissions:\n  contents: read\n\n", path.read_text(encoding="utf-8"), re.MULTILINE)


def test_make_help_names_every_target() -> None:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    phony = re.search(r"^\.PHONY: (.*)$", text, re.MULTILINE)
    assert phony
    out = subprocess.run(["make", "--no-print-directory", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert {line.split()[0] for line in out.splitlines()} == set(phony[1].split())


def test_every_released_version_has_its_wheel() -> None:
    headings = re.findall(r"^## \[(\d+\.\d+\.\d+)\]", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert headings
    assert set(headings) - {bd.__version__} <= set(WHEELS)


@pytest.mark.parametrize(
    ("tag", "changelog", "words"),
    [
        (f"v{bd.__version__}", f"## [{bd.__version__}] – 2026-01-01\n\n- A line.\n", []),
        ("v0.0.1", f"## [{bd.__version__}] – 2026-01-01\n\n- A line.\n", ["is not", "no section"]),
        (f"v{bd.__version__}", "## [Unreleased]\n\n- A line.\n", ["no section"]),
        (f"v{bd.__version__}", f"## [{bd.__version__}] – 2026-01-01\n\n## [0.0.1]\n\n- A line.\n", ["no section"]),
    ],
)
def test_a_tag_is_released_only_with_its_version_and_its_changes(tag: str, changelog: str, words: list[str]) -> None:
    found = problems(tag, changelog)
    assert len(found) == len(words)
    assert all(word in one for word, one in zip(words, found, strict=True))


def test_the_project_has_addresses_and_authors() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["authors"]
    assert {"Homepage", "Repository", "Changelog", "Issues"} <= project["urls"].keys()
