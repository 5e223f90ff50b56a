"""Two versions of bd on one clone: each answers by its own rules, and leaves the other's cache alone."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import bd
from bd.cli.derivations import DERIVATIONS
from bd.store.cache.fingerprint import fingerprint, of_sources

if TYPE_CHECKING:
    from tests.running import Clone

pytestmark = pytest.mark.one_in(4)

PACKAGE = Path(bd.__file__).parent
# What a release may change, and a place in the sources that changes it.
CHANGES = {
    "a rule": ("policy/readiness.py", "NOT_WORK = frozenset({", 'NOT_WORK = frozenset({"task", '),
    "the JSON of a bead": ("compat/bead_json.py", 'shown["comment_count"] = len(bead.comments)', 'shown["comment_count"] = 1000'),
    "the line of a bead": ("cli/bead_lines.py", '"""', '"""Another. '),
    "what a line is shown with": ("cli/output.py", '"""', '"""Another. '),
    "a field": ("core/schema.py", '"""', '"""Another. '),
    "the reader of YAML": ("store/yaml/plain_reader.py", '"""', '"""Another. '),
}


class Version:
    """A copy of the package that runs as a version of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        shutil.copytree(PACKAGE, folder / "bd", ignore=shutil.ignore_patterns("__pycache__"))

    def change(self, module: str, old: str, new: str) -> None:
        path = self.folder / "bd" / module
        text = path.read_text(encoding="utf-8")
        assert old in text, f"{module} has no {old!r} any more: choose another change"
        stat = path.stat()
        path.write_text(text.replace(old, new, 1), encoding="utf-8")
        os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))  # an installer may give all files one time

    def ask(self, clone: Clone, *args: str) -> Any:
        env = {**os.environ, "PYTHONPATH": str(self.folder), "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run([sys.executable, "-m", "bd", *args, "--json"], cwd=clone.path, env=env, capture_output=True)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


@pytest.mark.parametrize("what", CHANGES)
def test_code_that_fills_the_cache_is_in_its_fingerprint(what: str, tmp_path: Path) -> None:
    version = Version(tmp_path / "v")
    code = [part for derivation in DERIVATIONS for part in derivation.code]
    before = of_sources(str(version.folder / "bd"), code)
    assert before == of_sources(str(PACKAGE), code) == fingerprint(DERIVATIONS)
    version.change(*CHANGES[what])
    assert of_sources(str(version.folder / "bd"), code) != before


@pytest.mark.slow
def test_each_version_answers_by_its_own_rules_whatever_the_other_cached(local_hub: Clone, tmp_path: Path) -> None:
    for number in range(3):
        local_hub.here("create", f"Bead {number}", "--id", f"hub-{number}")
        local_hub.here("comment", f"hub-{number}", "seen")
    old, new = Version(tmp_path / "old"), Version(tmp_path / "new")
    new.change(*CHANGES["a rule"])
    new.change(*CHANGES["the JSON of a bead"])
    for _ in range(2):  # the second time from warm caches
        assert len(old.ask(local_hub, "ready")) == 3
        assert new.ask(local_hub, "ready") == []
        assert {bead["comment_count"] for bead in old.ask(local_hub, "list", "--all")} == {1}
        assert {bead["comment_count"] for bead in new.ask(local_hub, "list", "--all")} == {1000}


def test_two_versions_leave_each_others_cache_alone(local_hub: Clone, tmp_path: Path) -> None:
    old, new = Version(tmp_path / "old"), Version(tmp_path / "new")
    new.change(*CHANGES["a rule"])
    new.change(*CHANGES["the reader of YAML"])
    folder = local_hub.path / ".git" / "bd"
    for version in (old, new):
        version.ask(local_hub, "list", "--all")
    files = {path.name: path.stat().st_ino for pattern in ("cache-*.db", "place-*") for path in folder.glob(pattern)}
    assert len(files) >= 4
    local_hub.here("create", "Another")
    for version in (old, new, old, new):
        assert len(version.ask(local_hub, "list", "--all")) == 1
    assert {name: (folder / name).stat().st_ino for name in files} == files


def test_caches_that_no_version_uses_any_more_are_removed(local_hub: Clone) -> None:
    local_hub.here("list")
    folder = local_hub.path / ".git" / "bd"
    (used,) = folder.glob("cache-*.db")
    at_s = used.stat().st_mtime
    (place,) = folder.glob("place-*")
    names = ("cache.db", 20), ("cache-0123456789abcdef.db", 15), ("cache-fedcba9876543210.db", 13)
    places = ("place", 20), ("place-0123456789abcdef", 15), ("place-fedcba9876543210", 13)
    for name, age_days in (*names, *places):
        (folder / name).write_bytes(b"")
        os.utime(folder / name, (at_s - age_days * 86400, at_s - age_days * 86400))
    os.utime(used, (at_s - 2 * 86400, at_s - 2 * 86400))
    os.utime(place, (at_s - 20 * 86400, at_s - 20 * 86400))  # it is only read, however often
    assert local_hub.here("count").out.strip() == "0"
    assert {path.name for path in folder.glob("cache*.db")} == {used.name, "cache-fedcba9876543210.db"}
    assert {path.name for path in folder.glob("place*")} == {place.name, "place-fedcba9876543210"}
