"""What other clones ask for, carried out in a round of this clone's: which of it may be, and the answer to each.

Belongs here: other clones' operations in one round. Does not belong here: their intents (requests.py), the round (batch.py).
"""

from __future__ import annotations

from bd.core import times
from bd.core.errors import BdError
from bd.core.versions import same_rules
from bd.store.group_commit import answer, requests, verdict_trailers
from bd.store.group_commit.others import NOBODY, Others, Stranger

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from bd.core.model import Change
    from bd.core.operation import DecisionContext, Operation
    from bd.store.replica import Replica


def others(hub: Replica, revive: Callable[[Mapping[str, Any]], Operation], base: str, own: set[str]) -> Others:
    """The intents of other clones that may be folded on this base; and what removes those that nobody waits for."""
    seen = {uid: oid for uid, oid in hub.requests.items() if uid not in own}
    if not seen:
        return NOBODY
    found = requests.read(hub, seen)
    gone = requests.abandoned(hub, found, hub.runtime.now())
    waiting = [intent for intent in found if intent not in gone]
    done = verdict_trailers.since(hub.repo, [intent.base for intent in waiting], base)
    gone += [intent for intent in waiting if intent.uid in done]
    waiting = [intent for intent in waiting if same_rules(intent.rules)]  # who decides otherwise publishes alone
    bases = {intent.base for intent in waiting if intent.base != base}
    known = {oid for oid in bases if hub.repo.objects.read(oid) is not None} | {base}
    fitting = [intent for intent in waiting if intent.uid not in done and intent.base in known]
    revived = [(intent, _revived(revive, intent.form)) for intent in fitting]
    strangers = [Stranger(intent, operation) for intent, operation in revived if operation is not None]
    return Others(strangers[: requests.AT_ONCE], [intent.burial for intent in gone])


def _revived(revive: Callable[[Mapping[str, Any]], Operation], form: Mapping[str, Any]) -> Operation | None:
    """The operation of a form; None for one that this version does not know, or that only its author may carry out."""
    try:
        operation = revive(form)
    except Exception:  # noqa: BLE001  whatever it is, it is left to its author
        return None
    return operation if operation.is_portable else None


def fold(add: Callable[..., Change], stranger: Stranger, context: Callable[[], DecisionContext], told: list[str]) -> bool:
    """Carry another clone's operation out; whether its intent is answered by that. Refusals are told by the last commit."""
    intent, operation = stranger

    def trailer(change: Change) -> str:
        return verdict_trailers.line(intent.uid, answer.of_change(change))

    try:
        at_s = times.unix_seconds(operation.at)
        change = add(operation, intent.author, at_s, tries=intent.tries, context=context(), told=trailer)
    except BdError as error:
        told.append(verdict_trailers.line(intent.uid, answer.of_error(error)))
        return True
    except Exception:  # noqa: BLE001  what another clone asked for may be made by a newer bd: left to its author
        return False
    if change.is_empty:
        told.append(verdict_trailers.line(intent.uid, answer.of_change(change)))
    return True
