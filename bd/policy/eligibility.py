"""May this agent take this bead, and if not, why: the one answer for all callers.

An `Eligibility` is made for one decision: ready, count, why, claim, poll, wait, work, prime, pools, stealing, gateways and the
simulation ask it instead of combining rules themselves. It remembers what it computes; the snapshot is only read.
"""

from __future__ import annotations

import re
from functools import cached_property, lru_cache

from bd import TYPE_CHECKING
from bd.core.errors import DoesNotFit
from bd.core.model import Overlay
from bd.core.schema import AGENTS_DIR
from bd.core.settings import hub_setting
from bd.core.times import age_text, instant_of
from bd.policy import account_rest, capacity
from bd.policy.budget import Purse
from bd.policy.preference import kept_until
from bd.policy.ranking import is_critical, longest_waiting_is_due
from bd.policy.readiness import Readiness, Reason, is_past
from bd.policy.roles import SKILL_RULES, interval_of, is_fallback, misspelt_skills, skills_of
from bd.policy.work_queue import ready_beads, starving_beads

if TYPE_CHECKING:
    import re
    from collections.abc import Iterable, Iterator, Mapping
    from datetime import datetime
    from typing import Any

    from bd.core.model import Bead, Change, Snapshot

# Reasons that --force does not override: they concern other agents' work, or money.
BINDING = frozenset({"exclusive", "budget", "ceiling"})
# Reasons that a bead is not offered to an agent; one that names it gets it all the same.
ONLY_NAMED = frozenset({"root"})
_TAG = r"\s*(?:\[[^\]]*\]|[A-Za-z]{1,10}#\d+:)\s*"
_WHOLE_WORD_LIMIT = 4
_ENDING = "(?:e?s|ed|ing)?"


def _bare_title(title: str) -> str:
    """Return the title without a leading `GH#35:` or `[tag]`, case-folded."""
    while True:
        tag = re.match(_TAG, title)
        if not tag or not tag.group().strip():
            return title.strip().casefold()
        title = title[tag.end() :]


@lru_cache(maxsize=512)
def _word_pattern(word: str) -> re.Pattern[str]:
    """Return a pattern: words of four letters and more match the start of a word, shorter ones whole words, with endings."""
    folded = re.escape(word.casefold())
    return re.compile(rf"(?<!\w){folded}" + ("" if len(word) >= _WHOLE_WORD_LIMIT else rf"{_ENDING}(?!\w)"))


def matches_prefix(bead: Bead, skills: Mapping[str, Any] | None) -> bool:
    """Return whether the title starts with one of the skills' prefixes."""
    prefixes = (skills or {}).get("title_prefix") or []
    return any(_bare_title(bead.title).startswith(prefix.casefold()) for prefix in prefixes)


def matches_skills(bead: Bead, skills: Mapping[str, Any] | None) -> bool:
    """Return whether any rule matches; empty rules match everything, None matches nothing."""
    if skills is None:
        return False
    if not any(skills.get(rule) for rule in SKILL_RULES):
        return True
    if matches_prefix(bead, skills) or bead.type in (skills.get("types") or []):
        return True
    title = bead.title.casefold()
    if any(_word_pattern(word).search(title) for word in skills.get("title_words") or []):
        return True
    globs = skills.get("labels") or []
    return any(_glob(pattern).match(label.casefold()) for pattern in globs for label in bead.labels)


@lru_cache(maxsize=512)
def _glob(pattern: str) -> re.Pattern[str]:
    from fnmatch import translate  # noqa: PLC0415  few agents filter by patterns

    return re.compile(translate(pattern.casefold()))


class Eligibility:
    """The beads that one agent may take at one commit and one instant.

    `idle` concerns the agent, `reasons` one bead, `beads` both. A bead routed to an agent that is away is open to everyone.
    `account` is the installation that it is about to work with, if it is known (account_rest.py).
    """

    def __init__(self, snapshot: Snapshot, agent: str, now: datetime, account: str = "") -> None:
        self.agent = agent
        self._account = account
        self._snapshot, self._now = snapshot, now
        self._purse = Purse(agent, snapshot, now)
        self._readiness = Readiness(snapshot, now)
        self._rests = account_rest.Rests(snapshot, now)
        # One example for each kind of misfit so far, by code; and the beads that do not fit, by the code of their first reason.
        self._misfits: dict[str, Reason] = {}
        self._unfit: dict[str, list[str]] = {}

    def idle(self, *, takes_over: bool = False) -> Reason | None:
        """Return why the agent gets no work at all now, whatever is ready; None if it may claim.

        The codes: paused, offline, draining, resting, pool_full, overloaded, busy. A pause stops new work: not somebody who
        `takes_over` what is in progress.
        """
        paused = None if takes_over else pause_of(self._snapshot)
        return Reason("paused", pause_words(paused)) if paused else self._own_state

    @cached_property
    def _own_state(self) -> Reason | None:
        name, snapshot, now = self.agent, self._snapshot, self._now
        duty = capacity.duty_of(name, snapshot)
        if duty:
            return Reason(duty, f"{name} is {duty}")
        hold = self._rests.hold_of(name, self._account)
        if hold is not None:
            return Reason(account_rest.CODE, hold.text, hold.trial or None)
        if capacity.room(name, snapshot, now) != 0:
            return None
        if capacity.pool_room(name, snapshot, now) == 0:
            return Reason("pool_full", f"the pool of {name} holds as many beads as it may (max_claims)")
        held = capacity.held_by(name, snapshot, now)
        holds = ", ".join(bead.id for bead in held)
        if capacity.is_overloaded(name, snapshot):
            wait_s = capacity.probe_in_s(name, snapshot, now)
            then = f"it may try one in {age_text(wait_s)}" if wait_s else f"it has to finish its beads first: {holds}"
            return Reason("overloaded", f"{name} is overloaded, too many of its last attempts failed; {then}")
        return Reason("busy", f"{name} holds {len(held)} of {capacity.limit_of(name, snapshot)} beads: {holds}")

    def retry_after_s(self, reason: Reason) -> int:
        """Return after how many seconds to ask again after `idle`: when an overload or a rest lets it try, else in one interval."""
        wait_s = 0.0
        if reason.code == "overloaded":
            wait_s = capacity.probe_in_s(self.agent, self._snapshot, self._now)
        elif reason.code == account_rest.CODE:
            hold = self._rests.hold_of(self.agent, self._account)
            wait_s = hold.wait_s if hold is not None else 0.0
        return max(1, round(wait_s or interval_of(self._snapshot.agent(self.agent) or {})))

    def room(self) -> int | None:
        """Return how many more beads the agent may take; None if there is no limit. An account on trial takes one."""
        room = capacity.room(self.agent, self._snapshot, self._now)
        is_on_trial = self._rests.is_on_trial(self.agent, self._account)
        return min(1, 1 if room is None else room) if is_on_trial else room

    def reasons(self, bead: Bead) -> list[Reason]:
        """Return why the agent may not take this ready bead, apart from the agent's own state; empty if it may."""
        name, snapshot, now = self.agent, self._snapshot, self._now
        reasons: list[Reason] = []
        if self._own_retries is not None and bead.id not in self._own_retries:
            reasons.append(Reason("overloaded", f"has to wait: {name} is overloaded, and may only retry what it failed itself"))
        agent = self._file
        routed_to_me = bead.assignee == name
        if bead.assignee and not routed_to_me and not capacity.is_away(bead.assignee, snapshot, now):
            reasons.append(Reason("routed", f"is routed to {bead.assignee}"))
        preferred = bead.get("prefer_agent")
        if preferred and preferred != name:
            until = kept_until(bead, self._readiness)
            if not is_past(until, now):
                reasons.append(Reason("preferred", f"is kept for {preferred} until {until}"))
        if not routed_to_me and is_root(bead, snapshot):
            words = "has beads below it, which are the work; a prompt, an assignee or another type than epic makes it work itself"
            reasons.append(Reason("root", words))
        missing = [need for need in bead.get("needs", []) if need not in ((agent or {}).get("capabilities") or [])]
        if missing:
            reasons.append(Reason("needs", f"needs {', '.join(missing)}, which {name} does not have"))
        if bead.get("claims") and capacity.is_at(bead, name, now):
            reasons.append(Reason("holding", f"is already held by {name}"))
        rival = _exclusive_holder(bead, snapshot, now)
        if rival:
            reasons.append(Reason("exclusive", f"shares {bead.get('exclusive')} with {rival.id}, which is in work", rival.id))
        short = self._purse.reason(bead)
        if short:
            reasons.append(short)
        if agent is not None and not routed_to_me:
            if is_fallback(agent):
                skill = _fallback_reason(bead, agent, self._polling, self._readiness)
            else:
                skill = _skill_reason(bead, name, agent, self._others)
            if skill:
                reasons.append(skill)
        return reasons

    @cached_property
    def _file(self) -> Mapping[str, Any] | None:
        return self._snapshot.agent(self.agent)

    @cached_property
    def _own_retries(self) -> frozenset[str] | None:
        """The only beads that the agent may take while it is overloaded; None if that does not limit it."""
        if not capacity.waits_for_probe(self.agent, self._snapshot, self._now):
            return None
        return frozenset(bead.id for bead in capacity.own_retries(self.agent, self._snapshot, self._now))

    def fitting(self, ready: Iterable[Bead]) -> Iterator[Bead]:
        """Yield the ready beads that fit the agent, apart from its own state, judging each as it is requested."""
        for bead in ready:
            reasons = self.reasons(bead)
            if not reasons:
                yield bead
                continue
            self._unfit.setdefault(reasons[0].code, []).append(bead.id)
            for reason in reasons:
                if reason.code not in self._misfits:
                    self._misfits[reason.code] = Reason(reason.code, f"{bead.id} {reason.text}", reason.by)

    def beads(self, ready: Iterable[Bead] | None = None) -> Iterator[Bead]:
        """Return the beads that the agent may take now, best first; none while it is `idle`.

        `ready` are all ready beads, if the caller has them.
        """
        if self.idle() is not None:
            return iter(())
        found = self._all_ready() if ready is None else ready
        if hub_setting(self._snapshot.config(), "reputation_points"):
            from bd.policy import reputation  # noqa: PLC0415  only hubs that ask for it

            found = reputation.in_order(found, self.agent, self._snapshot, self._now)
        return self.fitting(found)

    def starving(self, uid: str) -> Bead | None:
        """Return the bead that the claim with this uid takes although others are more urgent; None for most claims.

        One claim in ten takes the bead that has waited longest, unless a critical one is there.
        """
        best = next(self.beads(), None) if longest_waiting_is_due(uid) else None
        if best is None or is_critical(best):
            return None
        unshared = (bead for bead in starving_beads(self._snapshot, self._now) if not bead.get("claims"))
        longest = next(self.fitting(unshared), None)
        return None if longest is None or longest.id == best.id else longest

    def why_none(self) -> list[Reason]:
        """Return why `beads` was empty: the agent's own state, that nothing is ready, or one example for each kind of misfit."""
        idle = self.idle()
        if idle is not None:
            return [idle]
        if not self._misfits:
            next(self.beads(), None)  # if the caller has not iterated yet
        if not self._misfits:
            return [Reason("nothing_ready", "nothing is ready")]
        return [Reason("nothing_fits", f"nothing is ready that fits {self.agent}"), *self._misfits.values()]

    def unfit(self) -> Mapping[str, list[str]]:
        """Return the beads that were judged so far and do not fit, each once, by the code of the first reason."""
        return self._unfit

    def _all_ready(self) -> Iterable[Bead]:
        return ready_beads(self._snapshot, self._now)

    @cached_property
    def _others(self) -> Mapping[str, Mapping[str, Any]]:
        """The files of the other agents, by name."""
        files = self._snapshot.records(AGENTS_DIR)
        return {other: fields for other, fields in files.items() if other != self.agent}

    @cached_property
    def _polling(self) -> Mapping[str, Mapping[str, Any]]:
        """The files of the other agents that look for work by themselves now, and not as a fallback."""
        return {other: fields for other, fields in self._others.items() if not is_fallback(fields) and self._takes_work(other)}

    def _takes_work(self, name: str) -> bool:
        """Return whether an agent looks for work: it is online, neither set offline nor draining, and its account works."""
        snapshot, now = self._snapshot, self._now
        if capacity.duty_of(name, snapshot) is not None or capacity.is_presumed_offline(name, snapshot, now):
            return False
        return self._rests.hold_of(name) is None


def is_root(bead: Bead, snapshot: Snapshot) -> bool:
    """Return whether a bead only holds others together, as the root of a plan does: an epic that says of no work of its own."""
    if bead.type != "epic" or bead.assignee or not snapshot.has_children(bead.id):
        return False
    whole = snapshot.bead(bead.id)
    return not ((whole.get("spec") or {}) if whole else {}).get("prompt")


def _exclusive_holder(bead: Bead, snapshot: Snapshot, now: datetime | None = None) -> Bead | None:
    name = bead.get("exclusive")
    if not name:
        return None
    held = (other for other in snapshot.claimed(name) if other.id != bead.id and other.get("exclusive") == name)
    return next(
        (other for other in held if other.get("claim") or any(capacity.is_at(other, one, now) for one in other.holders)), None
    )


def refuse_rival(bead: Bead, snapshot: Snapshot) -> None:
    """Refuse a claim while another bead with the same exclusive name is in progress. Raises DoesNotFit."""
    rival = _exclusive_holder(bead, snapshot)
    if rival:
        words = f"{bead.id} shares {bead.get('exclusive')} with {rival.id}, which is in work"
        raise DoesNotFit(words, hint=f"`bd show {rival.id}` shows who works on it", id=bead.id, reason="exclusive")


def refuse_overlap(change: Change, snapshot: Snapshot) -> None:
    """Refuse a change that results in two claims with one exclusive name. Raises DoesNotFit."""
    after = Overlay(snapshot, change)
    for bead in change.beads.values():
        if bead is None or not bead.claims:
            continue
        before = snapshot.bead(bead.id)
        if before is None or not before.claims or before.get("exclusive") != bead.get("exclusive"):
            refuse_rival(bead, after)


def _skill_reason(bead: Bead, name: str, agent: Mapping[str, Any], others: Mapping[str, Mapping[str, Any]]) -> Reason | None:
    skills = skills_of(agent)
    if not matches_skills(bead, skills):
        wrong = misspelt_skills(agent)
        return Reason("skills", f"matches none of {name}'s skills{f', which its file misspells ({wrong})' if wrong else ''}")
    if not matches_prefix(bead, skills):
        owner = next((other for other, fields in others.items() if matches_prefix(bead, skills_of(fields))), None)
        if owner:
            return Reason("prefix", f"its title's prefix is {owner}'s")
    return None


def _fallback_reason(
    bead: Bead, agent: Mapping[str, Any], polling: Mapping[str, Mapping[str, Any]], readiness: Readiness
) -> Reason | None:
    """Return why a fallback agent has to wait: 2 cycles of the slowest polling agent that fits, else 2 of its own."""
    snapshot, now = readiness.snapshot, readiness.now
    able = [
        other
        for other, fields in polling.items()
        if matches_skills(bead, skills_of(fields)) and set(bead.get("needs", [])) <= set(fields.get("capabilities") or [])
    ]
    cycle_s = max(capacity.current_interval_s(other, snapshot) for other in able) if able else interval_of(agent)
    since = readiness.since(bead)
    if since and (now - instant_of(since)).total_seconds() < 2 * cycle_s:
        return Reason("fallback", "is left to the others for two cycles first")
    return None


# --- may it take anything -----------------------------------------------------------------------


def pause_of(snapshot: Snapshot) -> Mapping[str, Any] | None:
    """Return who paused the fleet, when and why (`by`, `at`, `reason`); None if it is not paused."""
    paused: Mapping[str, Any] | None = snapshot.config().get("paused")
    return paused or None


def pause_words(paused: Mapping[str, Any]) -> str:
    """Describe a pause."""
    by, at, reason = (str(paused[key]) if paused.get(key) else "" for key in ("by", "at", "reason"))
    who = f" by {by.split(':', 1)[-1]}" if by else ""
    return f"the fleet is paused{who}{f' since {at}' if at else ''}{f': {reason}' if reason else ''}"
