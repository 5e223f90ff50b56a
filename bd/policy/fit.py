"""May this agent take this bead: routing, skills, capabilities, capacity, exclusivity.

`misfits` is the one answer to "may this agent take this bead": ready, count, why and claim all come
to it, the lists among them through `fitting`.
"""

from __future__ import annotations

import re
from functools import lru_cache

from bd.clock import duration_s, instant_of
from bd.errors import DoesNotFit
from bd.fields import AGENTS_DIR
from bd.model import Overlay
from bd.policy.ready import Reason, is_past, ready_beads, ready_since

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from datetime import datetime
    from typing import Any

    from bd.model import Bead, Change, Snapshot

# Base intervals in seconds per role (the source paper, section 5).
ROLE_INTERVAL_S = {"infrastructure": 900, "coding": 1800, "research": 3600, "overseer": 900, "publisher": 1800}
# Skill filters per role (the source paper, section 9); an agent file's own skills win.
ROLE_SKILLS: dict[str, dict[str, list[str]]] = {
    "infrastructure": {"title_words": ["infra", "cluster", "CI/CD", "deploy", "monitor"]},
    "coding": {"title_words": ["code", "fix", "refactor", "implement", "PR"]},
    "research": {"title_prefix": ["Research:"]},
    "publisher": {"title_prefix": ["Publish:"]},
}
_TAG = re.compile(r"\s*(?:\[[^\]]*\]|[A-Za-z]{1,10}#\d+:)\s*")
_WHOLE_WORD_LIMIT = 4


def skills_of(agent: Mapping[str, Any]) -> Mapping[str, Any]:
    """The agent's skill rules: its own, else its role's."""
    skills = agent.get("skills")
    if skills is not None:
        return skills  # type: ignore[no-any-return]
    return ROLE_SKILLS.get(agent.get("role", ""), {})


def interval_of(agent: Mapping[str, Any]) -> float:
    """Seconds between two polls of the agent."""
    interval = agent.get("interval")
    return duration_s(interval) if interval else float(ROLE_INTERVAL_S.get(agent.get("role", ""), 1800))


def _bare_title(title: str) -> str:
    """The title without a leading `GH#35:` or `[tag]`, case folded."""
    while True:
        tag = _TAG.match(title)
        if not tag or not tag.group().strip():
            return title.strip().casefold()
        title = title[tag.end() :]


@lru_cache(maxsize=512)
def _word_pattern(word: str) -> re.Pattern[str]:
    """Words of four letters and more match at the start of a word, shorter ones whole."""
    folded = re.escape(word.casefold())
    return re.compile(rf"(?<!\w){folded}" + ("" if len(word) >= _WHOLE_WORD_LIMIT else r"(?!\w)"))


def matches_prefix(bead: Bead, skills: Mapping[str, Any]) -> bool:
    """Whether the title starts with one of the skills' prefixes."""
    prefixes = skills.get("title_prefix") or []
    return any(_bare_title(bead.title).startswith(prefix.casefold()) for prefix in prefixes)


def matches_skills(bead: Bead, skills: Mapping[str, Any]) -> bool:
    """Whether any rule matches; no rules at all match everything."""
    if not any(skills.get(rule) for rule in ("title_words", "title_prefix", "labels", "types")):
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
    from fnmatch import translate  # noqa: PLC0415  only agents with label rules need it

    return re.compile(translate(pattern.casefold()))


def misfits(
    bead: Bead, name: str, snapshot: Snapshot, now: datetime, others: Mapping[str, Mapping[str, Any]] | None = None
) -> list[Reason]:
    """Why this agent may not take this ready bead; empty when it may. Capacity is `room` below.

    `others` are the other agents' files, for who asks about many beads.
    """
    reasons: list[Reason] = []
    agent = snapshot.agent(name)
    routed_to_me = bead.assignee == name
    if bead.assignee and not routed_to_me:
        reasons.append(Reason("routed", f"is routed to {bead.assignee}"))
    preferred = bead.get("prefer_agent")
    if preferred and preferred != name and not is_past(bead.get("prefer_until"), now):
        reasons.append(Reason("preferred", f"is kept for {preferred} until {bead.get('prefer_until')}"))
    missing = [need for need in bead.get("needs", []) if need not in ((agent or {}).get("capabilities") or [])]
    if missing:
        reasons.append(Reason("needs", f"needs {', '.join(missing)}, which {name} does not have"))
    rival = _exclusive_holder(bead, snapshot)
    if rival:
        reasons.append(Reason("exclusive", f"shares {bead.get('exclusive')} with {rival.id}, which is in work", rival.id))
    if agent is not None and not routed_to_me:
        skill = _skill_reason(bead, name, agent, others if others is not None else others_of(name, snapshot), snapshot, now)
        if skill:
            reasons.append(skill)
    return reasons


def _exclusive_holder(bead: Bead, snapshot: Snapshot) -> Bead | None:
    name = bead.get("exclusive")
    if not name:
        return None
    held = (other for other in snapshot.claimed() if other.id != bead.id and other.get("exclusive") == name)
    return next(held, None)


def others_of(name: str, snapshot: Snapshot) -> dict[str, Mapping[str, Any]]:
    """The files of the other agents, by name."""
    return {other: fields for other, fields in snapshot.records(AGENTS_DIR).items() if other != name}


def refuse_rival(bead: Bead, snapshot: Snapshot) -> None:
    """Refuse a claim beside another one of the same exclusive name. Raises DoesNotFit."""
    rival = _exclusive_holder(bead, snapshot)
    if rival:
        words = f"{bead.id} shares {bead.get('exclusive')} with {rival.id}, which is in work"
        raise DoesNotFit(words, hint=f"`bd show {rival.id}` tells who is at it", id=bead.id, reason="exclusive")


def refuse_overlap(change: Change, snapshot: Snapshot) -> None:
    """Refuse a change by which two claims of one exclusive name come to be. Raises DoesNotFit."""
    after = Overlay(snapshot, change)
    for bead in change.beads.values():
        if bead is None or bead.claim is None:
            continue
        before = snapshot.bead(bead.id)
        if before is None or before.claim is None or before.get("exclusive") != bead.get("exclusive"):
            refuse_rival(bead, after)


def _skill_reason(
    bead: Bead,
    name: str,
    agent: Mapping[str, Any],
    others: Mapping[str, Mapping[str, Any]],
    snapshot: Snapshot,
    now: datetime,
) -> Reason | None:
    if agent.get("fallback"):
        return _fallback_reason(bead, agent, others, snapshot, now)
    skills = skills_of(agent)
    if not matches_skills(bead, skills):
        return Reason("skills", f"matches none of {name}'s skills")
    if not matches_prefix(bead, skills):
        owner = next((other for other, fields in others.items() if matches_prefix(bead, skills_of(fields))), None)
        if owner:
            return Reason("prefix", f"its title's prefix is {owner}'s")
    return None


def _fallback_reason(
    bead: Bead, agent: Mapping[str, Any], others: Mapping[str, Mapping[str, Any]], snapshot: Snapshot, now: datetime
) -> Reason | None:
    """A fallback agent takes what nobody claimed for 2 cycles of the slowest agent that fits, else 2 of its own."""
    able = [
        fields
        for fields in others.values()
        if not fields.get("fallback")
        and matches_skills(bead, skills_of(fields))
        and set(bead.get("needs", [])) <= set(fields.get("capabilities") or [])
    ]
    cycle_s = max(interval_of(fields) for fields in able) if able else interval_of(agent)
    since = ready_since(bead, snapshot)
    if since and (now - instant_of(since)).total_seconds() < 2 * cycle_s:
        return Reason("fallback", "is left to the others for two cycles first")
    return None


def held_by(name: str, snapshot: Snapshot) -> list[Bead]:
    """The beads this agent holds by a live claim."""
    return [bead for bead in snapshot.claimed() if (bead.get("claim") or {}).get("agent") == name]


def room(name: str, snapshot: Snapshot) -> int | None:
    """How many more beads the agent may hold at this commit; None when nothing limits it."""
    agent = snapshot.agent(name)
    limit = (agent or {}).get("max_concurrent")
    if limit is None:
        limit = 1 if agent is not None else None
    if limit is None:
        return None
    return max(0, int(limit) - len(held_by(name, snapshot)))


def no_claims_reason(name: str, snapshot: Snapshot) -> Reason | None:
    """Why the agent gets no work at all now, whatever is ready; None when it may claim."""
    status = (snapshot.capacity(name) or {}).get("status")
    if status in ("draining", "offline"):
        return Reason(status, f"{name} is {status}")
    if room(name, snapshot) == 0:
        held = held_by(name, snapshot)
        return Reason("busy", f"{name} holds {len(held)} of {len(held)} beads: {', '.join(bead.id for bead in held)}")
    return None


def fitting(ready: Iterable[Bead], name: str, snapshot: Snapshot, now: datetime) -> Iterator[Bead]:
    """Those of the ready beads that this agent may take (its capacity apart), judged as they are asked for."""
    others = others_of(name, snapshot)
    return (bead for bead in ready if not misfits(bead, name, snapshot, now, others))


def offer(snapshot: Snapshot, name: str, now: datetime) -> Iterator[Bead]:
    """The beads this agent may take now, best first."""
    return fitting(ready_beads(snapshot, now), name, snapshot, now)
