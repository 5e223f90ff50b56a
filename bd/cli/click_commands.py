"""The lazy click group over the command table: help, mistakes, and every form that parse.py does not read.

Each click command is made from the SPEC that parse.py reads, too.
"""

from __future__ import annotations

from difflib import get_close_matches
from functools import partial
from inspect import cleandoc
from math import isfinite

import click

from bd import TYPE_CHECKING, __version__
from bd.cli.commands.overview import overview
from bd.cli.output import Handle
from bd.cli.parse import called, declared
from bd.cli.spec import FOLDER, INTEGER, NUMBER, PATH, TEXT, Argument, Command, Flag, Group, is_empty
from bd.cli.table import ALIASES, COMMANDS, HIDDEN, PAST, SECTIONS, is_deed
from bd.compat.go_options import IGNORED_FLAGS, REFUSED_COMMANDS, REFUSED_FLAGS
from bd.core.errors import BadInput, Interrupted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from bd.cli.app import App
    from bd.cli.spec import Kind, Option

TITLES = {
    "agents": "For agents",
    "people": "For people",
    "overseers": "For overseers",
    "set-up": "Set up and maintain a hub",
    "clients": "Compatibility with the Go tool",
}
_EPILOG = (
    "--json, --agent NAME, --fetch, --quiet, -C DIR work with every command, --at TIME with commands that read. "
    "`bd COMMAND --help` has an example."
)


# Where click's context says that a client of the Go tool has typed the line.
_FOREIGN = "bd.foreign"


class _PipeBroke(Exception):
    """A broken pipe, carried past click, which would end the process with exit code 1 and no message."""

    def __init__(self, error: BrokenPipeError) -> None:
        self.error = error


class _Read(click.ParamType):  # type: ignore[type-arg]
    """A kind of value that click does not know."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.name = kind.name

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value  # a default
        if not self.kind.names_option:
            return self.kind.read(value)
        try:
            return self.kind.read(value)
        except BadInput as error:
            self.fail(error.message, param, ctx)


class _Finite(click.FloatRange):
    """A number that is one: `nan` and `inf` are within any bounds, or in none."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        return number if isfinite(number) else self.fail(f"{value!r} is not a number.", param, ctx)


def _type_of(kind: Kind) -> click.ParamType[Any]:
    if kind.choices:
        return click.Choice(kind.choices)
    if kind.name == "integer range":
        return click.IntRange(_whole(kind.low), _whole(kind.high))
    if kind.name == "float range":
        return _Finite(kind.low, kind.high, min_open=kind.is_above_low)
    known = {TEXT: click.STRING, INTEGER: click.INT, NUMBER: _Finite(), PATH: click.Path()}
    folder = click.Path(exists=True, file_okay=False)
    return folder if kind is FOLDER else known.get(kind) or _Read(kind)


def _whole(bound: float | None) -> int | None:
    return None if bound is None else int(bound)


def _argument(one: Argument) -> click.Argument:
    shown: dict[str, Any] = {"required": one.is_required, "metavar": one.metavar}
    if one.default:
        shown["default"] = one.default
    return click.Argument([one.name], type=_type_of(one.kind), nargs=-1 if one.many else 1, **shown)


def _option(one: Option) -> click.Option:
    shown: dict[str, Any] = {"hidden": one.hidden, "help": one.help}
    if isinstance(one, Flag):
        flags = [*one.flags[:-1], f"{one.flags[-1]}/{one.off}" if one.off else one.flags[-1]]
        # Of several flags for one argument, only the one with a default may name it: click would count None as a default, too.
        if one.value is not True:
            shown["flag_value"] = one.value
        if one.default is not (False if one.value is True else None):
            shown["default"] = one.default
        return click.Option([*flags, one.name], is_flag=True, **shown)
    if one.default not in (None, ()):
        shown["default"] = one.default
    if one.shows_default:
        shown["show_default"] = True
    if one.needs_text:
        shown["callback"] = partial(_refuse_empty, one)
    return click.Option(
        [*one.flags, one.name],
        type=_type_of(one.kind),
        multiple=one.multiple,
        required=one.is_required,
        metavar=one.metavar,
        **shown,
    )


def _refuse_empty(one: Option, ctx: click.Context, param: click.Parameter, value: Any) -> Any:
    """Refuse an empty value, as of a variable that is not set: an empty filter would let everything through.

    Clients of the Go tool mean just that by it: for them, return the values that are not empty. Raises BadInput.
    """
    given = value if one.multiple else [value]
    filled = tuple(each for each in given if not is_empty(each))
    if len(filled) == len(given):
        return value
    flag = next(name for name in one.flags if name.startswith("--"))
    if not one.narrows or not ctx.meta.get(_FOREIGN):
        words = f"{flag} is empty, so it would filter nothing" if one.narrows else f"{flag} is empty"
        raise BadInput(words, hint="give it a value, or omit it")
    ctx.obj.out.note(f"warning: {flag} is empty, so it filters nothing, as with the Go tool")
    return filled if one.multiple else None


def click_command(spec: Command, function: Callable[..., Any]) -> click.Command:
    """Make the click command that a SPEC declares."""
    params: list[click.Parameter] = [_argument(one) if isinstance(one, Argument) else _option(one) for one in spec.takes]
    return click.Command(spec.name, callback=click.pass_context(partial(_run, function)), params=params, help=_help(spec))


def _help(spec: Command) -> str:
    """Compose the help, with the examples right after the first sentence."""
    first, _, rest = cleandoc(spec.help).partition("\n\n")
    title = "Example:" if len(spec.examples) == 1 else "Examples:"
    examples = "\n".join(["\b", title, *(f"  {line}" for line in spec.examples)])
    return "\n\n".join(part for part in (first, examples, rest) if part)


class _Group(click.Group):
    """The click group that a SPEC declares."""

    def __init__(self, spec: Group) -> None:
        own, alone = spec.alone or (None, None)
        super().__init__(
            spec.name,
            help=_help(own) if own else spec.help,
            params=[_option(one) for one in own.options] if own else [],
            callback=click.pass_context(partial(_run_alone, alone)),
            invoke_without_command=alone is not None,
            no_args_is_help=False,
        )
        self._rewritten = spec.rewritten
        made: dict[Command, click.Command] = {}
        for name, (below, function) in spec.commands.items():
            if below not in made:
                made[below] = click_command(below, function)
                made[below].short_help = made[below].get_short_help_str(400)  # not shortened
            self.add_command(made[below], name)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, self._rewritten(args) if self._rewritten else args)


def _run_alone(function: Callable[..., Any] | None, ctx: click.Context, **arguments: Any) -> None:
    if function is not None and ctx.invoked_subcommand is None:
        _run(function, ctx, **arguments)


def _run(function: Callable[..., Any], ctx: click.Context, **arguments: Any) -> Any:
    names = ctx.command_path.split()[1:]
    return called(ctx.obj, " ".join([ALIASES.get(names[0], names[0]), *names[1:]]), function, arguments)


class LazyGroup(click.Group):
    """Imports a command's module only when it is run, or its help is shown."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise _PipeBroke(error) from None

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        name = ALIASES.get(cmd_name, cmd_name)
        if name not in COMMANDS:
            return None
        found = declared(name)
        command = _Group(found) if isinstance(found, Group) else click_command(*found)
        _take_foreign_flags(name, command)
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        if args and self.get_command(ctx, args[0]) is None and not args[0].startswith("-"):
            _refuse_foreign(args[0])
            raise BadInput(f"there is no command {args[0]!r}", hint=_nearest(args[0]))
        name, command, words = super().resolve_command(ctx, args)
        if isinstance(command, click.Group) and words:
            _refuse_foreign(f"{name} {words[0]}")
        if ctx.obj is not None and ctx.obj.flags.at and command is not None and not {"-h", "--help"} & {*words}:
            _refuse_present(ALIASES.get(args[0], args[0]))
        ctx.meta[_FOREIGN] = _is_foreign(str(name), words) or (ctx.obj is not None and ctx.obj.flags.is_foreign)
        return name, command, _plain_switches(ctx, command, words)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for section in SECTIONS:
            if section == HIDDEN:
                continue
            rows = [
                (_with_beside(name), row.line or row.help)
                for name, row in COMMANDS.items()
                if row.section == section and not row.beside
            ]
            with formatter.section(TITLES[section]):
                formatter.write_dl(rows)


def _refuse_foreign(name: str) -> None:
    """Refuse a command of the Go tool that does not exist here, naming what does the same. Raises BadInput."""
    if name in REFUSED_COMMANDS:
        raise BadInput(f"there is no command {name!r}", hint=REFUSED_COMMANDS[name])


def _is_foreign(name: str, words: list[str]) -> bool:
    """Whether a flag of the Go tool that means nothing here is among the words of a command."""
    known = IGNORED_FLAGS.get(name, "") + " " + IGNORED_FLAGS.get(f"{name} {words[0]}" if words else name, "")
    return not {flag.rstrip("=") for flag in known.split()}.isdisjoint(word.partition("=")[0] for word in words)


def _refuse_present(name: str) -> None:
    """Refuse commands for which `--at` has no meaning. Raises BadInput."""
    if name not in PAST:
        words = f"--at reads the past, but `bd {name}` concerns the present or changes something"
        raise BadInput(words, hint=f"omit --at; it works with: {', '.join(sorted(PAST))}")


def _with_beside(name: str) -> str:
    return ", ".join([name, *(other for other, row in COMMANDS.items() if row.beside == name)])


class RefusedFlag(click.Option):
    """A flag of the Go tool that would have to change the answer, which is not possible here."""


def _take_foreign_flags(name: str, command: click.Command) -> None:
    """Add the flags of the Go tool to a command and those below it: the ignored ones, and the refused ones."""
    for sub, below in command.commands.items() if isinstance(command, click.Group) else ():
        _take_foreign_flags(f"{name} {sub}", below)
    known = {flag for param in command.params for flag in param.opts}
    for flag in IGNORED_FLAGS.get(name, "").split():
        if flag.rstrip("=") not in known:
            command.params.append(_foreign(click.Option, flag))
    for flag, instead in REFUSED_FLAGS.get(name, {}).items():
        if flag.rstrip("=") not in known:
            command.params.append(_foreign(RefusedFlag, flag, callback=_refusal(flag.rstrip("="), instead)))


def _foreign(kind: type[click.Option], flag: str, **extra: Any) -> click.Option:
    return kind([flag.rstrip("=")], hidden=True, expose_value=False, is_flag=not flag.endswith("="), **extra)


def _refusal(flag: str, instead: str) -> Callable[[click.Context, click.Parameter, Any], None]:
    def refuse(ctx: click.Context, param: click.Parameter, value: Any) -> None:
        if value:
            raise BadInput(f"{flag} is not supported", hint=instead)

    return refuse


def _plain_switches(ctx: click.Context, command: click.Command | None, words: list[str]) -> list[str]:
    """Replace `--switch=true` by `--switch`, and drop `--switch=false`: existing clients write these."""
    if isinstance(command, click.Group) and words:
        return [words[0], *_plain_switches(ctx, command.get_command(ctx, words[0]), words[1:])]
    options = [option for option in command.params if isinstance(option, click.Option)] if command else []
    switches = {name for option in options if option.is_flag for name in option.opts}
    plain: list[str] = []
    for place, word in enumerate(words):
        if word == "--":
            return [*plain, *words[place:]]
        name, _, value = word.partition("=")
        if name not in switches or value.lower() not in ("true", "false", "1", "0"):
            plain.append(word)
        elif value.lower() in ("true", "1"):
            plain.append(name)
    return plain


# Words that people type without having read the help, and the command that does it.
MEANT = {
    "add": "create",
    "find": "search",
    "finish": "close",
    "get": "show",
    "ls": "list",
    "mine": "list --assignee NAME",
    "next": "claim --next",
    "pull": "sync",
    "push": "sync",
    "remove": "delete",
    "rm": "delete",
    "run": "work",
    "tree": "dep tree",
}


def _nearest(word: str) -> str:
    if word in MEANT:
        return f"did you mean `bd {MEANT[word]}`?"
    names = [name for name, row in COMMANDS.items() if row.section != HIDDEN]
    close = get_close_matches(word, [*names, *ALIASES], n=1, cutoff=0.6)
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
        overview(ctx.obj)


def run(app: App, words: Sequence[str]) -> int:
    """Run a command line without its global flags. Raises BadInput for what click can't read."""
    if words and words[0] == "help" and not any(word.startswith("-") for word in words) and (words[1:] or not app.flags.json):
        words = [*words[1:], "--help"]
    # A command that only prints ends when nobody reads it.
    Handle.stops = bool(words) and ALIASES.get(words[0], words[0]) in PAST and not is_deed(words)
    try:
        code = bd.main(list(words), prog_name="bd", standalone_mode=False, obj=app)
    except click.Abort as abort:
        raise Interrupted.by(abort.__cause__) from None
    except _PipeBroke as broke:
        raise broke.error from None
    except click.ClickException as error:
        hint = None
        if isinstance(error, click.NoSuchOption) and error.ctx is not None:
            hidden = {name for one in error.ctx.command.params if getattr(one, "hidden", False) for name in one.opts}
            shown = [name for name in error.possibilities or () if name not in hidden]
            error = click.NoSuchOption(error.option_name, possibilities=shown, ctx=error.ctx)
        if isinstance(error, click.UsageError) and error.ctx is not None:
            hint = f"`{error.ctx.command_path} --help` shows its arguments"
            if isinstance(error.ctx.command, click.Group) and not isinstance(error, click.NoSuchOption):
                hint = f"one of {', '.join(error.ctx.command.list_commands(error.ctx))}; {hint}"
        raise BadInput(error.format_message(), hint=hint) from None
    return code if isinstance(code, int) else 0
