"""bd prime, bd onboard: what an agent reads first."""

from __future__ import annotations

import json

from bd import TYPE_CHECKING
from bd.brief.brief import brief_of
from bd.brief.template import rendered
from bd.cli import agent_guide
from bd.cli.lookup import bead_of
from bd.cli.spec import Argument, Command, Flag, Option
from bd.cli.values import text_of
from bd.compat.jsonl_import import bytes_of, event_of
from bd.core.ids import hub_name
from bd.core.pools import template_of
from bd.policy.eligibility import Eligibility
from bd.policy.work_queue import ready_beads
from bd.setup import session_hooks
from bd.worker import drain

if TYPE_CHECKING:
    from bd.cli.app import App


SPEC = Command(
    "prime",
    Argument("bead", required=False),
    Option("--template", help="Print this file (- for stdin) instead, with its placeholders filled."),
    Flag("--hook", help="Answer a hook of a coding agent: read its event on stdin, print what it takes (see bd setup)."),
    help="""Print what an agent needs to know: who it is, the loop, the rules.

    With a bead, its brief follows. A template may have {{.Agent}}, {{.Pool}}, {{.Hub}}, and text that depends:
    {{if .Draining}} ... {{else}} ... {{end}}. Prints nothing outside of a hub, so that hooks can call it anywhere.
    """,
    examples=[
        "bd prime --agent codemonkey",
        "bd prime hub-7k3q",
        "bd prime --template prompts/worker.md | claude -p      what a pool's `start` may be",
    ],
)


def run(app: App, bead: str | None, template: str | None, hook: bool) -> None:
    """Print what an agent needs to know: who it is, the loop, the rules."""
    if app.no_hub():
        if app.out.is_json:
            app.out.object({"text": ""})
        return
    event = event_of(bytes_of("-"), "the hook's event") if hook else {}
    snapshot = app.snapshot()
    name = app.identity.agent
    ready = ready_beads(snapshot, app.now)
    number = len(ready)
    if name:
        number = len(list(Eligibility(snapshot, name, app.now).beads(ready)))
    held = [bead.id for bead in snapshot.live() if name and name in bead.holders]
    who = name or f"{app.identity.by.partition(':')[2]} (no agent: give --agent NAME or set BD_AGENT before you claim)"
    text = agent_guide.prime(who, sorted(held), number, name)
    if template is not None:
        text = rendered(text_of(template, "template"), _values(app))
    if bead is not None:
        text += f"\n{brief_of(bead_of(bead, snapshot), snapshot, app.hub, name).text}"
    if hook:
        app.out.json_text([json.dumps(session_hooks.answer(event, text, sorted(held)), ensure_ascii=False) + "\n"])
    elif app.out.is_json:
        app.out.object({"text": text})
    else:
        app.out.lines(text.splitlines())


def _values(app: App) -> dict[str, str | bool]:
    """Return what a template may name."""
    name = app.identity.agent
    pool = template_of(name, app.snapshot()) if name else None
    return {"Agent": name, "Pool": pool or "", "Hub": hub_name(app.settings().prefix), "Draining": drain.is_asked()}


ONBOARD = Command(
    "onboard",
    help="""Print the section for a repository's AGENTS.md.

    `bd setup` writes it there.
    """,
    examples=["bd onboard >> AGENTS.md"],
)


def onboard(app: App) -> None:
    """Print the section for a repository's AGENTS.md."""
    if app.out.is_json:
        app.out.object({"text": agent_guide.section()})
    else:
        app.out.lines(agent_guide.section().splitlines())
