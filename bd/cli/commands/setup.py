"""bd setup."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from bd.cli import agent_guide
from bd.cli.spec import Argument, Command, Flag
from bd.core.errors import BadInput
from bd.setup import managed_section

if TYPE_CHECKING:
    from bd.cli.app import App


# The files that each tool reads. Most read AGENTS.md.
TOOLS = {
    "agents": ("AGENTS.md",),
    "claude": ("AGENTS.md", "CLAUDE.md"),
    "codex": ("AGENTS.md",),
    "cursor": ("AGENTS.md", ".cursor/rules/bd.mdc"),
    "aider": ("AGENTS.md", "CONVENTIONS.md"),
    "gemini": ("AGENTS.md", "GEMINI.md"),
    "copilot": ("AGENTS.md", ".github/copilot-instructions.md"),
    "windsurf": ("AGENTS.md", ".windsurfrules"),
    "junie": ("AGENTS.md", ".junie/guidelines.md"),
    "opencode": ("AGENTS.md",),
}
_HEADS = {".cursor/rules/bd.mdc": "---\ndescription: How work is kept here\nalwaysApply: true\n---\n\n"}


SPEC = Command(
    "setup",
    Argument("tool", required=False, metavar="TOOL"),
    Flag("--check", help="Only check that the section exists and is up to date."),
    Flag("--remove", help="Remove the section."),
    Flag("--list", name="list_tools", help="List the tools and the files they read."),
    help="""Tell a coding agent about bd, in the files that it reads.

    `--list` has the tools: agents, claude, codex, cursor, aider ... Writes only its own section, between two markers; the rest of each file is unchanged.
    """,
    examples=[
        "bd setup claude              write bd's section into AGENTS.md and CLAUDE.md",
        "bd setup claude --check      exit 5 where it is missing or old",
        "bd setup claude --remove",
    ],
)


def run(app: App, tool: str | None, check: bool, remove: bool, list_tools: bool) -> None:
    """Tell a coding agent about bd, in the files it reads."""
    if list_tools:
        _list(app)
        return
    if tool not in TOOLS:
        raise BadInput(f"no tool {tool!r}" if tool else "which tool?", hint=f"one of {', '.join(TOOLS)}")
    if check and remove:
        raise BadInput("--check and --remove together", hint="give one of them")
    root = app.hub.repo.work_tree or os.getcwd()
    states = {name: _done(os.path.join(root, name), name, check=check, remove=remove) for name in TOOLS[tool]}
    is_missing = check and any(state != "up to date" for state in states.values())
    if is_missing:
        app.out.exit_code = 5
    if app.out.is_json:
        app.out.object({"tool": tool, "files": states})
        return
    for name, state in states.items():
        app.out.said(f"{'' if is_missing else '✓ '}{name}: {state}")


def _done(path: str, name: str, *, check: bool, remove: bool) -> str:
    """Add, remove or check one file's section. Return its state afterwards."""
    text = managed_section.read(path)
    head = _HEADS.get(name, "")
    wanted = (
        managed_section.without_section(text) if remove else managed_section.with_section(text or head, agent_guide.section())
    )
    if remove and wanted == head:
        wanted = ""
    if wanted == text:
        return "not there" if remove else "up to date"
    if check:
        return "old" if managed_section.BEGIN in text else "missing"
    managed_section.write(path, wanted)
    return "removed" if remove else "written"


def _list(app: App) -> None:
    if app.out.is_json:
        app.out.object({"tools": {name: list(files) for name, files in TOOLS.items()}})
    else:
        app.out.table(["tool", "reads"], [[name, ", ".join(files)] for name, files in TOOLS.items()])
