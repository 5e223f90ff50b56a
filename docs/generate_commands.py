"""Write what docs/ say of the program from the program, so that it can't drift.

From the commands themselves: docs/commands.md, and the last section of docs/compatibility.md. From the table of errors: that
of docs/exit-codes.md. From the rows of docs/seeds.md: the numbers at its head.

`python docs/generate_commands.py` writes the files; `--check` only says whether they are up to date.
Everything is taken from the click objects and the command table; the words about the global
flags stand here, because these flags are read before click sees the command line.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from inspect import cleandoc
from pathlib import Path
from typing import Any

from bd.cli import global_options as global_flags
from bd.cli.click_commands import TITLES, RefusedFlag, bd
from bd.cli.table import ALIASES, COMMANDS, SECTIONS
from bd.compat.go_options import IGNORED_FLAGS, REFUSED_COMMANDS, REFUSED_FLAGS
from bd.core.errors import CODES

PAGE = Path(__file__).with_name("commands.md")
COMPATIBILITY = Path(__file__).with_name("compatibility.md")
EXIT_CODES = Path(__file__).with_name("exit-codes.md")
SEEDS = Path(__file__).with_name("seeds.md")
COUNTS = "<!-- counts -->\n", "<!-- end of counts -->\n"
ERRORS_HEADING = "## Every error\n"
FOREIGN_HEADING = "## Accepted, ignored, refused\n"
# The Go tool's commands that do here what they do there.
ACCEPTED = (
    "assign, blocked, children, close, comment, comments, comments add, completion, config get, config list, config set,"
    " config unset, count, create, defer, delete, dep add, dep cycles, dep list, dep remove, dep tree, doctor, dolt pull,"
    " dolt push, done, epic close-eligible, epic status, export, help, hooks run, human, import, info, init, label add,"
    " label list, label list-all, label remove, list, migrate, new, note, onboard, ping, prime, priority, purge, q, quickstart,"
    " ready, reopen, repair-deps, search, setup, show, stale, stats, status, statuses, sync, tag, types, undefer, update,"
    " version, view, where"
)

# Every key of bd/cli/global_options.py, in the order of the page: how it is written, and what it does.
GLOBALS = {
    "json": ("--json", "The answer is one JSON document on stdout, for errors too. `--format json` is the same."),
    "quiet": ("--quiet, -q", "Print only ids."),
    "agent": ("--agent NAME", "Who claims and writes. Wins over `BD_AGENT` and all settings."),
    "actor": ("--actor NAME", "The same for existing clients; a person's name is taken too."),
    "directory": ("-C DIR, --directory DIR", "Work in this folder. `--db PATH` means the folder that PATH is in."),
    "fetch": ("--fetch, --no-fetch", "Bring in what is new before a read, or answer without the network. Writes always fetch."),
    "at": (
        "--at WHEN",
        "Answer a read as the hub was, and as time then was: a commit, a time such as `2026-02-21T15:00Z`, or so long ago (`2h`).",
    ),
    "strict": ("--strict", "Exit 7 when a file of the hub can't be read; otherwise a read only warns."),
    "verbose": (
        "--verbose, -v",
        "Say on stderr through which states a write goes, and what it does there ([architecture.md](architecture.md)).",
    ),
}
INTRODUCTION = """\
# Commands

<!-- Written by docs/generate_commands.py. Change the commands, then run it again. -->

Every command of `bd`, as `bd COMMAND --help` has it. The ids in the examples stand for ids of
your own. [exit-codes.md](exit-codes.md) says what the exit codes mean, [format.md](format.md)
what the JSON looks like.
"""


def page() -> str:
    """The whole of docs/commands.md."""
    parts = [INTRODUCTION, _contents(), _global_options()]
    for section in SECTIONS:
        parts.append(f"## {TITLES[section]}\n")
        parts += [_command(name, load(name)) for name, row in COMMANDS.items() if row.section == section]
    return "\n".join(parts)


def compatibility() -> str:
    """docs/compatibility.md with its last section as the tables of bd/compat/go_options.py have it."""
    before, _, _ = COMPATIBILITY.read_text(encoding="utf-8").partition(FOREIGN_HEADING)
    flags = vars(global_flags)
    ignored = {"every command": sorted(flags["_IGNORED"] | flags["_IGNORED_VALUES"]), **_flags_of(IGNORED_FLAGS)}
    refused = [(f"{name} {flag.rstrip('=')}", words) for name, found in REFUSED_FLAGS.items() for flag, words in found.items()]
    return "\n".join(
        [
            before + FOREIGN_HEADING,
            "<!-- Written by docs/generate_commands.py from bd/compat/go_options.py. -->\n",
            f"**Accepted** commands of the Go tool: {', '.join(f'`{name}`' for name in ACCEPTED.split(', '))}.",
            "[commands.md](commands.md) has the flags of each.\n",
            "**Ignored** flags are taken and change nothing:\n",
            "| command | flags |",
            "| --- | --- |",
            *(f"| {name} | {', '.join(f'`{flag}`' for flag in found)} |" for name, found in ignored.items()),
            "\n**Refused** with exit 2, and what to do instead:\n",
            "| command or flag | instead |",
            "| --- | --- |",
            *(
                f"| `{name}` | {words.replace('|', chr(92) + '|')} |"
                for name, words in sorted([*REFUSED_COMMANDS.items(), *refused])
            ),
            "",
        ]
    )


def exit_codes() -> str:
    """docs/exit-codes.md with its last section as the table of bd/core/errors.py has it."""
    before, _, _ = EXIT_CODES.read_text(encoding="utf-8").partition(ERRORS_HEADING)
    return "\n".join(
        [
            before + ERRORS_HEADING,
            "<!-- Written by docs/generate_commands.py from bd/core/errors.py. -->\n",
            "`code` is what stands under that key in the JSON.\n",
            "| code | exit | when |",
            "| --- | --- | --- |",
            *(f"| `{code}` | {exit_code} | {words} |" for code, (exit_code, _, words) in CODES.items()),
            "",
        ]
    )


def seeds() -> str:
    """docs/seeds.md with the numbers of its rows by state."""
    text = SEEDS.read_text(encoding="utf-8")
    before, _, rest = text.partition(COUNTS[0])
    _, _, after = rest.partition(COUNTS[1])
    states = Counter(re.findall(r"^\| \d+ \|.*\| (as written|otherwise|not yet)[^|]*\|$", text, re.MULTILINE))
    rows = [f"| {state} | {states[state]} |\n" for state in ("as written", "otherwise", "not yet") if states[state]]
    table = f"\n| state | points |\n| --- | --- |\n{''.join(rows)}| all | {sum(states.values())} |\n\n"
    return f"{before}{COUNTS[0]}{table}{COUNTS[1]}{after}"


def _flags_of(table: dict[str, str]) -> dict[str, list[str]]:
    return {name: [flag.rstrip("=") for flag in words.split()] for name, words in table.items()}


def load(name: str) -> Any:
    """The click command of this name."""
    command = bd.get_command(None, name)  # type: ignore[arg-type]
    assert command is not None, f"the table names {name}, and there is no such command"
    return command


def _contents() -> str:
    lines = []
    for section in SECTIONS:
        names = [f"[{name}](#{name})" for name, row in COMMANDS.items() if row.section == section]
        lines.append(f"- {TITLES[section]}: {', '.join(names)}")
    short = ", ".join(f"`{alias}` is `{name}`" for alias, name in ALIASES.items())
    return "\n".join(lines) + f"\n\nOther names: {short}.\n"


def _global_options() -> str:
    flags = vars(global_flags)
    known = {key for key, _ in flags["_SWITCHES"].values()} | set(flags["_VALUES"].values())
    assert known == set(GLOBALS), f"the global flags changed: {known ^ set(GLOBALS)}"
    rows = [f"| `{names}` | {words} |" for names, words in GLOBALS.values()]
    ignored = ", ".join(f"`{name}`" for name in sorted(flags["_IGNORED"] | flags["_IGNORED_VALUES"]))
    return "\n".join(
        [
            "## Options of every command\n",
            "They may stand anywhere in the command line, before or after the command.\n",
            *_table(rows),
            "",
            f"Existing clients also send these; they are taken and change nothing: {ignored}.\n",
        ]
    )


def _command(name: str, command: Any, level: int = 3) -> str:
    lines = [f"{'#' * level} {name}\n", *_help(command)]
    others = subcommands(command)
    if others:
        usage = f"bd {name} {'|'.join(others)} ..."
        own = [_option(option) for option in _options(command) if not option.hidden]
        if getattr(command, "invoke_without_command", False):  # it does something by itself as well
            usage = f"bd {name} [OPTIONS]\n{usage}"
        lines += [f"```text\n{usage}\n```\n", *([*_table(own), ""] if own else [])]
        lines += [_command(f"{name} {other}", below, level + 1) for other, below in others.items()]
        return "\n".join(lines)
    lines.append(f"```text\n{_usage(name, command)}\n```\n")
    rows = [_option(option) for option in _options(command) if not option.hidden]
    if rows:
        lines += [*_table(rows), ""]
    lines += _for_clients(command)
    found = examples(command)
    if found:
        width = max(len(words) for words, _ in found)
        shown = [f"{words:{width}}  # {about}" if about else words for words, about in found]
        lines += ["```sh", *shown, "```\n"]
    return "\n".join(lines)


def subcommands(command: Any) -> dict[str, Any]:
    """The commands of a group, each under its first name; empty for a plain command."""
    found: dict[str, Any] = {}
    for name, below in getattr(command, "commands", {}).items():
        if below not in found.values():
            found[name] = below
    return found


def _help(command: Any) -> list[str]:
    """The docstring's paragraphs, each on one line."""
    return [f"{' '.join(block.split())}\n" for block in _blocks(command) if not _is_example(block)]


def _blocks(command: Any) -> list[str]:
    """The paragraphs of a command's help, its examples among them (the group moves them there from the epilog)."""
    text = "\n\n".join([cleandoc(command.help or ""), (command.epilog or "").strip("\n")])
    return [block for block in re.split(r"\n[ \t]*\n", text) if block.strip()]


def _is_example(block: str) -> bool:
    return block.lstrip("\b\n ").startswith("Example")


def _usage(name: str, command: Any) -> str:
    words = ["bd", name]
    if any(not option.hidden for option in _options(command)):
        words.append("[OPTIONS]")
    for argument in _arguments(command):
        shown = argument.metavar or (argument.name or "").upper()
        if argument.nargs == -1 and not argument.metavar:
            shown += "..."
        words.append(shown if argument.required else f"[{shown}]")
    return " ".join(words)


def _arguments(command: Any) -> list[Any]:
    return [param for param in command.params if param.param_type_name == "argument"]


def _options(command: Any) -> list[Any]:
    return [param for param in command.params if param.param_type_name == "option"]


def _option(option: Any) -> str:
    names = ", ".join([*option.opts, *option.secondary_opts])
    value = _value(option)
    words = (option.help or "").replace("|", "\\|")
    return f"| `{names}{value}` | {words}{' Repeatable.' if _says_repeat(option) else ''} |"


def _says_repeat(option: Any) -> bool:
    return bool(option.multiple) and "repeat" not in (option.help or "").lower()


def _value(option: Any) -> str:
    if option.is_flag:
        return ""
    if option.metavar:
        return f" {option.metavar}"
    choices = getattr(option.type, "choices", None)
    if choices:
        return " " + "\\|".join(map(str, choices))
    kind = {"integer": "N", "integer range": "N", "float range": "NUMBER", "list": "A,B"}.get(option.type.name)
    return f" {kind or option.type.name.upper()}"


def _for_clients(command: Any) -> list[str]:
    hidden = [option for option in _options(command) if option.hidden]
    refused = [name for option in hidden if isinstance(option, RefusedFlag) for name in option.opts]
    ignored = [name for option in hidden if not option.expose_value for name in option.opts if name not in refused]
    working = [f"`{option.opts[0]}`" for option in hidden if option.expose_value]
    lines = []
    if working:
        lines.append(f"For existing clients also {', '.join(working)}.\n")
    if ignored:
        lines.append(f"Taken from existing clients without an effect: {', '.join(f'`{name}`' for name in ignored)}.\n")
    if refused:
        lines.append(f"Refused, with what to do instead: {', '.join(f'`{name}`' for name in refused)}.\n")
    return lines


def _table(rows: list[str]) -> list[str]:
    return ["| option | what it does |", "| --- | --- |", *rows]


def examples(command: Any) -> list[tuple[str, str]]:
    """The examples in a command's help: what to type, and what is said about it (may be empty)."""
    found: list[tuple[str, str]] = []
    for block in filter(_is_example, _blocks(command)):
        for line in block.splitlines():
            if line.startswith("  "):
                words, _, about = re.sub(r"\s{3,}", "\0", line.strip(), count=1).partition("\0")
                found.append((words, about))
    return found


def every_command() -> dict[str, Any]:
    """Every click command that can be typed, by its full name."""
    found: dict[str, Any] = {}
    for name in COMMANDS:
        command = load(name)
        below = subcommands(command)
        found.update({f"{name} {other}": one for other, one in below.items()} if below else {name: command})
    return found


def every_example() -> list[tuple[str, str]]:
    """Every example of every command: the command's full name, and what to type."""
    return [(name, words) for name, command in every_command().items() for words, _ in examples(command)]


def main(arguments: list[str]) -> int:
    """Write the pages, or check them; the exit code."""
    code = 0
    for path, text in ((PAGE, page()), (COMPATIBILITY, compatibility()), (EXIT_CODES, exit_codes()), (SEEDS, seeds())):
        if path.is_file() and path.read_text(encoding="utf-8") == text:
            sys.stdout.write(f"{path.name} is up to date\n")
        elif "--check" in arguments:
            code = 1
            sys.stdout.write(f"{path.name} is out of date: run docs/generate_commands.py\n")
        else:
            path.write_text(text, encoding="utf-8")
            sys.stdout.write(f"wrote {path}\n")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
