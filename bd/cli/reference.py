"""The command line as data, for `bd help --json`, completion and the manual pages.

Everything comes from the click commands and the command table, so it can't get out of date.
"""

from __future__ import annotations

import os
from inspect import cleandoc
from typing import Any

import click

from bd import __version__
from bd.cli.click_commands import RefusedFlag, bd
from bd.cli.table import ALIASES, COMMANDS, HIDDEN
from bd.core.errors import BadInput


def command_of(name: str) -> click.Command:
    """Return the click command for a name of the table."""
    found = bd.get_command(click.Context(bd), name)
    assert found is not None
    return found


def every_command() -> list[dict[str, Any]]:
    """Describe each command that can be typed, those of a group by both words."""
    found = []
    for name in COMMANDS:
        command = command_of(name)
        if isinstance(command, click.Group):
            seen: list[click.Command] = []
            for sub, below in command.commands.items():
                if below not in seen:
                    found.append(described(f"{name} {sub}", name, below))
                    seen.append(below)
        else:
            found.append(described(name, name, command))
    return found


def described(typed: str, name: str, command: click.Command) -> dict[str, Any]:
    """Describe one command: its purpose and its parameters."""
    paragraphs = [block for block in cleandoc(command.help or "").split("\n\n") if block]
    shown: dict[str, Any] = {
        "name": typed,
        "section": COMMANDS[name].section,
        "help": " ".join(paragraphs[0].split()) if paragraphs else "",
        "arguments": [_argument(param) for param in command.params if isinstance(param, click.Argument)],
        "options": [_option(param) for param in command.params if isinstance(param, click.Option) and not param.hidden],
    }
    aliases = [alias for alias, meant in ALIASES.items() if meant == typed]
    ignored = [param.opts[0] for param in _hidden(command) if not param.expose_value and not isinstance(param, RefusedFlag)]
    refused = [param.opts[0] for param in _hidden(command) if isinstance(param, RefusedFlag)]
    also = [param.opts[0] for param in _hidden(command) if param.expose_value]
    lists = {"aliases": aliases, "also_taken": also, "ignored": ignored, "refused": refused}
    shown.update({key: names for key, names in lists.items() if names})
    if COMMANDS[name].section == HIDDEN:
        shown["hidden"] = True
    return shown


def examples(command: click.Command) -> list[str]:
    """Return the example lines of a command's help."""
    text = "\n\n".join([cleandoc(command.help or ""), command.epilog or ""])
    blocks = [block for block in text.split("\n\n") if block.lstrip("\b\n ").startswith("Example")]
    return [line.strip() for block in blocks for line in block.splitlines() if line.startswith("  ")]


def _hidden(command: click.Command) -> list[click.Option]:
    return [param for param in command.params if isinstance(param, click.Option) and param.hidden]


def _argument(param: click.Argument) -> dict[str, Any]:
    return {"name": (param.metavar or param.name or "").lower(), "required": param.required, "many": param.nargs == -1}


def _option(param: click.Option) -> dict[str, Any]:
    shown: dict[str, Any] = {"flags": [*param.opts, *param.secondary_opts], "help": param.help or "", "value": not param.is_flag}
    if param.multiple:
        shown["repeatable"] = True
    if isinstance(param.type, click.Choice):
        shown["choices"] = list(param.type.choices)
    return shown


def page_of(name: str) -> str:
    """Return the manual page of a command, in roff."""
    command = command_of(name)
    entries = [entry for entry in every_command() if entry["name"].split(" ")[0] == name]
    lines = [f'.TH "BD-{name.upper()}" "1" "" "bd {__version__}" "bd"', ".SH NAME", _roff(f"bd-{name} - {COMMANDS[name].help}")]
    for entry in entries:
        words = [f"\\fBbd {_roff(entry['name'])}\\fR", "[OPTIONS]"]
        words += [_synopsis(one) for one in entry["arguments"]]
        lines += [".SH SYNOPSIS" if entry is entries[0] else ".SS", " ".join(words), ".PP", _roff(entry["help"])]
        for option in entry["options"]:
            value = f" \\fI{_roff('|'.join(option.get('choices', ['VALUE'])))}\\fR" if option["value"] else ""
            lines += [".TP", f"\\fB{_roff(', '.join(option['flags']))}\\fR{value}", _roff(option["help"])]
    shown = examples(command)
    if shown:
        lines += [".SH EXAMPLES", ".nf", *map(_roff, shown), ".fi"]
    return "\n".join(lines) + "\n"


def write_pages(folder: str) -> None:
    """Write the manual page of every command. Raises BadInput if the folder can't be written."""
    try:
        os.makedirs(folder, exist_ok=True)
        for name in COMMANDS:
            with open(os.path.join(folder, f"bd-{name}.1"), "w", encoding="utf-8") as file:
                file.write(page_of(name))
    except OSError as error:
        raise BadInput(f"can't write into {folder}: {error.strerror or error}") from error


def _synopsis(argument: dict[str, Any]) -> str:
    words = f"\\fI{_roff(argument['name'])}\\fR" + (" ..." if argument["many"] else "")
    return words if argument["required"] else f"[{words}]"


def _roff(text: str) -> str:
    """Escape a text for roff: backslashes and hyphens literally, and no line that begins a request."""
    clean = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{clean}" if clean[:1] in (".", "'") else clean
