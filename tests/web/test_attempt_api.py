"""The API that a worker serves for its isolated attempts: one token for each claim, nothing left after the last one."""

from __future__ import annotations

import json
import os
import stat
import threading
from typing import TYPE_CHECKING
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

import pytest

from bd.cli.app import App, Globals
from bd.core.errors import TryAgain
from bd.web.attempt_api import AttemptApi
from tests.runtime import RUNTIME

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from bd.web.attempt_api import AttemptAccess
    from tests.running import Clone


def asked(access: AttemptAccess, bead_id: str, verb: str = "", **body: str) -> int:
    """The status of the answer to a call; 0 if nobody listens."""
    told = access.environment
    path, data = f"/beads/{bead_id}{verb}", json.dumps(body).encode() if verb else None
    headers = {"authorization": f"Bearer {told['BD_API_TOKEN']}", "content-type": "application/json"}
    try:
        with urlopen(Request(told["BD_API_URL"] + path, data, headers)) as answer:  # noqa: S310  our own server
            return int(answer.status)
    except HTTPError as error:
        return error.code
    except URLError:
        return 0


def test_each_attempt_has_its_claim_alone_and_its_token_ends_with_it(clone: Callable[[str], Clone], tmp_path: Path) -> None:
    one, files = clone("one"), tmp_path / "state" / "files"
    for bead_id in ("hub-a", "hub-b"):
        one.here("create", f"Do {bead_id}", "--id", bead_id)
        one.here("claim", bead_id, "--agent", "coder")
    api = AttemptApi(lambda: App(Globals(directory=str(one.path)), RUNTIME).hub, RUNTIME, lambda _: None)
    snapshot = App(Globals(directory=str(one.path)), RUNTIME).snapshot()
    first, second = (api.admit(snapshot.bead(bead_id), str(files / bead_id)) for bead_id in ("hub-a", "hub-b"))
    try:
        assert asked(first, "hub-b") == 200, "it may read others"
        assert [asked(first, bead_id, "/comments", text="x") for bead_id in ("hub-a", "hub-b")] == [200, 403]
        one.here("config", "set", "judges.judge", "echo pass", "--clone")
        one.here("update", "hub-a", "--validation", "judge")
        assert asked(first, "hub-a", "/close", output="done") == 409, "the worker judges"
        for path in (files, files / "hub-a", *(files / "hub-a").rglob("*")):
            assert stat.S_IMODE(os.stat(path).st_mode) & 0o077 == 0, path
        first.close()
        first.close()
        assert [asked(one, "hub-b") for one in (first, second)] == [401, 200]
    finally:
        second.close()
        first.close()
    assert asked(second, "hub-b") == 0, "nobody listens any more"
    assert not [thread for thread in threading.enumerate() if thread.name == "bd api"]


def test_files_that_can_not_be_written_leave_no_server(clone: Callable[[str], Clone], tmp_path: Path) -> None:
    one = clone("one")
    one.here("create", "Do it", "--id", "hub-a")
    one.here("claim", "hub-a", "--agent", "coder")
    api = AttemptApi(lambda: App(Globals(directory=str(one.path)), RUNTIME).hub, RUNTIME, lambda _: None)
    (tmp_path / "file").touch()
    bead = App(Globals(directory=str(one.path)), RUNTIME).snapshot().bead("hub-a")
    with pytest.raises(TryAgain, match="can't make"):
        api.admit(bead, str(tmp_path / "file" / "files"))
    assert not [thread for thread in threading.enumerate() if thread.name == "bd api"]
