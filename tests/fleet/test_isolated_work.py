"""`bd work --isolated`: what becomes of the API's token when an attempt ends, and what is refused before one begins."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from typing import TYPE_CHECKING
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

import pytest

from bd.cli.child_rights import ANYWHERE
from bd.cli.table import COMMANDS
from bd.store.hub_location import locate
from bd.worker import attempt_files
from tests.fleet.poolhost import is_alive
from tests.runtime import open_clone
from tests.truth import tip_bead
from tests.waiting import until
from tests.web.running import serving

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.running import Clone

    Clones = Callable[[str], Clone]


def status_of(url: str, token: str) -> int:
    """The status of the answer to a read with a token; 0 if nobody listens."""
    try:
        with urlopen(Request(f"{url}/beads/hub-a", headers={"authorization": f"Bearer {token}"})) as answer:  # noqa: S310
            return int(answer.status)
    except HTTPError as error:
        return error.code
    except URLError:
        return 0


@pytest.mark.slow
def test_a_killed_worker_leaves_no_server_and_no_token(clone: Clones, tmp_path: Path) -> None:
    one, told = clone("one"), tmp_path / "told"
    one.here("create", "Do it", "--id", "hub-a")
    says = f"echo $BD_API_URL $BD_API_TOKEN $$ > {told}.new && mv {told}.new {told} && exec sleep 600"
    worker = one.start("work", "--agent", "coder", "--isolated", "--grace", "1s", "--once", "--", "sh", "-c", says)
    until(told.exists)
    url, token, child = told.read_text().split()
    assert status_of(url, token) == 200
    worker.send_signal(signal.SIGKILL)
    worker.communicate()
    assert status_of(url, token) == 0
    until(lambda: not is_alive(int(child)))
    with serving(one) as server:
        assert status_of(f"{server.url}api/v1", token) == 401, "it was in no file"


# It runs while the worker goes on, after the command has ended.
VALIDATOR = """test -z "$GITHUB_TOKEN$BD_API_TOKEN" && read url token < "$TOLD" || exit 1
{python} - "$url" "$token" <<'END' && pwd > "$OUT"
import sys, urllib.error, urllib.request
url, token = sys.argv[1:]
try:
    urllib.request.urlopen(urllib.request.Request(url + "/beads/hub-a", headers={{"authorization": "Bearer " + token}}))
except urllib.error.URLError:
    sys.exit(0)
sys.exit(1)
END
"""


@pytest.mark.slow
def test_what_checks_the_work_is_isolated_too_and_nothing_is_left(clone: Clones, hub: Path, tmp_path: Path) -> None:
    one = clone("one")
    one.here("create", "Do it", "--id", "hub-a", "--validation", "test-pass:tests")
    one.here("config", "set", "validators.tests", VALIDATOR.format(python=sys.executable), "--clone")
    files = {"TOLD": str(tmp_path / "told"), "OUT": str(tmp_path / "out"), "XDG_STATE_HOME": str(tmp_path / "state")}
    env = {"GITHUB_TOKEN": "secret-of-the-forge", **files}
    told = "echo $BD_API_URL $BD_API_TOKEN > $TOLD; echo Done"
    one.bd("work", "--agent", "coder", "--isolated", "--once", "--", "sh", "-c", told, env=env)
    assert tip_bead(hub, "hub-a").status == "closed"
    assert (tmp_path / "out").read_text().startswith(f"{tmp_path}/state/bd/workspaces/")
    assert status_of(*(tmp_path / "told").read_text().split()) == 0
    assert not [path for path in (tmp_path / "state" / "bd" / "attempts").rglob("*") if path.is_file()]


def test_what_lies_in_the_clone_is_refused(clone: Clones) -> None:
    one = clone("one")
    one.here("create", "Do it", "--id", "hub-a")
    (one.path / "agent.sh").touch(mode=0o755)
    for words in (
        ["--folder", str(one.path), "--", "true"],
        ["--folder", str(one.path / ".beads"), "--", "true"],
        ["--", "./agent.sh"],
    ):
        refused = one.here("work", "--agent", "coder", "--isolated", "--once", *words, code=2)
        assert "does not see" in refused.err
    assert tip_bead(one.path, "hub-a").claim is None


def test_an_isolated_command_has_no_bd_but_for_hubs_of_its_own(clone: Clones, tmp_path: Path) -> None:
    one = clone("one")
    env = {"BD_API_URL": "http://127.0.0.1:1/api/v1", "BD_BEAD_FILE": "/nowhere", "BD_WORKSPACE": str(tmp_path / "work")}
    (tmp_path / "work").mkdir()
    for words in ("create x", "list", "show hub-a", "claim --next", "trust --yes"):
        refused = one.here(*words.split(), "--json", env=env, code=5).json
        assert refused["code"] == "not_permitted", words
    one.here("version", env=env)
    one.here("-C", str(tmp_path / "work"), "init", "--prefix", "own", env=env)
    one.here("-C", str(tmp_path / "work"), "create", "Mine", env=env)
    assert COMMANDS.keys() >= ANYWHERE


def test_files_of_killed_workers_are_found_wherever_they_are(
    clone: Clones, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    one = clone("one")
    with contextlib.closing(open_clone(locate(str(one.path)))) as hub:
        made = {attempt_files.folder_of(hub, "TOKEN", isolated=isolated) for isolated in (False, True)}
        for folder in made:
            os.makedirs(folder)
        assert set(attempt_files.folders(hub)) == made
        assert {os.path.basename(folder) for folder in made} == set(attempt_files.names_of("TOKEN"))
        assert [folder for folder in made if "TOKEN" in folder or str(one.path) in folder] == [
            os.path.join(hub.place.folder, "work", "TOKEN")
        ]
