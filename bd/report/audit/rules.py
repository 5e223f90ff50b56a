"""The rules for every commit of a hub, as far as they concern one commit and one bead. Pure.

They judge a commit by the bead before and after it. Claims over time are in claim_periods.py, reading git in steps.py, the
combination in audit.py.
"""

from __future__ import annotations

from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.core.errors import BadInput
from bd.core.ids import agent_from_person
from bd.core.times import canonical_time, instant_of
from bd.policy import advisory_claims, status_changes
from bd.report.audit import freed_claims
from bd.report.commits import who

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime
    from typing import Any

    from bd.report.audit.bead_versions import Version
    from bd.report.audit.freed_claims import Fleet
    from bd.report.commits import Commit

    Fault = tuple[str, str]  # a code of `RULES`, and the finding


class Rule(NamedTuple):
    """A rule in words, and what to do about a commit that breaks it; `{commit}`, `{bead}` and `{by}` are filled in."""

    words: str
    todo: str


_LOOK = "`bd history {bead}` tells what came before and after"
_FREE = "ask both who works on it; `bd release {bead} --force --reason TEXT` frees it"
RULES = {
    "two_owners": Rule("A bead has one owner at a time.", _FREE),
    "exclusive": Rule("Two beads with the same exclusive name are never held at once.", _FREE),
    "token_reused": Rule("Each claim has its own token.", _LOOK),
    "unannounced": Rule("A claim begins with an operation that names its token.", _FREE),
    "replaced": Rule(
        "A claim ends before another begins; only its own agent resumes it, and `bd take` says why it takes it over.", _FREE
    ),
    "changed_hands": Rule("A claim stays its agent's until it ends.", _FREE),
    "taken_away": Rule("A claim ends under its token, by freeing what stalled, or by --force with a reason.", _LOOK),
    "not_holder": Rule(
        "A claim is changed and ended by its holder, or openly by somebody else: by force, or because it stalled.",
        "ask {by} where the token is from; `bd history {bead}` tells what came of it",
    ),
    "unproved_stall": Rule(
        "Whoever frees a stalled claim names its attempt and last sign, and is not earlier than the rule for it allows.", _LOOK
    ),
    "backdated": Rule(
        "A commit is dated no more than 30 minutes before what it follows.",
        "`git log -2 --format=fuller {commit}` shows both dates: one of two clocks is wrong, or a date is made up",
    ),
    "without_token": Rule(
        "Status, owner, assignee, claim and output of a held bead change under its token, or by --force with a reason.", _LOOK
    ),
    "attempts": Rule("The attempts of a bead only grow, and number its claims.", "`bd show {bead}` has the number as it now is"),
    "illegal_status": Rule("A status changes only as the lifecycle allows.", _LOOK),
    "bead_lost": Rule("A bead disappears only by being deleted.", "`git show {commit}^:beads/{bead}.yaml` still has it"),
    "comment_lost": Rule("Comments are never changed.", "`git show {commit}` still has it"),
    "archive_changed": Rule("What is archived is done, and moved byte for byte.", "`git show {commit}` shows the difference"),
    "merge_lost": Rule("A merge keeps what both sides did.", "`git show -m {commit}` shows what it left out"),
    "unsigned": Rule(
        "If signatures are required, a change of a bead's state is signed by its author; allowed signers decide who may sign.",
        "readers ignore it; `git log --show-signature -1 {commit}` shows what is there",
    ),
    "twice": Rule("No operation takes effect twice.", _LOOK),
    "rewritten": Rule(
        "The hub's history is only added to.",
        "`git log {commit}` shows what went missing; ask who force-pushed, then `bd sync --accept-rewrite`",
    ),
}

# Rules whose breach only signatures can prove: violations if the hub requires them, else notes.
SIGNED = frozenset({"not_holder", "unproved_stall", "backdated"})
# Fields that belong to the claim's holder; attempts and claims have their own rules.
_GUARDED = ("status", "owner", "assignee", "output")
# Operations whose purpose is to end or change others' claims.
OPEN_VERBS = frozenset({"agent-remove", "agent-rename"})
# Operations that end the claims of agents that are gone: the hub's files at that commit tell whether they may.
FREEING = frozenset({"reassign", "pool-retire"})
DELETING = frozenset({"delete", "undo", "edit"})
# An undone write takes its comments along; a person may edit comments in a file; an import brings newer ones.
_REWORDING = frozenset({"undo", "edit", "import"})


class BeadChange(NamedTuple):
    """The effect of a commit on one bead: before, after, and for a moved file its paths and whether its bytes are equal."""

    bead: str
    before: Version | None
    after: Version | None
    moved: tuple[str, str] | None = None
    is_same_text: bool = False


def is_forced(commit: Commit) -> bool:
    """Return whether a commit declares that it overrode somebody, and why."""
    args = commit.args
    reason = args.get("reason") or args.get("note")
    return bool(args.get("force")) and isinstance(reason, str) and bool(reason.strip())


def may_touch(commit: Commit, tokens: frozenset[str]) -> bool:
    """Return whether a commit may change what these claims guard: it names a token, or openly declares that it does not."""
    if commit.tokens & tokens or commit.verb in OPEN_VERBS or is_forced(commit):
        return True
    if commit.verb != "reassign":
        return False
    stalls = commit.args.get("stalls")
    if stalls is None:  # left out because the form would have been too long
        return bool(commit.form.get("by_difference"))
    named = stalls if isinstance(stalls, list) else []
    return any(isinstance(stall, dict) and str(stall.get("token")) in tokens for stall in named)


def is_resume(commit: Commit) -> bool:
    """Return whether an agent takes over its own claim."""
    return commit.verb == "claim" and bool(commit.args.get("resume"))


def is_take(commit: Commit) -> bool:
    """Return whether somebody takes a bead over from its holder, and says so."""
    return commit.verb == "take" and is_forced(commit)


def doubts(change: BeadChange, commit: Commit, fleet: Fleet | None) -> Iterator[Fault]:
    """Yield what a commit did to another's claim that is legal only if the commit tells the truth; codes of `SIGNED`.

    `fleet` is what the hub's files said there, for the verbs of `FREEING`.
    """
    before, after = change.before, change.after
    if before is None or not before.claims:
        return
    kept = {claim["token"]: claim for claim in after.claims} if after is not None else {}
    ended = before._replace(claims=tuple(claim for claim in before.claims if claim["token"] not in kept))
    if commit.verb == "reassign" and fleet is not None:
        yield from (("unproved_stall", words) for words in freed_claims.unproved(ended, commit, fleet))
        return
    if commit.verb in OPEN_VERBS or is_forced(commit):
        return
    for claim in before.claims:
        agent = str(claim.get("agent"))
        is_changed = kept.get(claim["token"]) != claim or (after is not None and bool(_changed(before, after)))
        if (
            claim["token"] in commit.tokens
            and is_changed
            and not (_is_holder(commit, agent) or _is_delegate(commit, agent, fleet))
        ):
            what = "changed" if claim["token"] in kept else "ended"
            yield "not_holder", f"the claim of {agent} was {what} under its token by {who(commit).name}"


def _is_delegate(commit: Commit, agent: str, fleet: Fleet | None) -> bool:
    """Return whether a pool's controller gives back the claims of a member that it has ended."""
    return commit.verb == "pool-retire" and commit.args.get("agent") == agent and fleet is not None and fleet.is_member(agent)


def _is_holder(commit: Commit, agent: str) -> bool:
    """Return whether the holder made a commit: under the agent's name, or the person's name that it was made of."""
    name = who(commit).name
    given = commit.args.get("also_me") if is_resume(commit) else None
    also = given if isinstance(given, list) else []
    own = agent.split("@", 1)[0].casefold()
    if agent == name or agent in also or own == name.split("@", 1)[0].casefold():
        return True
    try:
        return own == agent_from_person(name)
    except BadInput:
        return False


def faults(change: BeadChange, commit: Commit) -> Iterator[Fault]:
    """Yield every rule that a commit breaks on one bead."""
    before, after = change.before, change.after
    if before is None:
        return
    if after is None:
        if commit.verb not in DELETING:
            yield "bead_lost", "its file is gone"
        return
    if before.uid and after.uid != before.uid and commit.verb not in status_changes.RESTORING:
        yield "bead_lost", "another bead is in its place"
        return
    yield from _comments(before, after, commit)
    begun = [claim for claim in after.claims if claim["token"] not in before.tokens]
    if commit.verb not in status_changes.RESTORING and any(claim["token"] not in commit.tokens for claim in begun):
        return  # claim_periods.py reports an unannounced claim, and everything that came with it
    yield from _attempts(before, after, commit)
    yield from _owner(before, after, commit)
    found = _guarded(before, after, commit)
    if found:
        yield found
    else:
        yield from _status(before, after, commit)
    yield from _archive(change, commit)


def _comments(before: Version, after: Version, commit: Commit) -> Iterator[Fault]:
    if before.comments is after.comments or commit.verb in _REWORDING:
        return
    for name, words in before.comments.items():
        now = after.comments.get(name)
        if now != words:
            yield "comment_lost", f"the comment {name} {'is gone' if now is None else 'was rewritten'}"


def fresh_claims(before: Version, after: Version, commit: Commit) -> list[Mapping[str, Any]]:
    """Return the claims that begin a new attempt: not resumed ones, nor renewed advisory ones."""
    if is_resume(commit):
        return []
    gone = [(claim.get("agent"), claim.get("attempt")) for claim in before.claims if claim["token"] not in after.tokens]
    begun = [claim for claim in after.claims if claim["token"] not in before.tokens]
    renewed = gone if after.is_advisory else []
    return [claim for claim in begun if (claim.get("agent"), claim.get("attempt")) not in renewed]


def _attempts(before: Version, after: Version, commit: Commit) -> Iterator[Fault]:
    grown = after.attempts - before.attempts
    if grown < 0:
        yield "attempts", f"they fell from {before.attempts} to {after.attempts}"
        return
    if commit.verb in status_changes.RESTORING or (commit.verb == "edit" and is_forced(commit)):
        return
    fresh = [claim for claim in fresh_claims(before, after, commit) if claim["token"] in commit.tokens]
    started = is_resume(commit) and before.attempts == 0
    if grown and not fresh and not started:
        yield "attempts", f"they grew from {before.attempts} to {after.attempts}, and no claim began"
    elif fresh and (grown != len(fresh) or any(claim.get("attempt", 1) != after.attempts for claim in fresh)):
        numbers = ", ".join(str(claim.get("attempt", 1)) for claim in fresh)
        yield "attempts", f"claim number {numbers} began after {before.attempts}, and {after.attempts} are counted"


def _owner(before: Version, after: Version, commit: Commit) -> Iterator[Fault]:
    """Check that the owner of a new claim is its agent."""
    claim = after.claim
    if claim is None or claim["token"] in before.tokens or not after.owner or commit.verb in status_changes.RESTORING:
        return
    holder = str(claim.get("agent"))
    if after.owner not in (holder, f"{holder}@{after.owner.rpartition('@')[2]}"):
        yield "two_owners", f"the claim is {holder}'s, and the owner {after.owner}"


def _guarded(before: Version, after: Version, commit: Commit) -> Fault | None:
    """Check what was changed on a bead that somebody else holds."""
    if not before.claims:
        return None
    if before.is_advisory:
        return _shared(before, after, commit)
    old = before.claims[0]
    new = next((claim for claim in after.claims if claim["token"] == old["token"]), None)
    if new is None or new.get("agent") != old.get("agent") or may_touch(commit, before.tokens):
        return None  # claim_periods.py reports the ends of claims
    changed = _changed(before, after) + (["claim"] if new != old else [])
    return _untold(changed, str(old.get("agent")), commit) if changed else None


def _shared(before: Version, after: Version, commit: Commit) -> Fault | None:
    """Check the same for advisory claims: an expired one guards nothing, and may be removed."""
    at = _asked_at(commit)
    counting = [claim for claim in before.claims if advisory_claims.is_live(dict(claim), at)]
    if not counting or may_touch(commit, frozenset(claim["token"] for claim in counting)):
        return None
    begun = {claim.get("agent") for claim in fresh_claims(before, after, commit)}
    kept = {claim["token"]: claim for claim in after.claims}
    names = [str(claim.get("agent")) for claim in counting]
    renewed = {(claim.get("agent"), claim.get("attempt")) for claim in after.claims if claim["token"] in commit.tokens}
    gone = [c for c in counting if c["token"] not in kept and (c.get("agent"), c.get("attempt")) not in renewed]
    if gone:
        who = ", ".join(str(claim.get("agent")) for claim in gone)
        return "taken_away", f"the claim of {who} ended, and the commit neither names its token nor says why"
    changed = _changed(before, after)
    return _untold(changed, " and ".join(names), commit) if changed and not begun else None


def _asked_at(commit: Commit) -> datetime:
    """Return when an operation was made, by which it judged claims. Tolerates anything, since commits can be typed."""
    try:
        return instant_of(canonical_time(str(commit.form.get("at") or commit.at)))
    except ValueError:
        return instant_of(commit.at)


def _changed(before: Version, after: Version) -> list[str]:
    return [key for key in _GUARDED if getattr(before, key) != getattr(after, key)]


def _untold(changed: list[str], holder: str, commit: Commit) -> Fault:
    told = "names another token" if commit.tokens else "names no token"
    return "without_token", f"{', '.join(changed)} changed while {holder} held it, and the commit {told}"


def _status(before: Version, after: Version, commit: Commit) -> Iterator[Fault]:
    verb = commit.verb
    if not status_changes.is_legal(verb, before.status, after.status):
        how = f"`{verb}`" if verb else "an edit"
        yield "illegal_status", f"{how} can't turn {before.status} into {after.status}"
    elif after.claim and after.status not in status_changes.HELD and (not before.claim or before.status in status_changes.HELD):
        yield "illegal_status", f"it is held by {after.claim.get('agent')}, and {after.status}"
    elif (
        after.claim
        and verb != "undo"
        and before.status in status_changes.HELD
        and not before.claims
        and fresh_claims(before, after, commit)
    ):
        yield "illegal_status", f"it was claimed while it was {before.status}"


def _archive(change: BeadChange, commit: Commit) -> Iterator[Fault]:
    after = change.after
    if change.moved is None or after is None or commit.verb in ("undo", "edit"):
        return
    old, new = change.moved
    if new.startswith("beads/archive/") and not old.startswith("beads/archive/"):
        if after.status not in status_changes.DONE:
            yield "archive_changed", f"it is {after.status}"
        elif not change.is_same_text:
            yield "archive_changed", "its file was changed on the way"


# --- merges -----------------------------------------------------------------------------------


def dropped(base: Version | None, sides: tuple[Version | None, Version | None], after: Version | None) -> Iterator[str]:
    """Describe what a merge left out of what either side did since `base`."""
    one, other = sides
    if after is None:
        left = [side for side in sides if side is not None]
        if len(left) == 2 or any(side != base for side in left):
            yield "the bead"
        return
    for side in sides:
        if side is None:
            continue
        if side.attempts > after.attempts:
            yield f"attempts {side.attempts}"
        for name in side.comments.keys() - after.comments.keys():
            if base is None or name not in base.comments or (one and other and name in one.comments and name in other.comments):
                yield f"the comment {name}"
    if one is None or other is None:
        return
    for key in (*_GUARDED, "claims"):
        was = getattr(base, key) if base is not None else None
        mine, theirs, now = getattr(one, key), getattr(other, key), getattr(after, key)
        wanted = mine if mine == theirs or theirs == was else theirs if mine == was else None
        if (wanted is not None and now != wanted) or (wanted is None and mine != theirs and now not in (mine, theirs)):
            yield f"{key} {wanted}" if isinstance(wanted, str) and wanted else key
