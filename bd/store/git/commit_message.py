"""Commit messages: the subject for people, the trailers for machines.

`Bd-Op` is the operation's JSON form, from which a replay decides it again. If that would be long (an import), the form has no
arguments, and the replay reads the commit's difference.
"""

from __future__ import annotations

import json

from bd import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from bd.core.model import Change

_FORM_LIMIT = 30_000
_COMPACT = json.JSONEncoder(separators=(",", ":"))
# The trailer of an idempotency key: its digest, and that of the request's body.
KEY = "Bd-Key"
_KINDS: dict[str, Any] = {"verb": str, "uid": str, "by": str, "at": str, "args": dict, "tokens": (dict, type(None))}
LATEST_S = 253_402_300_799  # the last second of the year 9999
# Arguments that show that a write overrode somebody, and why: they stay in a shortened form.
_TELLING = ("force", "reason", "note", "release", "resume")
_REASON_LIMIT = 500


def compose(
    change: Change,
    form: Mapping[str, Any],
    *,
    tries: int,
    original: str | None = None,
    more: str = "",
    prefix: str = "",
    trailers: Iterable[str] = (),
) -> str:
    """Compose the message of a commit with one operation. `original` is a person's own message, `more` are further trailers.

    `prefix` and `trailers` are those that the hub's settings add.
    """
    once, form = form.get("once"), {key: value for key, value in form.items() if key != "once"}
    text = _COMPACT.encode(form)
    if len(text) > _FORM_LIMIT:
        text = _COMPACT.encode(_shortened(form))
    told = [f"Bd-Op: {text}"]
    told += [f"Bd-Bead: {bead_id}" for bead_id in change.touched[:50]]
    told.append(f"Bd-Agent: {str(form['by']).split(':', 1)[-1]}")
    tokens = [token for token, _ in change.tokens] or list(dict.fromkeys((form.get("tokens") or {}).values()))
    told += [f"Bd-Token: {token}" for token in tokens]
    told += [f"Bd-Uid: {form['uid']}", f"Bd-Tries: {tries}"]
    told += [f"{KEY}: {once['key']} {once['body']}"] if once else []
    told += trailers
    lines = [original.rstrip() if original else _one_line(f"{prefix}{change.subject}"), "", *map(_one_line, told)]
    return "\n".join(lines) + "\n" + more


def _one_line(text: str) -> str:
    """A line of a message: names in it are from requests and settings of a hub, and must not begin another trailer."""
    return " ".join(text.split("\n")) if "\n" in text else text


def _shortened(form: Mapping[str, Any]) -> dict[str, Any]:
    """Reduce the form to what the difference does not show: who, when, under which tokens, and with which force."""
    short = {key: form[key] for key in ("verb", "uid", "by", "at", "tokens") if key in form}
    args = {key: form["args"][key] for key in _TELLING if (form.get("args") or {}).get(key)}
    told = {key: value[:_REASON_LIMIT] if isinstance(value, str) else value for key, value in args.items()}
    return {**short, "by_difference": True, **({"args": told} if told else {})}


def parse(message: str) -> dict[str, list[str]]:
    """Return the `Bd-*` trailers of a message, each key with its values."""
    found: dict[str, list[str]] = {}
    for line in message.split("\n"):  # not splitlines: a form feed or U+2028 in a name must not begin a trailer
        key, colon, value = line.partition(": ")
        if colon and key.startswith("Bd-"):
            found.setdefault(key, []).append(value)
    return found


def form_of(message: str) -> dict[str, Any] | None:
    """Return the operation's form in a message; None for a hand-made commit."""
    values = parse(message).get("Bd-Op")
    if not values:
        return None
    try:
        form = json.loads(values[-1])
    except (ValueError, RecursionError):
        return None
    is_form = isinstance(form, dict) and "verb" in form and "uid" in form
    return form if is_form and all(isinstance(form[key], kind) for key, kind in _KINDS.items() if key in form) else None


def split_commit(data: bytes) -> tuple[dict[str, list[str]], str]:
    """Split a raw commit object into its header lines and its message."""
    head, _, message = data.decode("utf-8", "replace").partition("\n\n")
    headers: dict[str, list[str]] = {}
    for line in head.split("\n"):
        key, _, value = line.partition(" ")
        if key:
            headers.setdefault(key, []).append(value)
    return headers, message


def signed_by(headers: Mapping[str, list[str]]) -> tuple[str, int]:
    """Return a commit's author, `Name <mail>`, and time in seconds.

    Tolerates anything there: hand-made commits can contain any text.
    """
    return _signature((headers.get("author") or [""])[0])


def committed_at_s(headers: Mapping[str, list[str]]) -> int:
    """Return the committer's time in seconds: when the commit was put where it is."""
    return _signature((headers.get("committer") or [""])[0])[1]


def _signature(line: str) -> tuple[str, int]:
    """Return the name, `Name <mail>`, and the time in seconds of a header line."""
    name, end, stamp = line.rpartition("> ")
    word = (stamp.split() or [""])[0]
    at_s = int(word) if end and word.isdecimal() and len(word) < 16 else 0
    return f"{name}>" if end else "unknown <unknown>", min(at_s, LATEST_S)
