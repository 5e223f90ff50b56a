"""The command line. The only importer of click; no rule of the product lives here.

Read first: main.py (the entry, and where errors end), then app.py (what a command works with).

- commands/: one file a command. table.py: the names, without importing them.
- parse.py reads what agents type most, click_commands.py everything else.
- runtime.py: the machine's clock and random numbers, for everything below.
- output.py: results as text or JSON. stdout has the result alone.
"""

from __future__ import annotations

import gc
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bd.core.runtime import Runtime


def run(runtime: Runtime | None = None) -> None:
    """The console script.

    A command is short: it makes no cycles to speak of, so that the collector only costs time, while modules are
    imported most of all; and it leaves nothing for the interpreter to tidy up, which would take a quarter of a read.
    """
    gc.disable()
    from bd.cli.main import main  # noqa: PLC0415  without the collector

    code = main(runtime=runtime)
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # the exit code stands already
            stream.flush()
    os._exit(code)
