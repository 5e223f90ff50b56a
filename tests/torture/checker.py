"""The rules: what must hold after a history, whatever died in it (docs/protocol.md, "What must hold").

Pure: takes what the processes were told and what git shows, and gives sentences about what is wrong. So it can be fed
broken histories, which test_checker.py does rule by rule.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bd.core.model import Bead
    from tests.torture.calls import Told
    from tests.torture.reading import Commit


class Seen(NamedTuple):
    """A claim that somebody saw as stalled: when, and after how long a silence claims of its kind count as stalled.

    `is_blind`: the server shows heartbeats to this observer no more, so that only commits count.
    """

    token: str
    at_s: float
    limit_s: float
    is_blind: bool = False


@dataclass
class Lived:
    """A history that is over.

    `commits` are the branch's, oldest first; `gone` those that only a rewritten line had. `kept` are texts of the refused
    replays that clones keep. `peace` are the calls made after all faults had ended. `leftovers`, `audit`: what was found
    in clones and by `bd audit`. `backward` are moves of the branch that were no fast-forward and that no fault made.
    `idle` names the pushes that brought nothing; `claimed_s` says when a claim was surely made, and `beaten_s` at what times its
    holder surely sent a heartbeat, by token; `stalls` are what others took for stalled. Histories with real git leave these empty.
    """

    commits: list[Commit]
    told: list[Told]
    gone: list[Commit] = field(default_factory=list)
    peace: list[Told] = field(default_factory=list)
    kept: str = ""
    lost_clones: frozenset[str] = frozenset()
    leftovers: list[str] = field(default_factory=list)
    audit: list[str] = field(default_factory=list)
    backward: list[str] = field(default_factory=list)
    intents: list[str] = field(default_factory=list)
    beats: list[str] = field(default_factory=list)
    idle: list[str] = field(default_factory=list)
    claimed_s: dict[str, float] = field(default_factory=dict)
    beaten_s: dict[str, list[float]] = field(default_factory=dict)
    stalls: list[Seen] = field(default_factory=list)
    is_blind: bool = False

    @property
    def every_commit(self) -> list[Commit]:
        return [*self.gone, *self.commits]

    @property
    def is_rewritten(self) -> bool:
        return bool(self.gone)


RULES: dict[str, Callable[[Lived], Iterator[str]]] = {}


def rule(check: Callable[[Lived], Iterator[str]]) -> Callable[[Lived], Iterator[str]]:
    RULES[check.__name__] = check
    return check


def violations(lived: Lived) -> list[str]:
    """Everything that is wrong; empty when all rules hold."""
    return [f"{name}: {text}" for name, check in RULES.items() for text in check(lived)]


# --- what the hub shows -------------------------------------------------------------------


@rule
def only_added_to(lived: Lived) -> Iterator[str]:
    """The branch moves forward only."""
    for move in lived.backward:
        yield f"the branch was moved {move}, which is no fast-forward"


@rule
def one_owner(lived: Lived) -> Iterator[str]:
    """A claim follows another only over a commit at which the bead was free; an agent may resume its own attempt."""
    for older, newer in _pairs(lived):
        for bead_id, was, bead in _changed(older, newer):
            last, claim = was.claim if was else None, bead.claim
            if claim and last and (claim.agent, claim.attempt) != (last.agent, last.attempt):
                yield f"{bead_id} went from {last.agent} straight to {claim.agent} in {newer.oid[:10]} ({newer.subject})"
            if claim and bead.status not in ("in_progress", "validating"):
                yield f"{bead_id} is held by {claim.agent} and {bead.status} in {newer.oid[:10]}"


@rule
def fenced(lived: Lived) -> Iterator[str]:
    """Whoever ends a claim as its holder does so under its token."""
    for older, newer in _pairs(lived):
        if newer.subject.partition(":")[0] in _ENDING:
            ended = _tokens(older).keys() - _tokens(newer).keys() - newer.tokens
            for token in ended:
                yield f"{newer.oid[:10]} ({newer.subject}) ended the claim {token} of {_tokens(older)[token]} without its token"


@rule
def unknown_is_settled(lived: Lived) -> Iterator[str]:
    """A text whose author was told that nobody knows is on the hub or kept, once everything works again."""
    uids = {uid for commit in lived.every_commit for uid in commit.uids}
    for told in lived.told:
        is_text = told.kind in ("create", "comment") and told.code == 6 and told.written == "unknown"
        is_there = bool(set(told.uids) & uids) or any(uid in lived.kept for uid in told.uids)
        if is_text and told.clone not in lived.lost_clones and told.uids and not is_there:
            yield f"{_name(told)} was told that nobody knows, and its text is neither on the hub nor kept"


@rule
def tokens_are_new(lived: Lived) -> Iterator[str]:
    """No token comes back once its claim has ended, and none is on two beads (an undo brings its own claim back)."""
    ended: set[str] = set()
    for older, newer in _pairs(lived):
        before, now = _tokens(older), _tokens(newer)
        ended |= before.keys() - now.keys()
        back = [token for token in now if token in ended and not newer.subject.startswith("undo")]
        for token in back:
            yield f"token {token} of {now[token]} is current again in {newer.oid[:10]} ({newer.subject})"
        ended -= now.keys()


@rule
def attempts_count(lived: Lived) -> Iterator[str]:
    """Attempts only grow, one with each claim, and the claim has their number."""
    for older, newer in _pairs(lived):
        for bead_id, before, bead in _changed(older, newer):
            was, now = before.attempts if before else 0, bead.attempts
            if now < was and not newer.subject.startswith("undo"):
                yield f"{bead_id} fell from {was} to {now} attempts in {newer.oid[:10]} ({newer.subject})"
            had = before.claim if before else None
            is_new = bead.claim is not None and (had is None or bead.claim.attempt != had.attempt)
            if is_new and bead.claim and not newer.subject.startswith("undo") and not now == was + 1 == bead.claim.attempt:
                yield f"{bead_id} went from {was} to {now} attempts by a claim in {newer.oid[:10]}"


@rule
def nothing_lost(lived: Lived) -> Iterator[str]:
    """No bead goes and no comment changes (nobody deletes here)."""
    for older, newer in _pairs(lived):
        gone = [bead_id for bead_id in older.beads if bead_id not in newer.beads]
        if gone and not newer.subject.startswith("undo"):
            yield f"{', '.join(gone)} gone in {newer.oid[:10]} ({newer.subject})"
        for bead_id, was, bead in _changed(older, newer):
            before, now = _comments(was) if was else {}, _comments(bead)
            lost = [text for key, text in before.items() if now.get(key) != text]
            if lost and not newer.subject.startswith("undo"):
                yield f"{bead_id} lost the comment {lost[0]!r} in {newer.oid[:10]} ({newer.subject})"


@rule
def nothing_torn(lived: Lived) -> Iterator[str]:
    """Every bead file of every commit can be read."""
    for commit in lived.commits:
        if commit.torn:
            yield f"{', '.join(commit.torn)} can't be read in {commit.oid[:10]} ({commit.subject})"


@rule
def nothing_twice(lived: Lived) -> Iterator[str]:
    """No operation takes effect twice."""
    counted = Counter(uid for commit in lived.commits for uid in commit.uids)
    for uid, count in counted.items():
        if count > 1:
            yield f"operation {uid} took effect {count} times{_whose(lived, uid)}"


@rule
def no_idle_push(lived: Lived) -> Iterator[str]:
    """Every push brings a commit that changes something, or moves a ref; who has nothing to say pushes nothing."""
    yield from lived.idle


@rule
def no_stall_without_cause(lived: Lived) -> Iterator[str]:
    """Nobody takes a claim for stalled whose holder gave a sign of life a moment ago."""
    for stall in lived.stalls:
        beaten_s = [] if stall.is_blind else lived.beaten_s.get(stall.token, [])
        signs_s = [lived.claimed_s.get(stall.token, 0.0), *beaten_s]
        silence_s = stall.at_s - max((at_s for at_s in signs_s if at_s <= stall.at_s), default=0.0)
        if silence_s < stall.limit_s:
            yield f"the claim {stall.token} was seen as stalled after a silence of {silence_s:.0f} s, less than {stall.limit_s:.0f} s"


@rule
def audit_agrees(lived: Lived) -> Iterator[str]:
    """bd's own audit finds nothing."""
    yield from lived.audit


# --- what the processes were told ---------------------------------------------------------


@rule
def no_acknowledged_write_lost(lived: Lived) -> Iterator[str]:
    """What was told as published is on the hub, and what was told as kept is, after peace, there or listed as refused."""
    uids = {uid for commit in lived.every_commit for uid in commit.uids}
    tokens = {token for commit in lived.every_commit for token in _tokens(commit)}
    marks = _marks(lived)
    for told in [*lived.told, *lived.peace]:
        if not (told.code == 0 or told.is_kept_here):
            continue
        if told.is_kept_here and told.clone in lived.lost_clones:
            continue
        is_said = (
            told.mark in told.out or "kept in this clone" in told.err + told.out
        )  # else it has changed nothing: it was closed already
        if told.is_kept_here and told.kind == "close" and _ended(lived, told.bead):
            continue  # somebody else has closed it meanwhile, which changes nothing
        lost = told.mark and is_said and told.kind in _MARKED and told.mark not in marks and not set(told.uids) & uids
        if lost and not any(word in lived.kept for word in (told.mark, *told.uids)):
            yield f"{_name(told)} was told as {'kept' if told.is_kept_here else 'published'}, and is not on the hub"
        if told.kind == "claim" and isinstance(told.json, list):
            for bead in told.json:
                token = (bead.get("claim") or {}).get("token")
                if token not in tokens:
                    yield f"{_name(told)} was told that it holds {bead.get('id')} under {token}, and no commit says so"


@rule
def nothing_denied_is_there(lived: Lived) -> Iterator[str]:
    """What was told as refused or not written is nowhere on the hub."""
    uids = {uid: commit for commit in lived.every_commit for uid in commit.uids}
    for told in [*lived.told, *lived.peace]:
        is_denied = told.code in (2, 3, 4, 5, 7) or (told.code == 6 and told.written == "no")
        if is_denied and not told.is_kept_here and len(told.uids) == 1 and told.uids[0] in uids:
            commit = uids[told.uids[0]]
            if told.kind in ("poll", "work") and commit.subject.startswith("reassign: "):
                continue  # that there is no work now says nothing of what it has freed on its way
            if told.kind == "claim" and "has ended it in the same push" in told.err:
                continue  # it was won, and is told as over
            yield f"{_name(told)} was told {_end(told)}, and is on the hub as {commit.oid[:10]} ({commit.subject})"


@rule
def in_order(lived: Lived) -> Iterator[str]:
    """Who began after another was told of its success comes after it in history."""
    if lived.is_rewritten:
        return
    place = {uid: number for number, commit in enumerate(lived.commits) for uid in commit.uids}
    done = [told for told in lived.told if told.code == 0 and not told.is_kept_here and len(told.uids) == 1]
    done = [told for told in done if told.uids[0] in place]
    found = [(told, [place[uid] for uid in told.uids if uid in place]) for told in lived.told]
    once = [(told, places[0]) for told, places in found if len(places) == 1]
    for first in done:
        at = place[first.uids[0]]
        for second, later in once:
            if later < at and second.began > first.ended:
                yield f"{_name(second)} began after {_name(first)} was told, and stands before it in history"


@rule
def each_claim_told_once(lived: Lived) -> Iterator[str]:
    """Two who ask for the next bead are never given the same claim, unless the first one died before it could say so."""
    given: dict[str, Told] = {}
    for told in lived.told:
        if told.code != 0 or told.kind != "claim" or not isinstance(told.json, list):
            continue
        if "--next" not in told.words and "close" not in told.words:
            continue
        for bead in told.json:
            token = (bead.get("claim") or {}).get("token")
            if token and token in given:
                yield f"{_name(told)} was given the claim of {bead.get('id')} that {_name(given[token])} had been given"
            given[token] = told


@rule
def all_end_well(lived: Lived) -> Iterator[str]:
    """Every command ends, with a code that says what to do next."""
    for told in [*lived.told, *lived.peace]:
        if told.is_hung:
            yield f"{_name(told)} did not come back"
        elif told.code == 1 or told.code > 7:
            if not (told.code == 137 or told.was_killed):
                yield f"{_name(told)} ended with {told.code}: {(told.err.strip() or told.out.strip())[-400:]}"
        elif told.code < 0 and not any("kill" in name or "died" in name or "disk" in name for name in told.faults):
            yield f"{_name(told)} was killed by signal {-told.code}, and no fault did it"


# --- what the clones are like afterwards --------------------------------------------------


@rule
def clones_stay_usable(lived: Lived) -> Iterator[str]:
    """When everything works again, every clone does, without anybody mending it by hand."""
    for told in lived.peace:
        if told.code != 0 and not (told.kind == "sync" and told.code == 5):
            yield f"after peace, {_name(told)} ended with {told.code}: {told.err.strip()[:300]}"


@rule
def nothing_left_behind(lived: Lived) -> Iterator[str]:
    """No lock, no entry of the journal, no difference in a checkout, no intent of a living clone, no beat without a claim.

    What may stay is the entry of a claim that was won by a process which died, and its answer: its agent's next claim is
    handed it; and for a while that of an ask without an answer, which may still arrive.
    """
    tokens = _tokens(lived.commits[-1]) if lived.commits else {}
    for text in lived.leftovers:
        if lived.is_blind and '"state": "asked"' in text:  # what was asked beside the branch can't be taken back any more
            continue
        if _UNANSWERED.search(text):
            continue
        if not (('"won"' in text or ".answer:" in text) and any(token in text for token in tokens)):
            yield text
    if lived.is_blind:
        return
    if not lived.lost_clones:
        for uid in lived.intents:
            yield f"the intent {uid} is left on the hub{_whose(lived, uid)}"
    for token in lived.beats:
        if token not in tokens:
            yield f"the claim's ref {token} is left on the hub, and no bead is held under it"


# --- helpers ------------------------------------------------------------------------------

_UNANSWERED = re.compile(r'"unanswered_since_s": \d')
_ENDING = ("close", "release", "fail")
_MARKED = ("comment", "create", "notes", "close", "release", "fail")


def _pairs(lived: Lived) -> Iterator[tuple[Commit, Commit]]:
    """Each commit with the one before it."""
    yield from zip(lived.commits, lived.commits[1:], strict=False)


def _changed(older: Commit, newer: Commit) -> Iterator[tuple[str, Bead | None, Bead]]:
    """Each bead that the newer commit has written, as it was before (None: new) and as it is; the others are the same objects."""
    for bead_id, bead in newer.beads.items():
        was = older.beads.get(bead_id)
        if was is not bead:
            yield bead_id, was, bead


def _tokens(commit: Commit) -> dict[str, str]:
    """The current tokens of a commit, and their beads."""
    return {str(claim.get("token")): bead_id for bead_id, bead in commit.beads.items() for claim in bead.claims}


def _ended(lived: Lived, bead_id: str) -> bool:
    bead = lived.commits[-1].beads.get(bead_id) if lived.commits else None
    return bead is not None and bead.is_done


def _comments(bead: object) -> dict[str, str]:
    return {str(each.get("id")): str(each.get("text")) for each in bead.comments}  # type: ignore[attr-defined]


def _marks(lived: Lived) -> str:
    """Everything that any commit's beads ever said, to look for marks in."""
    return "\n".join(f"{commit.subject} {[dict(bead.fields) for bead in commit.beads.values()]}" for commit in _ends(lived))


def _ends(lived: Lived) -> list[Commit]:
    return [*lived.gone[-1:], *lived.commits[-1:]]


def _whose(lived: Lived, uid: str) -> str:
    return "".join(f" ({_name(told)})" for told in [*lived.told, *lived.peace] if uid in told.uids)


def _name(told: Told) -> str:
    return f"#{told.number} `{' '.join(told.words)}` in {told.clone}"


def _end(told: Told) -> str:
    return f"exit {told.code}" + (f" written: {told.written}" if told.code == 6 else "")
