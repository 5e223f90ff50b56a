"""What a command loads, seen in sys.modules: what is not needed is not imported, whatever the machine's speed."""

from __future__ import annotations

import ast
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from bd.store.hub_location import locate
from bd.store.local.last_fetch import LastFetch
from bd.store.local.state import LocalFiles
from tests.runtime import RUNTIME, open_clone

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from tests.running import Clone

pytestmark = pytest.mark.one_in(11)

HEAVY = ("git", "ruamel", "rich", "ulid", "filelock")
# Of the standard library: each of them costs as much as a read's own work.
SLOW = ("tempfile", "dataclasses", "urllib", "email", "asyncio")

RUN = """
import sys
from bd.cli.main import main
code = main(sys.argv[1:])
sys.stdout.flush()
print([code, sorted(sys.modules)], file=sys.stderr)
"""


def loaded(arguments: Sequence[str], folder: Path) -> tuple[int, set[str], set[str]]:
    """The exit code of a command line in a process of its own, the packages it loaded, and bd's own modules."""
    result = subprocess.run(
        [sys.executable, "-c", RUN, *arguments], cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL
    )
    code, names = ast.literal_eval(result.stderr.splitlines()[-1])
    return code, {name.partition(".")[0] for name in names}, {name for name in names if name.startswith("bd.")}


@pytest.fixture
def warm(clone: Callable[[str], Clone]) -> Clone:
    """A clone with beads and a warm cache."""
    alice = clone("alice")
    alice.here("q", "One", "--labels", "a")
    alice.here("create", "Two", "--id", "hub-two", "--description", "Long\ntext.")
    alice.here("list")
    return alice


ALWAYS = [
    ["--version"],
    ["--help"],
    ["-h"],
    ["version"],
    ["nonsense"],
    ["list", "--help"],
    ["claim", "--help"],
    ["create", "--help"],
    ["list", "--nonsense"],
]


@pytest.mark.parametrize("arguments", ALWAYS, ids=" ".join)
def test_help_and_usage_errors_load_nothing_heavy(arguments: list[str], tmp_path: Path) -> None:
    code, packages, _ = loaded(arguments, tmp_path)
    assert code == (2 if any("nonsense" in word for word in arguments) else 0)
    assert not packages & {*HEAVY}


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["list", "--help"]], ids=" ".join)
def test_help_imports_no_other_command(arguments: list[str], tmp_path: Path) -> None:
    _, _, modules = loaded(arguments, tmp_path)
    commands = {name for name in modules if name.startswith("bd.cli.commands.")}
    assert commands <= {f"bd.cli.commands.{name}" for name in ("list", "bead_list", "version", "overview")}


READS = [
    ["ready"],
    ["ready", "--json"],
    ["ready", "--agent", "coder", "--no-fetch"],
    ["list"],
    ["list", "--json", "--status", "open"],
    ["show", "hub-two"],
    ["show", "hub-two", "--json"],
    ["count", "--by-status"],
    ["version"],
    ["why", "hub-two"],
    ["search", "two"],
    ["blocked"],
    ["whoami"],
    ["stats"],
    ["dep", "list", "hub-two"],
    [],
]


@pytest.mark.one_in(44)
@pytest.mark.parametrize("arguments", READS, ids=lambda words: " ".join(words) or "bd alone")
def test_a_read_from_a_warm_cache_loads_nothing_heavy(arguments: list[str], warm: Clone) -> None:
    code, packages, modules = loaded(arguments, warm.path)
    assert code == 0
    assert not packages & set(HEAVY)
    assert not packages & {*SLOW, "click", "inspect"}, "its plain form is read without click"
    assert "bd.store.yaml.codec" not in modules, "a warm cache reads no YAML"
    assert "bd.store.transaction.driver" not in modules, "a read writes nothing"


@pytest.mark.parametrize("which", ["hub-two", "--next"])
def test_a_claim_loads_no_library(which: str, warm: Clone) -> None:
    LastFetch(LocalFiles(str(warm.path / ".git" / "bd"), RUNTIME), RUNTIME).now()  # who has just looked pushes first
    code, packages, modules = loaded(["claim", which, "--agent", "coder"], warm.path)
    assert code == 0
    assert not packages & {*HEAVY, *SLOW, "click", "typing", "threading"}
    assert "bd.store.yaml.codec" not in modules, "a warm cache reads no YAML"


def test_a_claim_that_looks_first_loads_no_library_either(warm: Clone) -> None:
    """Also where the hub says that its server takes refs beside the branch, and agents have said something there."""
    warm.bd("agent", "status")
    folder = warm.path / ".git" / "bd"
    (folder / "looked").unlink(missing_ok=True)
    (folder / "heard.json").write_text('{"at": "2026-01-28T10:00:00Z", "agents": {}}')
    assert open_clone(locate(str(warm.path))).sides.verdict() == "works"
    code, packages, _ = loaded(["claim", "hub-two", "--agent", "coder"], warm.path)
    assert code == 0
    assert not packages & {*HEAVY, *SLOW, "click"}


@pytest.mark.parametrize(
    "words", [["create", "Three", "-p", "1"], ["q", "Four"], ["close", "hub-two", "--reason", "done"]], ids=" ".join
)
def test_a_plain_write_loads_no_click(words: list[str], warm: Clone) -> None:
    code, packages, _ = loaded([*words, "--agent", "coder"], warm.path)
    assert code == 0
    assert not packages & {*HEAVY, *SLOW, "click"}
