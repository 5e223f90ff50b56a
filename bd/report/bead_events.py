"""The effects of a commit on beads, as transitions: created, claimed, closed, failed ... Pure.

Derived from what changed, not from what the commit claims, so that hand edits show as what they are.
"""

from __future__ import annotations

from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.core.schema import DONE_STATUSES
from bd.policy.lifecycle import waits_for_human
from bd.report.commits import BY_HAND, who

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from bd.core.model import Bead
    from bd.report.commits import Commit

# How a claim ended without ending its bead, by verb.
_ENDS = {"fail": "failed", "reassign": "freed", "wait-human": "parked", "undo": "taken back", "delete": "deleted"}
# The transition for a change of neither claims nor status.
_CHANGES = {
    "comment": "commented",
    "notified": "people told",
    "dlq-review": "reviewed",
    "cost": "cost",
    "heat": "heated",
    "archive": "archived",
    "undo": "taken back",
}
_MOVES = {"closed": "closed", "cancelled": "cancelled", "dead_letter": "dead letter", "deferred": "deferred", "blocked": "parked"}
# Heartbeats are no transitions.
SILENT = frozenset({"heartbeat"})
CLAIMING = frozenset({"claimed", "reserved"})
# Transitions that end an attempt.
ENDING = frozenset({"closed", "cancelled", "failed", "freed", "released", "parked", "taken back", "deleted"})


class Transition(NamedTuple):
    """One transition of a bead, or of the hub if `bead` is empty. `tries` counts the pushes of its commit.

    `agent` and `token` are of the claim concerned; `before` and `after` are the bead (None: it does not exist).
    """

    what: str
    commit: str
    at: str
    by: str
    kind: str
    tries: int
    bead: str = ""
    agent: str = ""
    token: str = ""
    attempt: int = 0
    text: str = ""
    before: Bead | None = None
    after: Bead | None = None

    @property
    def title(self) -> str:
        shown = self.after or self.before
        return shown.title if shown else ""

    def as_json(self) -> dict[str, Any]:
        """Return the object of `bd log --json`; unset keys are left out."""
        told = {
            "at": self.at,
            "commit": self.commit,
            "transition": self.what.replace(" ", "_"),
            "id": self.bead,
            "title": self.title,
            "by": self.by,
            "kind": self.kind,
            "agent": self.agent,
            "attempt": self.attempt,
            "text": self.text,
        }
        return {key: value for key, value in told.items() if value not in ("", 0)}


def of_hub(commit: Commit) -> Transition:
    """Return the transition of a commit that touched no bead: settings, an agent, a merge."""
    _, _, text = commit.subject.partition(f"{commit.verb}: ")  # `commit_prefix` may come first
    what = commit.verb or ("merged" if commit.is_merge else BY_HAND)
    return _made(what, commit)._replace(text=text if commit.verb and text else commit.subject)


def of_bead(commit: Commit, bead_id: str, before: Bead | None, after: Bead | None) -> Iterator[Transition]:
    """Yield what a commit did to a bead, in order."""

    def made(what: str, claim: Mapping[str, Any] | None = None, text: str = "") -> Transition:
        told = _made(what, commit)._replace(bead=bead_id, before=before, after=after, text=text)
        if claim is None:
            return told
        attempt = claim.get("attempt", 1)
        return told._replace(agent=claim["agent"], token=claim["token"], attempt=attempt)

    if before is None:
        yield made("created")
    was = {claim["token"]: claim for claim in before.claims} if before else {}
    now = {claim["token"]: claim for claim in after.claims} if after else {}
    gone = [was[token] for token in was if token not in now]
    begun = [now[token] for token in now if token not in was]
    resumed = [claim for claim in begun if any(_is_same(claim, old) for old in gone)]
    gone = [old for old in gone if not any(_is_same(claim, old) for claim in resumed)]
    ends = list(_ends(commit, after, gone))
    for what, claim in ends:
        yield made(what, claim, _reason(what, before, after))
    yield from (made("resumed", claim) for claim in resumed)
    yield from (made("claimed" if claim.get("started_at") else "reserved", claim) for claim in begun if claim not in resumed)
    started = [token for token in now if token in was and now[token].get("started_at") and not was[token].get("started_at")]
    yield from (made("started", now[token]) for token in started)
    moved = _moved(before, after)
    is_told = moved in {what for what, _ in ends} or (moved == "opened" and ends) or begun
    if moved and not is_told:
        yield made(moved, None, _reason(moved, before, after))
    elif before is not None and not (ends or begun or started) and commit.verb not in SILENT:
        yield made(_CHANGES.get(commit.verb, "changed"))


def _made(what: str, commit: Commit) -> Transition:
    by = who(commit)
    return Transition(what, commit.name, commit.at, by.name, by.kind, commit.tries)


def _is_same(new: Mapping[str, Any], old: Mapping[str, Any]) -> bool:
    """Return whether a claim goes on under another token."""
    return (new["agent"], new.get("attempt")) == (old["agent"], old.get("attempt"))


def _ends(commit: Commit, after: Bead | None, gone: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield how each of these claims ended: one of their holders did what was done to the bead."""
    for place, claim in enumerate(sorted(gone, key=lambda claim: claim["token"] not in commit.tokens)):
        if after is None:
            yield "deleted", claim
        elif after.status in DONE_STATUSES:
            yield (after.status if place == 0 else "released"), claim
        else:
            yield _ENDS.get(commit.verb, "released"), claim


def _moved(before: Bead | None, after: Bead | None) -> str:
    """Return the transition of a bead's status; "" if there is none."""
    if after is None:
        return "deleted"
    if before is None or before.status == after.status:
        return ""
    if after.status == "open":
        is_answer = before.status == "blocked" and waits_for_human(before)
        return "answered" if is_answer else "reopened" if before.is_done or before.status == "dead_letter" else "opened"
    return _MOVES.get(after.status, after.status.replace("_", " ") if after.status != "in_progress" else "")


def _reason(what: str, before: Bead | None, after: Bead | None) -> str:
    """Return the text that belongs to it."""
    if after is None:
        return ""
    if what in ("failed", "freed", "dead letter"):
        failures = after.get("failures") or []
        if failures and failures != ((before.get("failures") if before else None) or []):
            last = failures[-1]
            return ": ".join(str(last[key]) for key in ("reason", "error") if last.get(key))
    if what in ("closed", "cancelled"):
        return str(after.get("close_reason") or "")
    return str(after.get("status_reason") or "") if what in ("released", "parked", "deferred") else ""


def failure_of(transition: Transition) -> str:
    """Return the kind of failure that ended an attempt; "" if none did."""
    after = transition.after
    failures = (after.get("failures") if after else None) or []
    return str(failures[-1].get("reason") or "") if failures and transition.what in ("failed", "freed") else ""
