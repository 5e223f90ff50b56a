"""How it is typed. The only importer of click, and here no rule of the product lives."""

from __future__ import annotations


def run() -> None:
    """The console script.

    A command is short: it makes no cycles to speak of, so that the collector only costs time, while modules are
    imported most of all; and it leaves nothing for the interpreter to tidy up, which would take a quarter of a read.
    """
    import gc

    gc.disable()
    import os
    import sys

    from bd.cli.main import main
    from bd.core.light import suppress

    code = main()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # the exit code stands already
            stream.flush()
    os._exit(code)
