"""Verdicts in commit trailers: the results of operations that other clones carried out.

`Bd-Verdict: <uid> ok|<code> <JSON>` tells the author of a request its result; a commit's own `Bd-Uid` does, too. driver.py draws
the conclusions.
"""

from __future__ import annotations

import json

from bd import TYPE_CHECKING
from bd.core.json_shapes import fits, json_value
from bd.core.value import Value
from bd.store.git import commit_message
from bd.store.group_commit.answer import is_answer

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from bd.store.contract import Repository

KEY = "Bd-Verdict"


class Verdict(Value):
    """The result of an operation, and the commit that records it."""

    commit: str
    answer: Mapping[str, Any]


def line(uid: str, answer: Mapping[str, Any]) -> str:
    """Compose the trailer that answers a request."""
    text = json.dumps(answer, separators=(",", ":"))
    return f"{KEY}: {uid} {answer.get('code', 'ok')} {text}\n"


def since(repo: Repository, bases: Iterable[str], tip: str) -> dict[str, Verdict]:
    """Return the verdicts by uid on all operations between these commits and the tip, as far as this clone's history reaches."""
    known = [base for base in dict.fromkeys(bases) if base and base != tip]
    if not known:
        return {}
    found: dict[str, Verdict] = {}
    for commit, text in repo.messages(tip, known):  # commits that all bases had are known; those that only some had count
        for uid, answer in answers_in(text).items():
            found.setdefault(uid, Verdict(commit, answer))
    return found


def answers_in(text: str) -> dict[str, Mapping[str, Any]]:
    """Return the answers by uid in a commit's message; a verdict counts before what the other trailers tell."""
    found: dict[str, Mapping[str, Any]] = {}
    for uid, answer in _told(text):
        found.setdefault(uid, answer)
    return found


def _told(text: str) -> Iterable[tuple[str, Mapping[str, Any]]]:
    values = commit_message.parse(text)
    for told in values.get(KEY, ()):
        uid, _, rest = told.partition(" ")
        try:
            answer = json_value(rest.partition(" ")[2])
        except ValueError:
            answer = {}
        yield uid, answer if is_answer(answer) else {}
    for uid in values.get("Bd-Uid", ()):
        yield uid, _of_commit(text, values)


def _of_commit(text: str, values: Mapping[str, list[str]]) -> dict[str, Any]:
    """Derive the answer from a commit's other trailers if it has no verdict."""
    touched = values.get("Bd-Bead", [])
    args = (commit_message.form_of(text) or {}).get("args") or {}
    tokens, ids = (found if fits(found, [str]) else None for found in (args.get("new_tokens"), args.get("ids")))
    return {
        "subject": text.partition("\n")[0],
        "touched": touched,
        "beads": touched,
        "tokens": [list(pair) for pair in zip(tokens or [], ids or touched, strict=False)],
    }
