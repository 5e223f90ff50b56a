"""Completion of command lines: the candidates, each with a description, and the shells' scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from bd.cli.click_commands import bd
from bd.cli.global_options import NAMES
from bd.cli.output import escaped
from bd.cli.table import COMMANDS, HIDDEN
from bd.core.errors import BdError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bd.cli.app import App

_BEADS = frozenset({"bead", "beads", "target"})
_DONE_TOO = frozenset({"show", "reopen", "history", "comments", "delete", "view"})
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


def candidates(app: App, typed: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield completions of the last word, each with a description."""
    *before, partial = typed or [""]
    names = [word for word in before if not word.startswith("-")]
    found = _of_command(app, names, partial) if names else _commands()
    return ((word, about) for word, about in found if word.startswith(partial))


def _commands() -> Iterator[tuple[str, str]]:
    for name, row in COMMANDS.items():
        if row.section != HIDDEN:
            yield name, row.help


def _of_command(app: App, names: Sequence[str], partial: str) -> Iterator[tuple[str, str]]:
    command = bd.get_command(click.Context(bd), names[0])
    if isinstance(command, click.Group):
        if len(names) == 1:
            for name, below in command.commands.items():
                yield name, (below.help or "").partition("\n")[0]
            return
        command = command.commands.get(names[1])
    if command is None:
        return
    if partial.startswith("-"):
        for param in command.params:
            if isinstance(param, click.Option) and not param.hidden:
                yield max(param.opts, key=len), param.help or ""
        yield from ((name, "works everywhere") for name in sorted(NAMES) if name.startswith("--"))
    elif any(param.name in _BEADS for param in command.params if isinstance(param, click.Argument)):
        yield from _ids(app, done_too=names[0] in _DONE_TOO)


def _ids(app: App, *, done_too: bool) -> Iterator[tuple[str, str]]:
    """Yield ids with their titles; nothing if there is no hub, since a completing shell shows no errors."""
    try:
        snapshot = app.snapshot()
    except BdError:
        return
    for bead in sorted(snapshot.every() if done_too else snapshot.live(), key=lambda bead: bead.id):
        yield bead.id, escaped(bead.title)
