"""The output of `bd agent list|status|show`: tables that fit 80 columns, or JSON."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.cli.app import SIGNS
from bd.cli.output import escaped, sentence
from bd.core.times import age_text, duration_text, instant_of
from bd.policy.budget import budget_of
from bd.policy.eligibility import pause_of, pause_words
from bd.policy.roles import DEFAULT_INTERVAL_S, ROLES
from bd.report.agents import description_of, records_of, reputation_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime
    from typing import Any

    from bd.cli.app import App
    from bd.core.model import Snapshot

COLUMNS = ["agent", "role", "status", "beads", "heartbeat", "next poll"]


def show_table(app: App, snapshot: Snapshot, names: list[str]) -> None:
    """Print a row for each of these agents, and what applies to the fleet."""
    app.leave_out(SIGNS)
    records = records_of(snapshot, app.now, names)
    if app.out.is_json:
        app.out.json(records)
        return
    if app.out.quiet:
        for name in names:
            app.out.line(name)
        return
    if not records:
        app.out.line("No agents yet. `bd agent add NAME --role coding` makes one.")
        return
    app.out.table(COLUMNS, [_row(record, app.now) for record in records])
    if any(record["presumed_offline"] and record["status"] != "offline" for record in records):
        app.out.line("offline?: silent for three of its intervals; its assigned beads are open to everyone")
    paused = pause_of(snapshot)
    if paused:
        app.out.line(sentence(pause_words(paused)))


def _row(record: dict[str, Any], now: datetime) -> list[str]:
    held, limit = record["beads"], record.get("max_concurrent")
    beads = f"{len(held)}/{limit}" if limit is not None else str(len(held))
    if held:
        beads += f" {held[0]}" + (f" +{len(held) - 1}" if len(held) > 1 else "")
    is_silent = record["presumed_offline"] and record["status"] != "offline"
    age = f"{age_text(record['heartbeat_age_s'])} ago" if "heartbeat_age_s" in record else "never"
    return [record["agent"], record["role"], "offline?" if is_silent else record["status"], beads, age, _when(record, now)]


def _when(record: dict[str, Any], now: datetime) -> str:
    at = record.get("next_poll_at")
    if not at:
        return ""
    left_s = (instant_of(at) - now).total_seconds()
    return f"in {age_text(left_s)}" if left_s > 0 else "due"


def show_one(app: App, snapshot: Snapshot, name: str) -> None:
    """Print an agent's file with its presets, and its record."""
    app.leave_out(SIGNS)
    described = description_of(name, snapshot)
    record = records_of(snapshot, app.now, [name])[0]
    known = reputation_of(name, snapshot)
    if app.out.is_json:
        app.out.object({**(described or {"name": name}), "capacity": record, **({"reputation": known} if known else {})})
        return
    app.out.line(f"{app.out.styled(name, 'bold')} {record['role'] or '(no role)'}: {record['status']}")
    done = ", ".join(f"{kind} {one['done']} of {one['done'] + one['failed']}" for kind, one in known.items())
    for label, words in [*_lines(described, record), ("success", done)]:
        if words:
            app.out.line(f"  {label + ':':<14}{escaped(words)}")


def show_roles(app: App) -> None:
    """Print what each role brings."""
    if app.out.is_json:
        app.out.json(
            [
                {
                    "role": name,
                    "interval_s": int(role.interval_s),
                    "skills": role.skills,
                    "fallback": role.is_fallback,
                    "for": role.help,
                }
                for name, role in ROLES.items()
            ]
        )
        return
    rows: list[list[str]] = []
    for name, role in ROLES.items():  # a line for each rule, so that a narrow terminal shows all of them
        takes = [skill_words({rule: words}) for rule, words in role.skills.items()] or [role.help]
        rows += [[name, duration_text(role.interval_s), takes[0]], *(["", "", one] for one in takes[1:])]
    app.out.table(["role", "interval", "takes"], rows)
    app.out.line(f"A role of your own brings nothing: every {duration_text(DEFAULT_INTERVAL_S)}, and everything without skills.")


def skill_words(skills: Mapping[str, Sequence[str]]) -> str:
    """Describe skill rules in words; empty if there are none."""
    return "; ".join(f"{rule.replace('_', ' ')} {', '.join(words)}" for rule, words in skills.items())


def _lines(described: dict[str, Any], record: dict[str, Any]) -> list[tuple[str, str]]:
    rules = skill_words(described.get("skills", {}))
    source = dict.fromkeys(described.get("from_role", ()), f" (from the role {described.get('role')})")
    wrong = described.get("misspelt_skills")
    takes = f"nothing, since its file misspells them ({wrong})" if wrong else rules or "everything"
    limit = record.get("max_concurrent")
    budget = budget_of(described)
    left = record.get("budget_remaining_usd")
    return [
        ("file", "" if described else "none; it takes everything, without a limit"),
        ("skills", f"{takes}{source.get('skills', '')}" if described else ""),
        ("interval", f"{duration_text(described['interval_s'])}{source.get('interval', '')}" if described else ""),
        (
            "holds",
            f"{len(record['beads'])} of {limit} {' '.join(record['beads'])}".rstrip()
            if limit is not None
            else " ".join(record["beads"]),
        ),
        ("assigned", f"{record['pending_count']} open" if record["pending_count"] else ""),
        ("capabilities", ", ".join(described.get("capabilities", []))),
        ("version", described.get("version", "")),
        ("models", ", ".join(described.get("models_available", []))),
        ("cool down", described.get("cool_down", "")),
        ("claim ttl", described.get("claim_ttl", "")),
        ("heartbeats", f"every {described['heartbeat_interval']}" if described.get("heartbeat_interval") else ""),
        ("budget", f"{budget.words}{f', ${left:.2f} left' if left is not None else ''}" if budget else ""),
        (
            "fallback",
            f"takes beads that nobody has taken for two cycles{source.get('fallback', '')}" if described.get("fallback") else "",
        ),
        ("heartbeat", f"{age_text(record['heartbeat_age_s'])} ago" if "heartbeat_age_s" in record else "never"),
        ("recent", " ".join(record.get("recent", []))),
    ]
