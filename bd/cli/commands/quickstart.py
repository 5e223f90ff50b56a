"""bd quickstart, bd human: the first page for a person."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.cli.spec import Command

if TYPE_CHECKING:
    from bd.cli.app import App


_FIRST_STEPS = """\
bd keeps work as beads: YAML files in a git repository, the hub, that people and agents share.

  bd init --prefix hub                 make a hub in this repository (or: bd clone URL)
  bd create "Fix the login" -t bug -p 1
  bd ready                             what can be worked on now, best first
  bd claim --next --agent NAME         take the best bead; nobody else can
  bd close ID --reason "what came out of it"

A bead can wait for others (bd dep add B A: B waits for A), for a person (bd wait-human) or for a
time (bd defer). Every write is published at once; bd sync brings in what is new. Add --json to
any command for scripts. bd --help lists the commands, bd CMD --help has examples.
"""
_OFTEN = """\
  bd                        where you are and what to do next
  bd list, bd ready         what there is, what can be worked on
  bd show ID, bd why ID     one bead in full, and why it is not ready
  bd create "TITLE"         a new bead
  bd update ID --priority 1, bd edit ID
  bd comment ID "TEXT"      say something about it
  bd close ID, bd reopen ID
  bd attention              what needs a person; bd answer ID TEXT answers
  bd agent status           how each agent is doing
  bd undo                   take your last write back
"""


SPEC = Command(
    "quickstart",
    help="Show the first steps.",
    examples=["bd quickstart"],
)


def run(app: App) -> None:
    """Show the first steps."""
    _show(app, _FIRST_STEPS)


HUMAN = Command(
    "human",
    help="Show the commands that people use most.",
    examples=["bd human"],
)


def human(app: App) -> None:
    """Show the commands that people use most."""
    _show(app, _OFTEN)


def _show(app: App, text: str) -> None:
    if app.out.is_json:
        app.out.object({"text": text})
    else:
        app.out.lines(text.splitlines())
