"""`python -m tests.transcripts`: compare all recordings; `--record` writes them anew."""

from __future__ import annotations

import argparse
import difflib
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tests.transcripts.hubs import HUBS
from tests.transcripts.stage import Stage, environment

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

HERE = Path(__file__).parent
_IN_MEMORY = "/dev/shm"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.transcripts", description=__doc__)
    parser.add_argument("--record", action="store_true", help="write the recordings anew")
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these")
    asked = parser.parse_args()
    if unknown := {*asked.names} - HUBS.keys():
        parser.error(f"no transcript {', '.join(sorted(unknown))}; there are {', '.join(HUBS)}")
    differing = []
    for name, text in _played(asked.names or [*HUBS]):
        path = HERE / f"{name}.txt"
        if asked.record:
            path.write_text(text, encoding="utf-8")
            continue
        old = path.read_text(encoding="utf-8").splitlines(keepends=True) if path.exists() else []
        found = list(difflib.unified_diff(old, text.splitlines(keepends=True), f"{name}.txt", "now"))
        sys.stdout.writelines(found)
        differing += [name] if found else []
    if differing:
        print(f"\nWhere that is intended: python -m tests.transcripts --record {' '.join(differing)}")
        print("and look at `git diff tests/transcripts` before you commit it.")
    return 1 if differing else 0


def _played(names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each hub's transcript as it is now."""
    in_memory = _IN_MEMORY if "TMPDIR" not in os.environ and os.access(_IN_MEMORY, os.W_OK) else None
    folder = Path(tempfile.mkdtemp(prefix="transcripts-", dir=in_memory)).resolve()
    os.environ |= {"TMPDIR": str(folder)}
    found = environment(folder / "home")
    os.environ.clear()
    os.environ.update(found)
    time.tzset()
    try:
        stage = Stage(folder)
        for name in names:
            yield name, stage.play(HUBS[name])
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
