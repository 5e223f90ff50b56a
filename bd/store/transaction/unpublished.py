"""Operations that never reached the hub: text is kept under `refs/bd/kept/<uid>`, a claim lapses, and the user is told.

This module deals with an operation that can't land any more; recovery.py finds out that it can't.
"""

from __future__ import annotations

from itertools import chain

from bd import TYPE_CHECKING
from bd.core.errors import ServerRefused, TryAgain
from bd.core.json_shapes import json_value
from bd.core.value import Value
from bd.store import rejected
from bd.store.git import commit_message
from bd.store.group_commit import requests, verdict_trailers

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from bd.core.operation import Operation
    from bd.store.contract import JournalEntry
    from bd.store.group_commit.verdict_trailers import Verdict
    from bd.store.replica import Replica

# Operations that are meaningless if they come late, and hold no text that somebody wrote.
_LAPSES = frozenset({"claim", "heartbeat", "init", "start", "take"})
_SILENT = "the push got no answer and did not reach the hub"


class _Lost(Value):
    """A lost operation, and the commit of this clone that holds its text; empty if none was built."""

    verb: str
    subject: str
    commit: str


def pushes_of(data: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return what an entry's author pushed without an answer, the last push first: the `commits` and the `batch` of each."""
    last = {"commits": data.get("commits") or [], "batch": data.get("batch") or {}}
    return [push for push in (last, *reversed(data.get("earlier") or ())) if push["commits"]]


def answer_to(replica: Replica, entry: JournalEntry, tip: str, heard: Mapping[str, Verdict]) -> Mapping[str, Any] | None:
    """Return how an operation ended, from whoever carried it out: a commit with its uid, a verdict, or a neighbour's answer.

    None if nobody did.
    """
    if entry.uid in heard:
        return heard[entry.uid].answer
    told = (replica.journal.answered(entry) or {}).get("answer")
    if isinstance(told, dict):
        return told
    since = [entry.data.get(key) or "" for key in ("base", "asked_on", "since")]
    found = verdict_trailers.since(replica.repo, since, tip).get(entry.uid)
    return found.answer if found else None


def give_up(replica: Replica, entry: JournalEntry, answer: Mapping[str, Any] | None) -> str:
    """Keep an operation that was refused or never arrived, unless it lapses. Return a note for the user, or ""."""
    if answer is not None and "code" not in answer:
        return ""
    lost = _lost(replica, entry)
    if lost is None:
        return ""
    why = _SILENT if answer is None else f"it was refused: {answer.get('message') or answer['code']}"
    if lost.verb in _LAPSES:
        return f"{lost.subject}: {why}; the claim has lapsed" if answer is None else ""
    commit = lost.commit or _written_down(replica, entry)
    if replica.repo.ref(f"{rejected.PREFIX}{entry.uid}") is None:
        rejected.keep(replica, entry.uid, commit, f"{lost.subject}: {why}")
    words = f"`git show {commit[:10]}` shows it, `bd sync --dismiss {entry.uid}` dismisses it"
    return f"{lost.subject}: {why}; it is kept: {words}"


def set_aside(replica: Replica, operation: Operation, commit: str, error: ServerRefused) -> ServerRefused:
    """Keep an operation that the server refuses for good, unless it lapses. Return the refusal to report."""
    if operation.needs_remote or operation.verb in _LAPSES:
        return error
    _, text = commit_message.split_commit(replica.repo.objects.read(commit) or b"")
    subject = text.partition("\n")[0]
    try:
        rejected.keep(replica, operation.uid, commit, f"{subject}: {error.message}")
    except (TryAgain, OSError):  # the refusal is reported in any case
        return error
    hint = f"{error.hint}; {subject} is kept in this clone: `bd sync --kept` lists it"
    return ServerRefused(error.message, hint=hint, **{**error.data, "kept": operation.uid}, written="local")


def _lost(replica: Replica, entry: JournalEntry) -> _Lost | None:
    """Find the operation behind an entry: from the pushed commit, from the request, or from its form."""
    for commit in chain.from_iterable(push["commits"] for push in pushes_of(entry.data)):  # the last can be of neighbours alone
        _, text = commit_message.split_commit(replica.repo.objects.read(commit) or b"")
        form = commit_message.form_of(text)
        if form is not None and form["uid"] == entry.uid:
            return _Lost(form["verb"], text.partition("\n")[0], commit)
    asked = (entry.data.get("intents") or {}).get(entry.uid) or ""
    if asked:
        _, text = commit_message.split_commit(replica.repo.objects.read(asked) or b"")
        try:
            return _named(json_value(text)["op"], asked)
        except (ValueError, KeyError, TypeError):
            return None
    # A waiting process knows its result or was killed; one in state `unknown` was told that nobody knew.
    return _named(entry.data["form"], "") if entry.data["state"] == "unknown" and entry.data.get("form") else None


def _named(form: Mapping[str, Any], commit: str) -> _Lost:
    named = (form.get("args") or {}).get("ids") or []
    what = " ".join(map(str, named)) or str((form.get("args") or {}).get("title") or "")
    return _Lost(form["verb"], f"{form['verb']}: {what} by {str(form.get('by')).split(':', 1)[-1]}", commit)


def _written_down(replica: Replica, entry: JournalEntry) -> str:
    """Write a commit that holds the operation, if none was ever built for it."""
    now, author = replica.runtime.now(), "bd <kept@bd>"
    text = requests.text_of(entry.data["form"], author=author, base=entry.data.get("since") or "", at=now, tries=1)
    return replica.sides.commit(text, author, now)
