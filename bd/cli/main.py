"""The entry point, and the one place where errors end. Imports click only for what parse.py does not read."""

from __future__ import annotations

import os
import sys

from bd import TYPE_CHECKING, __version__
from bd.cli import global_options as global_flags
from bd.cli import parse
from bd.cli.app import App
from bd.cli.output import Handle, Output, lost_output, prepare_streams
from bd.cli.runtime import SystemRuntime
from bd.cli.table import PAST, is_deed
from bd.core.errors import BdError, Interrupted, TryAgain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bd.core.runtime import Runtime


def main(arguments: Sequence[str] | None = None, runtime: Runtime | None = None) -> int:
    """Run a command line, with another `runtime` if given. Return the exit code. Every error ends here."""
    prepare_streams()
    words = _typed() if arguments is None else list(arguments)
    app: App | None = None
    out = Output(is_json="--json" in words)
    try:
        flags, rest = global_flags.split(words)
        app = App(flags, runtime or SystemRuntime())
        app.words = tuple(rest)
        out = app.out
        return _run(app, rest) or app.finish()
    except BdError as error:
        return _told(app.explained(error) if app is not None else error, out)
    except KeyboardInterrupt as stop:
        out.error(Interrupted.by(stop))
        return 130
    except OSError as error:
        if error is lost_output() and isinstance(error, BrokenPipeError):
            return 0  # the reader has seen enough
        known = _of_system(error)
        return _told(known, out) if known else _crash(error, out)
    except Exception as error:  # noqa: BLE001  the one place where a bug ends
        return _crash(error, out)
    finally:
        if app is not None:
            app.close()


def _typed() -> list[str]:
    """Return the command line decoded as UTF-8, whatever the locale is."""
    return [os.fsencode(word).decode("utf-8", "replace") for word in sys.argv[1:]]


def _run(app: App, words: Sequence[str]) -> int:
    line = parse.read(words)
    if line is not None and (not app.flags.at or line.name in PAST):
        Handle.stops = line.name in PAST and not is_deed(words)  # a command that only prints ends when nobody reads it
        return line.run(app)
    from bd.cli.click_commands import run as run_command  # noqa: PLC0415  only for what parse.py does not read

    return run_command(app, words)


def _of_system(error: OSError) -> BdError | None:
    """Return the BdError for an error of the system; None if it is a bug in bd."""
    if error is lost_output():
        words = f"could not write the output: {error.strerror or error}"
        return TryAgain(words, hint="make room, or send the output elsewhere")
    try:
        from bd.core import os_errors  # noqa: PLC0415  only for an error
    except OSError:  # with too many files open, no module can be imported either
        return TryAgain(f"the system failed: {error}", hint="try again later", written="unknown")
    return os_errors.told(error, written="unknown")


def _told(error: BdError, out: Output) -> int:
    out.error(error)
    return error.exit_code


def _crash(error: Exception, out: Output) -> int:
    """Report a bug in bd: one line, and a log file."""
    import tempfile  # noqa: PLC0415  only for a bug
    import traceback  # noqa: PLC0415  only for a bug

    told = f"{type(error).__name__}: {error}"
    try:
        with tempfile.NamedTemporaryFile("w", prefix="bd-crash-", suffix=".log", delete=False, encoding="utf-8") as log:
            log.write(f"bd {__version__}, Python {sys.version}\n{' '.join(sys.argv)}\n\n")
            traceback.print_exc(file=log)
    except OSError as unwritten:
        out.error(BdError(f"a bug in bd: {told}", hint=f"the details can't be written: {unwritten}"))
        return 1
    out.error(BdError(f"a bug in bd: {told}", hint=f"please report it with {log.name}", log=log.name))
    return 1
