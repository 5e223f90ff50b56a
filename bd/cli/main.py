"""The entry: a lazy group over the command table, and the one door out for errors."""

from __future__ import annotations

import os
import sys

import click

from bd import __version__
from bd.cli import globals as global_flags
from bd.cli.context import App
from bd.cli.table import ALIASES, COMMANDS, SECTIONS
from bd.errors import BadInput, BdError, Interrupted
from bd.output import Output, prepare_streams

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_TITLES = {
    "agents": "For agents",
    "people": "For people",
    "overseers": "For overseers",
    "set-up": "To set up and look after a hub",
}
_EPILOG = "--json, --agent NAME, --at TIME, --fetch, --quiet, -C DIR work with every command. `bd COMMAND --help` has an example."


class LazyGroup(click.Group):
    """Imports a command's module only when it is run or asked for help."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        name = ALIASES.get(cmd_name, cmd_name)
        row = COMMANDS.get(name)
        if row is None:
            return None
        from importlib import import_module

        command = getattr(import_module(f"bd.cli.commands.{row.module}"), row.attribute)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        if args and self.get_command(ctx, args[0]) is None and not args[0].startswith("-"):
            raise BadInput(f"no command {args[0]!r}", hint=_nearest(args[0]))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for section in SECTIONS:
            rows = [(name, row.help) for name, row in COMMANDS.items() if row.section == section]
            with formatter.section(_TITLES[section]):
                formatter.write_dl(rows)


def _nearest(word: str) -> str:
    from difflib import get_close_matches

    close = get_close_matches(word, [*COMMANDS, *ALIASES], n=1, cutoff=0.5)
    return f"did you mean `bd {close[0]}`?" if close else "`bd --help` lists the commands"


@click.group(
    cls=LazyGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=_EPILOG,
)
@click.version_option(__version__, "-V", "--version", message="bd version %(version)s")
@click.pass_context
def bd(ctx: click.Context) -> None:
    """A git repository of YAML beads as the work queue of a fleet of agents."""
    if ctx.invoked_subcommand is None:
        from bd.cli.commands.overview import overview

        overview(ctx.obj)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line; returns the exit code. Every error ends here."""
    prepare_streams()
    words = list(sys.argv[1:] if arguments is None else arguments)
    app: App | None = None
    out = Output(is_json="--json" in words)
    try:
        flags, rest = global_flags.split(words)
        app = App(flags)
        out = app.out
        return _run(app, rest)
    except BdError as error:
        out.error(error)
        return error.exit_code
    except click.ClickException as error:
        return _usage_error(error, out)
    except (KeyboardInterrupt, click.Abort):
        out.error(Interrupted("interrupted"))
        return 130
    except BrokenPipeError:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  nothing may be flushed into the pipe at exit
        return 0
    except Exception as error:  # noqa: BLE001  the one place where a bug ends
        return _crash(error, out)
    finally:
        if app is not None:
            app.close()


def _run(app: App, rest: list[str]) -> int:
    code = bd.main(rest, prog_name="bd", standalone_mode=False, obj=app)
    if isinstance(code, int) and code:
        return code
    return app.finish()


def _usage_error(error: click.ClickException, out: Output) -> int:
    hint = None
    if isinstance(error, click.UsageError) and error.ctx is not None:
        hint = f"`{error.ctx.command_path} --help` shows what it takes"
    out.error(BadInput(error.format_message(), hint=hint))
    return 2


def _crash(error: Exception, out: Output) -> int:
    """One line and a log for a bug in bd."""
    import tempfile
    import traceback

    with tempfile.NamedTemporaryFile("w", prefix="bd-crash-", suffix=".log", delete=False, encoding="utf-8") as log:
        log.write(f"bd {__version__}, Python {sys.version}\n{' '.join(sys.argv)}\n\n")
        traceback.print_exc(file=log)
    out.error(BdError(f"a bug in bd: {type(error).__name__}: {error}", hint=f"please report it with {log.name}", log=log.name))
    return 1


def run() -> None:
    """The console script."""
    sys.exit(main())
