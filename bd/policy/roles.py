"""What each role brings, and an agent file's settings with its role's presets for unset ones. Presets are read, never written."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.known_keys import misspelt
from bd.core.schema import AGENT_FIELDS
from bd.core.times import duration_s
from bd.core.value import Value

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from bd.core.settings import Settings

DEFAULT_INTERVAL_S = 1800.0
SKILL_RULES = ("title_words", "title_prefix", "labels", "types")


class Role(Value):
    """What a role brings where an agent's file says nothing: seconds between two polls, skill rules, and whether it is a fallback."""

    interval_s: float
    skills: Mapping[str, list[str]] = {}
    is_fallback: bool = False
    help: str = ""


# The roles of the source paper (intervals: section 5; skills and labels: section 9), and publisher. Own roles bring nothing.
ROLES: dict[str, Role] = {
    "infrastructure": Role(
        900.0,
        {"title_words": ["infra", "cluster", "CI/CD", "deploy", "monitor"], "labels": ["infra/*"]},
        help="clusters, pipelines, deployments",
    ),
    "coding": Role(
        1800.0,
        {"title_words": ["code", "fix", "refactor", "implement", "PR"], "labels": ["code/*"]},
        help="code and pull requests",
    ),
    "research": Role(3600.0, {"title_prefix": ["Research:"]}, help="questions to look into"),
    "publisher": Role(1800.0, {"title_prefix": ["Publish:"]}, help="texts to publish"),
    "overseer": Role(900.0, is_fallback=True, help="what nobody has taken for two cycles"),
}
_OWN_ROLE = Role(DEFAULT_INTERVAL_S)
_RULES = frozenset(SKILL_RULES)


def role_of(agent: Mapping[str, Any]) -> Role:
    """Return what the agent's role brings; nothing for one that bd does not know."""
    return ROLES.get(agent.get("role", ""), _OWN_ROLE)


def skills_of(agent: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the agent's skill rules: its own, else its role's; empty for everything, None for nothing (`misspelt_skills`)."""
    if misspelt_skills(agent):
        return None
    skills = agent.get("skills")
    if skills is not None:
        return skills  # type: ignore[no-any-return]
    return role_of(agent).skills


def misspelt_skills(agent: Mapping[str, Any]) -> str | None:
    """Return the misspelt key that most likely means the agent's skills, or one of their rules; None if there is none.

    Somebody who mistypes a rule wants less than everything, so the agent matches nothing until the file is corrected.
    """
    skills = agent.get("skills")
    if agent.keys() <= AGENT_FIELDS.keys() and not (isinstance(skills, dict) and skills.keys() - _RULES):
        return None
    if isinstance(agent.get("agent"), dict):  # another system's form: whatever it says of skills is not read
        return "agent"
    if isinstance(skills, dict):
        wrong = (misspelt(skills, rule, SKILL_RULES) for rule in SKILL_RULES)
        return next((f"skills.{key}" for key in wrong if key), None)
    return misspelt(agent, "skills", AGENT_FIELDS)


def interval_of(agent: Mapping[str, Any]) -> float:
    """Return the seconds between two polls of the agent, from its file or its role."""
    interval = agent.get("interval")
    return duration_s(interval) if interval else role_of(agent).interval_s


def claim_ttl_of(agent: Mapping[str, Any], settings: Settings) -> float:
    """Return for how many seconds a bead that the agent reserved may wait to be started: its file's, else the settings'."""
    own = agent.get("claim_ttl")
    return duration_s(own) if own else settings.claim_ttl


def heartbeat_interval_of(agent: Mapping[str, Any], settings: Settings) -> float:
    """Return the seconds between two heartbeats of the agent, from its file or the settings; 0 if neither says."""
    own = agent.get("heartbeat_interval")
    return duration_s(own) if own else settings.heartbeat_interval


def is_fallback(agent: Mapping[str, Any]) -> bool:
    """Return whether the agent takes what nobody else does; an overseer does, unless its file says otherwise."""
    own = agent.get("fallback")
    return bool(own) if own is not None else role_of(agent).is_fallback
