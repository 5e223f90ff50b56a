"""Notifies people through hooks: commands and Apprise URLs of this clone, and those of the hub that it trusts.

Any clone with a trusted hook may do it; a commit that the remote accepted decides which one does (operations/notify.py). A hook
gets the same key again only if a process died after sending and before recording it.
"""

from __future__ import annotations

import json

from bd import TYPE_CHECKING
from bd.core import urls
from bd.core.errors import BdError, ServerRefused, TryAgain
from bd.notify import events as occasions
from bd.notify import trusted_commands
from bd.operations.base import asked
from bd.operations.notify import Notified, Notify

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from bd.policy.liveness import Stall
    from bd.store import Clone

AT_ONCE = 20
HOOK_LIMIT_S = 60.0
_SAID_LIMIT = 300


def tell(hub: Clone, by: str, stalls: Sequence[Stall] = ()) -> list[str]:
    """Notify people of everything they have not heard of; return a line for each notification and for each failed hook.

    `stalls` are those that were found and are not resolved.
    """
    hooks = trusted_commands.commands(hub, "notify")
    due = occasions.due(hub.snapshot(), stalls, hub.runtime.now())[:AT_ONCE] if hooks else []
    if not due:
        return []
    events, ids = {one.id: one.event for one in due}, [one.id for one in due]
    keys = {one.id: one.key for one in due if one.event != "dead_letter"}
    right = Notify(**asked(hub.runtime, by, ids=ids, **({"keys": keys} if keys else {})))
    try:
        outcome = hub.publish(right)
    except BdError as error:
        return [f"nobody was notified of {', '.join(ids)} yet: {error}"]
    said: list[str] = []
    done: list[str] = []
    snapshot = hub.snapshot(outcome.commit)
    for bead in snapshot.wholes(list(outcome.change.touched) if outcome.change else []):
        message = occasions.message_of(bead, events[bead.id], snapshot, hub.runtime.now(), stalls)
        wrong = [words for hook in hooks if (words := _run(hook, message, hub.checkout))]
        said += [f"{bead.id}: {words}" for words in wrong] or [
            f"notified people that {bead.id} {occasions.SAID[events[bead.id]]}"
        ]
        done += [] if wrong else [bead.id]
    if done:
        try:
            hub.publish(Notified(**asked(hub.runtime, by, ids=done, right=right.uid)))
        except (TryAgain, ServerRefused) as error:
            said.append(f"could not record that people were notified of {', '.join(done)}: {error}")
    return said


def _run(hook: trusted_commands.Command, message: dict[str, Any], hub_folder: str) -> str:
    """Run one hook; return an error message, or ""."""
    if urls.is_url(hook.text) and not any(blank in hook.text for blank in " \n\t"):
        return _by_apprise(hook, message)
    environment = {"BD_EVENT": message["event"], "BD_EVENT_KEY": message["key"], "BD_BEAD_ID": message["id"]}
    # a hub's ./notify.sh is a file of the hub, wherever bd was started
    folder = hub_folder if hook.where.startswith("config.") else None
    told = json.dumps(message, ensure_ascii=False) + "\n"
    ran = trusted_commands.run(hook.text, environment, HOOK_LIMIT_S, stdin=told, folder=folder, files=hook.files)
    if ran.code == 0:
        return ""
    words = ran.err or ran.out
    how = ran.err if ran.code is None else f"failed with exit code {ran.code}{f': {words}' if words else ''}"
    return f"{hook.where} {how}"[:_SAID_LIMIT]


def _by_apprise(hook: trusted_commands.Command, message: dict[str, Any]) -> str:
    try:
        import apprise  # noqa: PLC0415  an optional extra
    except ImportError:
        return f"{hook.where} is a URL, which takes the extra: pip install 'gitbeads[notify]'"
    sender = apprise.Apprise()
    if not sender.add(hook.text):
        return f"{hook.where} is not a URL that Apprise knows"
    title, body = occasions.words_of(message)
    return "" if sender.notify(title=title, body=body) else f"{hook.where}: Apprise could not deliver it"
