"""A command that spawns a subtask and waits for it, under a real worker."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tests.terminal import with_bd
from tests.truth import all_beads, log

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.running import Clone

SCRIPT = """\
#!/bin/sh
if grep -q '"title": "Icons"' "$BD_BEAD_FILE"; then
  echo '{"output": {"drawn": 3}}' > "$BD_RESULT_FILE"
elif ! grep -q 'task:.*:output' "$BD_BEAD_FILE"; then
  bd spawn "$BD_BEAD_ID" Icons --wait
fi
"""


def test_the_bead_comes_back_when_its_subtask_is_done(clone: Callable[[str], Clone], hub: Path, tmp_path: Path) -> None:
    alice = clone("alice")
    alice.here("agent", "add", "coder", "--interval", "5m")
    alice.here("create", "Page", "--id", "hub-page")
    script = tmp_path / "work.sh"
    script.write_text(SCRIPT)
    script.chmod(0o755)
    result = alice.bd(
        "work", "--agent", "coder", "--max-tasks", "3", "--once", str(script), env=with_bd(tmp_path, dict(os.environ))
    )
    page, icons = sorted(all_beads(hub), key=lambda bead: len(bead.id))
    assert (page.status, page.attempts, page.attempts_counted) == ("closed", 2, 1), result
    assert (icons.status, icons.parent, icons.get("output")) == ("closed", "hub-page", {"data": {"drawn": 3}})
    verbs = [subject.split(":")[0] for subject in reversed(log(hub))]
    assert [verb for verb in verbs if verb not in ("init", "agent-add")][:3] == ["create", "claim", "spawn"]
