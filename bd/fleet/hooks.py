"""Telling people of dead letters by this clone's hooks: commands and Apprise URLs of its own, and those of the hub it trusts.

Whoever has a trusted hook may do it, in any clone: the right to is a commit that the remote accepted
(operations/notifying.py). A hook hears the same key again only where somebody died between telling and saying so.
"""

from __future__ import annotations

import json
import re

from bd import clock
from bd.errors import BdError, TryAgain
from bd.fleet import trusted
from bd.operations.notifying import Notified, Notify
from bd.operations.publish import publish
from bd.policy import notice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bd.model import Bead
    from bd.store.hub import Hub

AT_ONCE = 20
HOOK_LIMIT_S = 60.0
_URL = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_SAID_LIMIT = 300


def tell(hub: Hub, by: str) -> list[str]:
    """Tell people of the dead letters that nobody has told them of; a line for each, and for each hook that failed."""
    hooks = trusted.commands(hub, "notify")
    waiting = [bead.id for bead in hub.snapshot().live() if bead.status == "dead_letter"] if hooks else []
    now = clock.now()
    due = [bead.id for bead in notice.due(hub.snapshot().wholes(waiting), now)][:AT_ONCE]
    if not due:
        return []
    right = Notify(by=by, at=clock.time_text(now, exact=True), ids=due)
    try:
        outcome = publish(hub, right)
    except BdError as error:
        return [f"nobody is told of {', '.join(due)} yet: {error}"]
    said: list[str] = []
    done: list[str] = []
    for bead in hub.snapshot(outcome.commit).wholes(list(outcome.change.touched) if outcome.change else []):
        wrong = [words for hook in hooks if (words := _run(hook, message_of(bead, hub)))]
        said += [f"{bead.id}: {words}" for words in wrong] or [f"told people that {bead.id} was given up"]
        done += [] if wrong else [bead.id]
    if done:
        at = clock.time_text(clock.now(), exact=True)
        try:
            publish(hub, Notified(by=by, at=at, ids=done, right=right.uid))
        except TryAgain as error:
            said.append(f"that people were told of {', '.join(done)} is not published: {error}")
    return said


def message_of(bead: Bead, hub: Hub) -> dict[str, Any]:
    """What a hook is told: `key` is the same for the same transition, however often it is told."""
    last = (bead.get("failures") or [{}])[-1]
    cost = bead.get("cost")
    facts = {
        "event": "dead_letter",
        "key": notice.noted(bead).get("key"),
        "id": bead.id,
        "title": bead.title,
        "at": bead.get("dead_lettered_at"),
        "attempts": bead.attempts_counted,
        "poison_pill": bool(bead.get("poison_pill")),
        "agent": last.get("agent"),
        "reason": last.get("reason"),
        "error": last.get("error"),
        "total_cost_usd": cost.get("usd") if isinstance(cost, dict) else None,
    }
    return {key: value for key, value in facts.items() if value is not None}


def _run(hook: trusted.Command, message: dict[str, Any]) -> str:
    """Tell by one hook; words of what went wrong, empty where nothing did."""
    if _URL.match(hook.text) and not any(blank in hook.text for blank in " \n\t"):
        return _by_apprise(hook, message)
    environment = {"BD_EVENT": message["event"], "BD_EVENT_KEY": message["key"], "BD_BEAD_ID": message["id"]}
    ran = trusted.run(hook.text, environment, HOOK_LIMIT_S, stdin=json.dumps(message, ensure_ascii=False) + "\n")
    if ran.code == 0:
        return ""
    words = ran.err or ran.out
    how = "failed" if ran.code is None else f"failed with exit code {ran.code}"
    return f"{hook.where} {how}{f': {words}' if words else ''}"[:_SAID_LIMIT]


def _by_apprise(hook: trusted.Command, message: dict[str, Any]) -> str:
    try:
        import apprise  # noqa: PLC0415  an optional extra
    except ImportError:
        return f"{hook.where} is a URL, which takes the extra: pip install 'gitbeads[notify]'"
    sender = apprise.Apprise()
    if not sender.add(hook.text):
        return f"{hook.where} is no URL that Apprise knows"
    title = f"Given up: {message['id']} {message['title']}"
    last = f"{message.get('reason', '')}: {message.get('error', '')}".strip(": ")
    body = f"{message['attempts']} attempts, the last by {message.get('agent', 'somebody')}. {last}\nkey {message['key']}"
    return "" if sender.notify(title=title, body=body) else f"{hook.where}: Apprise could not deliver it"
