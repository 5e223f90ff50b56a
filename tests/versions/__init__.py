"""Released versions of bd, run beside the present one: each from its wheel, with this interpreter and its libraries."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import NamedTuple

from tests.running import BD, Result, result_of

WHEELS = {path.name.split("-")[1]: path for path in sorted(Path(__file__).parent.glob("*.whl"))}


class Released(NamedTuple):
    """A released version, unpacked into a folder of its own."""

    version: str
    folder: Path

    def start(self, *args: str, cwd: Path) -> subprocess.Popen[bytes]:
        """Start its command and let it run."""
        # The folder alone: it must not find the present bd behind its own.
        environment = {**os.environ, "PYTHONPATH": str(self.folder)}
        pipe = subprocess.PIPE
        return subprocess.Popen([*BD, *args], cwd=cwd, env=environment, stdin=pipe, stdout=pipe, stderr=pipe)

    def bd(self, *args: str, cwd: Path, code: int = 0) -> Result:
        """Run its command to its end."""
        result = result_of(self.start(*args, cwd=cwd))
        assert result.code == code, str(result)
        return result


def released(version: str, folder: Path) -> Released:
    """Unpack the wheel of a version; what runs there is that version, or it is an error here."""
    with zipfile.ZipFile(WHEELS[version]) as wheel:
        wheel.extractall(folder)
    made = Released(version, folder)
    script = "import bd; print(bd.__version__, bd.__file__)"
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    out = subprocess.run(
        [sys.executable, "-c", script], env=environment, cwd=folder.parent, capture_output=True, text=True, check=True
    ).stdout.split()
    assert out == [version, str(folder / "bd" / "__init__.py")]
    return made
