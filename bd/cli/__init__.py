"""The command line. The only importer of click; no rule of the product lives here.

Read main.py first (the entry point, and where errors end), then app.py (what a command works with).

- commands/: one file per command or family. table.py: their names, without importing them.
- parse.py reads what agents type most, click_commands.py everything else.
- runtime.py: the machine's clock and random numbers, for everything below.
- output.py: results as text or JSON. Only the result goes to stdout.
"""

from __future__ import annotations

import gc
import os
import sys
from contextlib import suppress

from bd import TYPE_CHECKING

if TYPE_CHECKING:
    from bd.core.runtime import Runtime


def run(runtime: Runtime | None = None) -> None:
    """Run the console script.

    The garbage collector is off: a command is short and makes few cycles, so collecting only costs time, mostly during imports.
    The process ends without the interpreter's clean-up, which would take a quarter of a read's time.
    """
    gc.disable()
    from bd.cli.main import main  # noqa: PLC0415  imported with the collector off

    code = main(runtime=runtime)
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # the exit code is final
            stream.flush()
    os._exit(code)
