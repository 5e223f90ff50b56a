"""Webhooks of forges: deliveries are verified and checked for replays, then processed.

A push makes this server check the hub; other events fire triggers, once for the whole fleet.

The body is only data: its event's name selects a trigger, and its values fill in the texts of that trigger's plan, which
somebody with write access has put into the hub.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import JSONResponse

from bd.compat.jsonl_import import event_of
from bd.core.errors import BdError, TryAgain
from bd.policy import triggers
from bd.policy.triggers import FORGES
from bd.schedule import sources
from bd.web import webhook_signatures
from bd.web.request_guard import Refusal
from bd.web.routes import OWN, Route
from bd.web.webhook_signatures import Forged

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from starlette.responses import Response

    from bd.store import Clone
    from bd.web.routes import Ask
    from bd.web.webhook_signatures import Delivery

# The largest delivery, and how many deliveries the clone remembers, also across restarts.
LIMIT = 2 * 1024 * 1024
REMEMBERED = 1000
_NOTE = "deliveries.json"
_BY = "human:webhook"


async def hook(ask: Ask) -> Response:
    """Handle a delivery: 202 for a push, 200 if triggers fired, 401 if not verified, 409 for a replay, 503 to send it again."""
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
    done = await ask.site.change(_take, delivery, name, event, ask.site.tell)
    if done.get("again"):
        raise Refusal(503, "the hub can't be written now; deliver it again")
    return JSONResponse(done, 202 if name == "push" else 200)


def _take(hub: Clone, delivery: Delivery, name: str, event: dict[str, Any], tell: Callable[[str], None]) -> dict[str, Any]:
    """Process a verified delivery, in the writer thread. Raises Refusal for a replay."""
    marks = [f"{delivery.forge}/{delivery.id}"]
    if name != "push":  # not every forge signs the id, so the body's digest counts too
        marks.append(f"{delivery.forge}/{delivery.digest}")
    kept = hub.noted_json(_NOTE, list) or []
    known = [str(one) for one in kept]
    if set(marks) & set(known):
        raise Refusal(409, "this delivery has come before")
    done: dict[str, Any] = {"delivery": delivery.id, "event": name}
    if name not in ("push", "ping"):
        done.update(_fire(hub, delivery, name, event, tell))
    if not done.get("again"):
        hub.note_json(_NOTE, [*known, *marks][-REMEMBERED:])
    return done


def _fire(hub: Clone, delivery: Delivery, name: str, event: dict[str, Any], tell: Callable[[str], None]) -> dict[str, Any]:
    """Fire every trigger for this event; the result has `again` if the hub can't be written now."""
    try:
        hub.fetch()
    except BdError:
        return {"again": True}
    made: list[dict[str, Any]] = []
    for trigger in triggers.triggers_of(hub.snapshot()):
        try:
            on = triggers.parse_on(str(trigger["on"]))
            if on.kind != delivery.forge or not triggers.is_meant(on, name, event):
                continue
            outcome = sources.fire(hub, trigger, event, triggers.forge_key(on, event, delivery.id, once=True), _BY)
            outcome.acknowledge()
        except TryAgain:
            return {"again": True}
        except BdError as error:
            tell(f"trigger {trigger['name']}: {error}")
            made.append({"trigger": trigger["name"], "error": error.message})
            continue
        change = outcome.change
        if change is not None:
            made.append({"trigger": trigger["name"], "root": change.touched[0], "made": bool(change.beads)})
    return {"triggers": made}


ROUTES = (Route("POST", "/hooks/{forge}", hook, OWN, LIMIT),)
