"""Stand-ins for coding agents: programs that print documented formats, made by us. The vendors' own are never run.

`installed` puts them into a folder under the names of the real ones. Each does what the JSON file named by STANDIN says, one
entry for each start, and keeps its arguments and its stdin in `STANDIN.starts`.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

NAMES = ("claude", "codex", "gemini")
_HERE = Path(__file__).parent


class StandIns:
    """Stand-ins in a folder of their own. `environment` makes them those that are found."""

    def __init__(self, folder: Path) -> None:
        self._bin, self._script = folder / "standins", folder / "script.json"
        self._bin.mkdir(parents=True)
        for name in NAMES:
            path = self._bin / name
            path.write_text(f'#!/bin/sh\nexec {sys.executable} {_HERE / "program.py"} {name} "$@"\n')
            path.chmod(0o755)
        self.plan()

    @property
    def environment(self) -> dict[str, str]:
        return {"PATH": f"{self._bin}{os.pathsep}{os.environ['PATH']}", "STANDIN": str(self._script)}

    def plan(self, *runs: dict[str, Any]) -> None:
        """Say what the next starts do (program.py): the last entry is repeated."""
        self._script.write_text(json.dumps(list(runs)))

    @property
    def starts(self) -> list[dict[str, Any]]:
        """The starts so far: `words` and `stdin`."""
        kept = Path(f"{self._script}.starts")
        return [json.loads(line) for line in kept.read_text().splitlines()] if kept.exists() else []
