"""Metrics in Prometheus' text format. Pure."""

from __future__ import annotations

from bd import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    Sample = tuple[Mapping[str, str], float]

_QUANTILES = {"p50": "0.5", "p95": "0.95", "p99": "0.99"}


def text(numbers: Mapping[str, Any]) -> str:
    """Return the whole history's numbers as samples, each metric with its type and a line of help."""
    return "".join(
        [
            *_metric("task_queue_depth", "gauge", "Beads that are not done.", _depths(numbers["queue"])),
            *_summary("task_queue_wait_seconds", "How long claimed beads had been ready.", numbers["wait_s"]),
            *_summary("task_claim_to_completion_seconds", "How long attempts that closed a bead took.", numbers["work_s"]),
            *_of_work(numbers),
            *_of_costs(numbers),
            *_of_agents(numbers["agents"]),
        ]
    )


def _of_work(numbers: Mapping[str, Any]) -> Iterable[str]:
    by_type = [({"type": kind}, count) for kind, count in numbers["throughput"]["by_type"].items()]
    by_reason = [({"reason": reason}, count) for reason, count in numbers["attempts"]["by_reason"].items()]
    contention = numbers["contention"]
    yield from _metric("tasks_completed_total", "counter", "Beads closed.", by_type)
    yield from _metric("tasks_failed_total", "counter", "Attempts that failed.", by_reason)
    made: list[Sample] = [({}, numbers["dead_letters"]["made"])]
    yield from _metric("tasks_dead_lettered_total", "counter", "Beads given up.", made)
    yield from _metric("claims_total", "counter", "Claims begun.", [({}, contention["claims"])])
    yield from _metric("claim_pushes_total", "counter", "Pushes that begin or end claims.", [({}, contention["pushes"])])
    yield from _metric("claim_pushes_lost_total", "counter", "Pushes that lost a race.", [({}, contention["lost"])])


def _of_costs(numbers: Mapping[str, Any]) -> Iterable[str]:
    groups = [({key: group[key] for key in ("type", "agent", "model")}, group["usd"]) for group in numbers["cost"]["groups"]]
    yield from _metric("task_cost_usd", "gauge", "What attempts cost.", groups)
    yield from _metric("daily_spend_usd", "gauge", "What today's attempts cost (UTC).", [({}, numbers["cost"]["today_usd"])])


def _of_agents(agents: Iterable[Mapping[str, Any]]) -> Iterable[str]:
    def samples(key: str, label: str = "agent_id") -> list[Sample]:
        return [({label: agent["agent"]}, agent[key]) for agent in agents if key in agent]

    left = samples("budget_remaining_usd", "agent")
    yield from _metric("budget_remaining_usd", "gauge", "What an agent may still spend.", left)
    yield from _metric("agent_utilization", "gauge", "Share of the time spent on beads.", samples("utilisation"))
    yield from _metric("agent_claim_success_rate", "gauge", "Share of ended attempts that closed.", samples("success_rate"))
    yield from _metric("agent_heartbeat_misses_total", "counter", "Claims freed after silence.", samples("stalled"))


def _depths(queue: Iterable[Mapping[str, Any]]) -> list[Sample]:
    return [({"status": entry["phase"], "priority_tier": entry["tier"]}, entry["beads"]) for entry in queue]


def _summary(name: str, words: str, spread: Mapping[str, Any]) -> Iterable[str]:
    samples = [({"quantile": quantile}, spread[key]) for key, quantile in _QUANTILES.items() if key in spread]
    yield from _metric(name, "summary", words, samples)
    yield f"{name}_sum {_number(spread.get('mean', 0) * spread['count'])}\n{name}_count {spread['count']}\n"


def _metric(name: str, kind: str, words: str, samples: Iterable[Sample]) -> Iterable[str]:
    yield f"# HELP {name} {words}\n# TYPE {name} {kind}\n"
    for labels, value in samples:
        told = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels.items())
        yield f"{name}{'{' + told + '}' if told else ''} {_number(value)}\n"


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(round(value, 6))


def _escaped(text: str) -> str:
    """Escape a label's value as the format requires, without control characters."""
    plain = "".join(char if char.isprintable() or char == "\n" else "\ufffd" for char in text)
    return plain.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
