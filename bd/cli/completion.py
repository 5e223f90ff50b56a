"""Completion of command lines: the candidates, each with a description, and the shells' scripts."""

from __future__ import annotations

from typing import NamedTuple

import click

from bd import TYPE_CHECKING
from bd.cli.click_commands import bd
from bd.cli.global_options import NAMES, takes_value
from bd.cli.output import escaped
from bd.cli.spec import AGENT
from bd.cli.table import COMMANDS, HIDDEN
from bd.core.errors import BdError
from bd.core.schema import AGENTS_DIR, CAPACITY_DIR, STORED_STATUSES, TYPES
from bd.policy import lifecycle
from bd.policy.failure_kinds import KINDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from bd.cli.app import App
    from bd.core.model import Bead

_BEADS = frozenset({"bead", "beads", "target", "parent"})
_DONE_TOO = frozenset({"show", "reopen", "history", "comments", "delete", "view"})
# Commands that take only some of the beads that are not done.
_ONLY: dict[str, Callable[[Bead], bool]] = {
    **dict.fromkeys(("release", "fail", "handoff", "heartbeat", "progress"), lambda bead: bool(bead.claims)),
    "answer": lifecycle.waits_for_human,
    "claim": lambda bead: bead.status == "open",
    "dlq": lambda bead: bead.status == "dead_letter",
    "undefer": lambda bead: bead.status == "deferred",
}
SHELLS = {
    "bash": """\
_bd() {
    local IFS=$'\\n' line
    COMPREPLY=()
    while read -r line; do
        COMPREPLY+=("${line%%$'\\t'*}")
    done < <(bd completion words -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2> /dev/null)
}
complete -o default -F _bd bd
""",
    "zsh": """\
#compdef bd
_bd() {
    local -a found
    local line
    while IFS=$'\\t' read -r value about; do
        found+=("${value//:/\\\\:}:${about}")
    done < <(bd completion words -- "${(@)words[2,CURRENT]}" 2> /dev/null)
    _describe bd found || _files
}
compdef _bd bd
""",
    "fish": """\
complete -c bd -a '(bd completion words -- (commandline -opc)[2..] (commandline -ct) 2> /dev/null)'
""",
}


class _Typed(NamedTuple):
    """The words before the one to complete: command, arguments, flags, and the flag whose value comes next."""

    command: click.Command | None
    path: list[str]
    words: list[str]
    flags: list[str]
    awaited: click.Option | str | None


def candidates(app: App, typed: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield completions of the last word, each with a description: only what the command takes there."""
    *before, partial = typed or [""]
    if "--" in before:
        return iter(())
    read = _read(before)
    flag, equals, _ = partial.partition("=")
    if read.awaited is not None:
        found = _values(app, read.awaited, read.path)
    elif equals and flag.startswith("--"):
        option = _option(read.command, flag)
        found = ((f"{flag}={word}", about) for word, about in _values(app, option, read.path)) if option else iter(())
    elif partial.startswith("-"):
        found = _flags(read)
    elif isinstance(read.command, click.Group):
        found = _below(read.command)
    else:
        found = _of_argument(app, read)
    return ((word, about) for word, about in found if word.startswith(partial))


def _read(before: Sequence[str]) -> _Typed:
    """Find the command and its arguments among the typed words; the value of a flag is not an argument."""
    command: click.Command | None = bd
    path, words, flags = list[str](), list[str](), list[str]()
    awaited: click.Option | str | None = None
    for word in before:
        if awaited is not None:
            awaited = None
        elif word.startswith("-") and word != "-":
            flag, equals, _ = word.partition("=")
            flags.append(flag)
            option = _option(command, flag)
            awaited = None if equals or option is None or (isinstance(option, click.Option) and option.is_flag) else option
        elif isinstance(command, click.Group):
            command = command.get_command(click.Context(command), word)
            path.append(word)
        else:
            words.append(word)
    return _Typed(command, path, words, flags, awaited)


def _option(command: click.Command | None, flag: str) -> click.Option | str | None:
    """Return the option with this flag; for a global flag that takes a value, its name."""
    for param in command.params if command is not None else ():
        if isinstance(param, click.Option) and flag in (*param.opts, *param.secondary_opts):
            return param
    return flag if takes_value(flag) else None


def _below(group: click.Group) -> Iterator[tuple[str, str]]:
    if group is bd:
        yield from ((name, row.help) for name, row in COMMANDS.items() if row.section != HIDDEN)
        return
    for name, below in group.commands.items():
        if not below.hidden:
            yield name, (below.help or "").partition("\n")[0]


def _flags(read: _Typed) -> Iterator[tuple[str, str]]:
    """Yield the flags that may still be typed: one that takes a single value is typed once."""
    for param in read.command.params if read.command is not None else ():
        if isinstance(param, click.Option) and not param.hidden:
            is_there = any(flag in read.flags for flag in (*param.opts, *param.secondary_opts))
            if not is_there or param.multiple:
                yield max(param.opts, key=len), param.help or ""
    if read.command is not None:
        everywhere = (name for name in sorted(NAMES) if name.startswith("--") and name not in read.flags)
        yield from ((name, "works everywhere") for name in everywhere)


def _of_argument(app: App, read: _Typed) -> Iterator[tuple[str, str]]:
    """Return the values of the argument at this position but those already typed: no command takes a bead twice."""
    place = len(read.words)
    for param in read.command.params if read.command is not None else ():
        if isinstance(param, click.Argument):
            if param.nargs == -1 or place == 0:
                return ((word, about) for word, about in _values(app, param, read.path) if word not in read.words)
            place -= 1
    return iter(())


def _values(app: App, param: click.Parameter | str, path: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Return the known values of a flag or an argument; none if it takes any text."""
    name = param if isinstance(param, str) else param.name or ""
    if isinstance(param, click.Parameter) and isinstance(param.type, click.Choice):
        return ((str(word), "") for word in param.type.choices)
    if name == "--agent" or (isinstance(param, click.Parameter) and param.type.name == AGENT.name):
        return _agents(app)
    if name in _BEADS:
        return _ids(app, path[0] if path else "")
    if name in ("status", "statuses"):
        return ((word, "") for word in STORED_STATUSES)
    if name in ("bead_type", "types"):
        return ((word, "") for word in TYPES)
    if name == "kind" and path == ["fail"]:
        return ((word, "") for word in KINDS)
    return iter(())


def _agents(app: App) -> Iterator[tuple[str, str]]:
    """Yield agents that have a file or have worked here; nothing if there is no hub."""
    try:
        snapshot = app.snapshot()
        names = sorted({*snapshot.records(AGENTS_DIR), *snapshot.records(CAPACITY_DIR)})
    except BdError:
        return
    for name in names:
        yield name, escaped(str((snapshot.agent(name) or {}).get("role") or ""))


def _ids(app: App, command: str) -> Iterator[tuple[str, str]]:
    """Yield ids of beads that the command takes, with their titles; nothing if there is no hub, since a completing shell shows no errors."""
    try:
        snapshot = app.snapshot()
    except BdError:
        return
    fits = _ONLY.get(command)
    for bead in sorted(snapshot.every() if command in _DONE_TOO else snapshot.live(), key=lambda bead: bead.id):
        if fits is None or fits(bead):
            yield bead.id, escaped(bead.title)
