"""Commit messages: what stays in them when an operation is too long for one."""

from __future__ import annotations

from bd.core.model import Change
from bd.store.git import commit_message

FORM = {"verb": "close", "uid": "U1", "by": "agent:ann", "at": "2026-02-21T15:00:00Z", "tokens": {"hub-a": "T1"}}


def test_a_long_operation_still_says_under_which_token_and_by_which_force() -> None:
    args = {"ids": [f"hub-{number}" for number in range(5000)], "force": True, "reason": "r" * 2000, "output": {"data": "x"}}
    change = Change({}, "close: 5000 beads by ann", tokens=(("T2", "hub-b"),))
    text = commit_message.compose(change, {**FORM, "args": args}, tries=1)
    assert len(text) < 5000
    assert commit_message.form_of(text) == {**FORM, "by_difference": True, "args": {"force": True, "reason": "r" * 500}}
    assert commit_message.parse(text)["Bd-Token"] == ["T2"]


def test_a_short_operation_is_told_whole() -> None:
    form = {**FORM, "args": {"ids": ["hub-a"]}}
    assert commit_message.form_of(commit_message.compose(Change({}, "close: hub-a by ann"), form, tries=1)) == form
