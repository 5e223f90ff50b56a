"""Webhooks of forges: deliveries are verified, then processed.

A push makes this server check the hub; other events fire triggers, once for the whole fleet. Deliveries are not remembered:
the beads of an event are found in the hub by the signed content, so replays change nothing.

The body is only data: its event's name selects a trigger, and its values fill in the texts of that trigger's plan, which
somebody with write access has put into the hub.
"""

from __future__ import annotations

from starlette.responses import JSONResponse

from bd import TYPE_CHECKING
from bd.compat.jsonl_import import event_of
from bd.core.errors import BdError
from bd.policy import triggers
from bd.policy.triggers import FORGES
from bd.schedule import sources
from bd.web import error_responses, webhook_signatures
from bd.web.refusal import Refusal
from bd.web.routes import OWN, Route
from bd.web.webhook_signatures import Forged

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from starlette.responses import Response

    from bd.store import Clone
    from bd.web.routes import Ask
    from bd.web.webhook_signatures import Delivery

# The largest delivery.
LIMIT = 2 * 1024 * 1024
# The deliveries that bd 0.9 remembered: read, and no longer written.
_NOTE = "deliveries.json"
_BY = "human:webhook"


async def hook(ask: Ask) -> Response:
    """Handle a delivery: 202 for a push, 200 once everything that it asks for is in the hub, 401 if not verified, else 503."""
    forge = ask.words["forge"]
    secret = ask.site.secrets.get(forge)
    if not secret:
        raise Refusal(404, f"no webhooks of {forge}" if forge in FORGES else "no such forge", "`bd serve --hook-secrets FILE`")
    if "json" not in ask.request.headers.get("content-type", ""):
        raise Refusal(415, "a delivery is JSON", "choose application/json as the webhook's content type")
    try:
        delivery = webhook_signatures.delivery_of(
            forge, ask.request.headers, ask.body, secret, ask.site.runtime.now().timestamp()
        )
    except Forged as forged:
        raise Refusal(401, str(forged)) from None
    event = event_of(ask.body, "the delivery")
    name = delivery.event or str(event.get("object_kind") or "")
    done: dict[str, Any] = {"delivery": delivery.id, "event": name}
    if name in ("push", "ping"):  # the server only checks the hub, so repeating it is harmless
        ask.site.feed.look()
        return JSONResponse(done, 202 if name == "push" else 200)
    try:
        made, missing = await ask.site.change(_fire, delivery, name, event)
    except Exception as error:  # noqa: BLE001  whatever went wrong, a redelivery finds out what is missing
        made, missing = [], [error_responses.told_of(error)[1]["error"]]
    for words in missing:
        ask.site.tell(words)
    if missing:
        raise Refusal(503, f"not all of it is in the hub: {'; '.join(missing)}", "deliver it again; nothing is made twice")
    return JSONResponse({**done, "triggers": made})


def _fire(hub: Clone, delivery: Delivery, name: str, event: dict[str, Any]) -> tuple[list[dict[str, Any]], list[str]]:
    """Fire every trigger for this event, in the writer thread. Return what each made, and why something is not in the hub yet.

    Raises BdError if the hub can't be fetched or read.

    The idempotency key in the hub is the digest of the signed body, or the address of what was opened, so a replay of any age
    finds what was made.
    """
    if _was_taken_before(hub, delivery):
        return [], []
    hub.fetch()
    made: list[dict[str, Any]] = []
    missing: list[str] = []
    for trigger in triggers.triggers_of(hub.snapshot()):
        if not _waits_for(trigger, delivery, name, event):
            continue
        try:
            key = triggers.forge_key(triggers.parse_on(str(trigger["on"])), event, delivery.digest, once=True)
            outcome = sources.fire(hub, trigger, event, key, _BY)
            outcome.acknowledge()
        except BdError as error:
            missing.append(f"trigger {trigger['name']}: {error}")
            continue
        change = outcome.change
        if not outcome.published or change is None:
            missing.append(f"trigger {trigger['name']}: what it made is not published yet")
        else:
            made.append({"trigger": trigger["name"], "root": change.touched[0], "made": bool(change.beads)})
    return made, missing


def _waits_for(trigger: Mapping[str, Any], delivery: Delivery, name: str, event: dict[str, Any]) -> bool:
    try:
        on = triggers.parse_on(str(trigger["on"]))
    except BdError:  # the doctor names it
        return False
    return on.kind == delivery.forge and triggers.is_meant(on, name, event)


def _was_taken_before(hub: Clone, delivery: Delivery) -> bool:
    """Return whether an older bd of this clone has taken the delivery: what it made has another key in the hub."""
    return f"{delivery.forge}/{delivery.digest}" in (hub.noted_json(_NOTE, list) or [])


ROUTES = (Route("POST", "/hooks/{forge}", hook, OWN, LIMIT),)
