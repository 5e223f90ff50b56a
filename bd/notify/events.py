"""The occasions to notify people, found in this clone's data, and the messages about them.

The rules are in policy/notification.py; hooks.py sends the messages.
"""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.times import time_text
from bd.policy import notification
from bd.policy.dag import ancestors
from bd.policy.dag_progress import Dags, dag_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime
    from typing import Any

    from bd.core.model import Bead, Snapshot
    from bd.policy.liveness import Stall
    from bd.policy.notification import Occasion
    from bd.store import CachedSnapshot


def due(snapshot: CachedSnapshot, stalls: Iterable[Stall], now: datetime) -> list[Occasion]:
    """Return the occasions that people have not been notified of, one per bead, the most serious first."""
    found: dict[str, Occasion] = {}
    for occasion in _seen(snapshot, stalls, now):
        found.setdefault(occasion.id, occasion)
    whole = {bead.id: bead for bead in snapshot.wholes(list(found))}
    return [one for one in found.values() if one.id in whole and notification.is_due(whole[one.id], one, now)]


def _seen(snapshot: CachedSnapshot, stalls: Iterable[Stall], now: datetime) -> Iterator[Occasion]:
    ids = [bead.id for bead in snapshot.live() if bead.status in ("dead_letter", "blocked")]
    beads = snapshot.wholes(ids)
    yield from filter(None, map(notification.given_up, beads))
    yield from filter(None, map(notification.asked, beads))
    by_id = {stall.id: stall.token or stall.since for stall in stalls}
    for bead in snapshot.wholes(list(by_id)):
        occasion = notification.stalled(bead, by_id[bead.id])
        if occasion is not None:
            yield occasion
    yield from _done(snapshot, now)


def _done(snapshot: Snapshot, now: datetime) -> Iterator[Occasion]:
    since = time_text(now - notification.RECENT)
    lately = [bead for bead in snapshot.every() if bead.status == "closed" and (bead.get("closed_at") or "") >= since]
    roots = {root.id: root for bead in lately for root in [*ancestors(bead, snapshot), bead][-2:] if not root.parent}
    dags = Dags(snapshot, now)
    for root in roots.values():
        occasion = notification.done(root, dags) if root.id in dags.children else None
        if occasion is not None:
            yield occasion


def message_of(bead: Bead, event: str, snapshot: CachedSnapshot, now: datetime, stalls: Iterable[Stall] = ()) -> dict[str, Any]:
    """Return the message for a hook. Its `key` is the same for the same occasion, even if it is sent again."""
    facts = {"event": event, "key": notification.noted(bead).get("key"), "id": bead.id, "title": bead.title}
    more: dict[str, Any] = {}
    if event == "dead_letter":
        more = _death(bead)
    elif event == "waiting":
        more = {"at": bead.get("waiting_since"), "question": bead.get("status_reason"), "agent": bead.get("prefer_agent")}
    elif event == "stalled":
        stall = next((one for one in stalls if one.id == bead.id), None)
        holder = bead.claim.agent if bead.claim else None
        more = {"agent": holder, **({"at": stall.since, "why": stall.why, "text": stall.text} if stall else {})}
    elif event == "dag_done":
        dag = dag_of(bead, snapshot, now)
        more = {"at": str(facts["key"]).rpartition("/")[2], "done": dag.done, "total": len(dag.tasks)}
    return {key: value for key, value in {**facts, **more}.items() if value not in (None, "")}


def _death(bead: Bead) -> dict[str, Any]:
    last = (bead.get("failures") or [{}])[-1]
    cost = bead.get("cost")
    return {
        "at": bead.get("dead_lettered_at"),
        "attempts": bead.attempts_counted,
        "poison_pill": bool(bead.get("poison_pill")),
        "agent": last.get("agent"),
        "reason": last.get("reason"),
        "error": last.get("error"),
        "total_cost_usd": cost.get("usd") if isinstance(cost, dict) else None,
    }


def words_of(message: dict[str, Any]) -> tuple[str, str]:
    """Return a message for people: title and text."""
    agent = message.get("agent", "somebody")
    last = f"{message.get('reason', '')}: {message.get('error', '')}".strip(": ")
    head, text = {
        "dead_letter": ("Given up", f"{message.get('attempts')} attempts, the last by {agent}. {last}"),
        "waiting": ("Waiting for you", f"{message.get('question', '')} (`bd answer {message['id']} TEXT` answers)"),
        "stalled": ("Stalled", f"{agent}: {message.get('text', '')}"),
        "dag_done": ("Done", f"{message.get('done')} of {message.get('total')} tasks"),
    }[message["event"]]
    return f"{head}: {message['id']} {message['title']}", f"{text}\nkey {message['key']}"


# What happened, for the log.
SAID = {"dead_letter": "was given up", "waiting": "waits for a person", "stalled": "has stalled", "dag_done": "is done"}
