"""bd setup."""

from __future__ import annotations

import os

from bd import TYPE_CHECKING
from bd.cli import agent_guide
from bd.cli.spec import Argument, Command, Flag
from bd.core.errors import BadInput
from bd.setup import managed_section, session_hooks

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
    "openclaw": ("AGENTS.md",),
    "hermes": ("AGENTS.md",),
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
    Where the tool has hooks (claude, codex, gemini, opencode, openclaw), they call bd when a session starts or is compacted, and
    remind the agent of beads that it still holds when it wants to stop. Only bd's own entries are changed.
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
    states |= {
        name: _settled(os.path.join(root, name), wanted, text, check=check, remove=remove)
        for name, (text, wanted) in _hooks(tool, root, remove=remove).items()
    }
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
    return _settled(path, wanted, text, check=check, remove=remove, is_there=managed_section.BEGIN in text)


def _hooks(tool: str, root: str, *, remove: bool) -> dict[str, tuple[str, str]]:
    """Return, for each file with hooks of a tool, its text and the wanted one. Raises BadInput."""
    found: dict[str, tuple[str, str]] = {}
    file = session_hooks.HOOK_FILES.get(tool)
    if file is not None:
        text = managed_section.read(os.path.join(root, file.path))
        change = session_hooks.without_hooks if remove else session_hooks.with_hooks
        found[file.path] = text, change(text, file)
    for name, content in session_hooks.PLUGIN_FILES.get(tool, {}).items():
        found[name] = managed_section.read(os.path.join(root, name)), "" if remove else content
    return found


def _settled(path: str, wanted: str, text: str, *, check: bool, remove: bool, is_there: bool | None = None) -> str:
    """Write a file as wanted, unless only checked. Return its state afterwards; `is_there`: it has something of bd's."""
    if wanted == text:
        return "not there" if remove else "up to date"
    if check:
        return "old" if (session_hooks.COMMAND in text if is_there is None else is_there) else "missing"
    os.makedirs(os.path.dirname(path), exist_ok=True)
    managed_section.write(path, wanted)
    return "removed" if remove else "written"


def _list(app: App) -> None:
    every = {name: [*files, *_hook_paths(name)] for name, files in TOOLS.items()}
    if app.out.is_json:
        app.out.object({"tools": every})
    else:
        app.out.table(["tool", "reads"], [[name, ", ".join(files)] for name, files in every.items()])


def _hook_paths(tool: str) -> list[str]:
    file = session_hooks.HOOK_FILES.get(tool)
    return [*([file.path] if file else []), *session_hooks.PLUGIN_FILES.get(tool, {})]
