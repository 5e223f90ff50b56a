"""Telling people of dead letters by this clone's hooks: commands and Apprise URLs of its own, and those of the hub it trusts.

Whoever has a trusted hook may do it, in any clone: the right to is a commit that the remote accepted
(operations/notifying.py). A hook hears the same key again only where somebody died between telling and saying so.
"""

from __future__ import annotations

import json
import os
import re
import subprocess

from bd import clock
from bd.errors import BdError, TryAgain
from bd.fleet.trust import Asked, asked_for, is_trusted
from bd.light import NamedTuple
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


class Hook(NamedTuple):
    """One way to tell people: its name, and a command or an Apprise URL."""

    name: str
    text: str


def hooks_of(hub: Hub) -> list[Hook]:
    """The hooks that this clone may run: of its own and its user's configuration, and of the hub where they are trusted."""
    own = [
        Hook(f"{where}.notify{f'.{name}' if name else ''}", text)
        for where, layer in (("clone", hub.place.clone_layer), ("user", hub.place.user_layer))
        for name, text in _texts(layer.get("notify"))
    ]
    asked: list[Asked] = []
    if hub.snapshot().config().get("notify"):
        asked = [one for one in asked_for(hub.snapshot()) if one.name.startswith("config.notify") and is_trusted(hub, one)]
    return [*own, *(Hook(one.name, one.text) for one in asked)]


def _texts(value: Any) -> list[tuple[str, str]]:
    if isinstance(value, dict):
        return [(str(name), str(text)) for name, text in sorted(value.items()) if text]
    return [("", str(value))] if value else []


def tell(hub: Hub, by: str) -> list[str]:
    """Tell people of the dead letters that nobody has told them of; a line for each, and for each hook that failed."""
    hooks = hooks_of(hub)
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


def _run(hook: Hook, message: dict[str, Any]) -> str:
    """Tell by one hook; words of what went wrong, empty where nothing did."""
    if _URL.match(hook.text) and not any(blank in hook.text for blank in " \n\t"):
        return _by_apprise(hook, message)
    environment = {**os.environ, "BD_EVENT": message["event"], "BD_EVENT_KEY": message["key"], "BD_BEAD_ID": message["id"]}
    text = json.dumps(message, ensure_ascii=False) + "\n"
    try:
        ended = subprocess.run(  # noqa: S602  a command of this clone's own, or looked at and pinned here
            hook.text,
            shell=True,
            input=text.encode("utf-8", "replace"),
            env=environment,
            capture_output=True,
            timeout=HOOK_LIMIT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{hook.name} failed: {error}"[:_SAID_LIMIT]
    if ended.returncode == 0:
        return ""
    words = (ended.stderr or ended.stdout).decode("utf-8", "replace").strip()
    return f"{hook.name} failed with exit code {ended.returncode}{f': {words}' if words else ''}"[:_SAID_LIMIT]


def _by_apprise(hook: Hook, message: dict[str, Any]) -> str:
    try:
        import apprise  # noqa: PLC0415  an optional extra
    except ImportError:
        return f"{hook.name} is a URL, which takes the extra: pip install 'gitbeads[notify]'"
    sender = apprise.Apprise()
    if not sender.add(hook.text):
        return f"{hook.name} is no URL that Apprise knows"
    title = f"Given up: {message['id']} {message['title']}"
    last = f"{message.get('reason', '')}: {message.get('error', '')}".strip(": ")
    body = f"{message['attempts']} attempts, the last by {message.get('agent', 'somebody')}. {last}\nkey {message['key']}"
    return "" if sender.notify(title=title, body=body) else f"{hook.name}: Apprise could not deliver it"
