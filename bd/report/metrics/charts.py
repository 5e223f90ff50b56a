"""Charts of metrics: as lines of bars for a terminal, and as a page. Pure."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.times import age_text
from bd.report import html_page
from bd.report.metrics import svg

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

_EIGHTHS = " ▏▎▍▌▋▊▉█"


def bar(share: float, width: int) -> str:
    """Return a bar of up to `width` characters, in eighths of one."""
    eighths = round(max(0.0, min(1.0, share)) * width * 8)
    return ("█" * (eighths // 8) + _EIGHTHS[eighths % 8]).rstrip()


def lines(numbers: Mapping[str, Any], width: int) -> Iterator[str]:
    """Yield the numbers as bars: closed beads over time, the waits, how busy each agent was."""
    room = max(10, min(60, width - 32))
    closed = numbers["throughput"]["bars"]
    most = max((entry["closed"] for entry in closed), default=0)
    yield f"closed, {numbers['throughput']['closed']} in all"
    for entry in closed:
        yield f"  {entry['at'][:16].replace('T', ' ')}  {entry['closed']:>5} {bar(entry['closed'] / max(1, most), room)}".rstrip()
    for name, spread in (("wait until claimed", numbers["wait_s"]), ("from claim to close", numbers["work_s"])):
        if spread["count"]:
            yield f"{name}, {spread['count']} times"
            for key in ("p50", "p95", "p99", "max"):
                yield f"  {key:<16}  {age_text(spread[key]):>5} {bar(spread[key] / max(1, spread['max']), room)}".rstrip()
    if numbers["agents"]:
        yield "utilisation"
    for agent in numbers["agents"]:
        yield f"  {agent['agent']:<16}  {share_text(agent['utilisation']):>5} {bar(agent['utilisation'], room)}".rstrip()


def share_text(share: float | None) -> str:
    """Format a share, such as `71%`; a dash for None."""
    return "-" if share is None else f"{share * 100:.0f}%"


def html(numbers: Mapping[str, Any], name: str) -> str:
    """Return the numbers as a page."""
    return html_page.page(f"{name} metrics", f"{numbers['since']} to {numbers['until']}", sections(numbers))


def sections(numbers: Mapping[str, Any]) -> str:
    """Return the sections of the page, with charts."""
    closed = numbers["throughput"]["bars"]
    most = max((entry["closed"] for entry in closed), default=0)
    below = scale(numbers["since"], numbers["until"], f"at most {most} at a time")
    columns = svg.columns([(f"{entry['at']}: {entry['closed']}", entry["closed"]) for entry in closed])
    body = [
        html_page.section("In numbers", html_page.table([("", "title"), ("", "number")], summary(numbers), "")),
        html_page.section(f"Closed, {numbers['throughput']['closed']} in all", columns + below),
        html_page.section("Queue", _queue(numbers["queue"])),
        html_page.section("Agents", _agents(numbers["agents"])),
    ]
    return "".join(body)


def scale(since: str, until: str, most: str = "") -> str:
    """Return the line below a chart: the period, and the value of the highest column."""
    start, end = (at[:16].replace("T", " ") for at in (since, until))
    return f'<p class="scale">{"".join(f"<span>{html_page.text(words)}</span>" for words in (start, most, end))}</p>\n'


def summary(numbers: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the numbers of the whole fleet, each with its label."""
    made, contention, attempts = numbers["throughput"], numbers["contention"], numbers["attempts"]
    conflicts = f"{share_text(contention['conflict_rate'])}, {contention['lost']} of {contention['pushes']} pushes"
    return [
        ("created", str(made["created"])),
        ("closed", f"{made['closed']} ({made['closed_per_hour']} an hour)"),
        ("wait until claimed", spread_text(numbers["wait_s"])),
        ("from claim to close", spread_text(numbers["work_s"])),
        ("claims", f"{contention['claims']}, {contention['pushes_per_claim']} pushes for each"),
        ("lost to others", conflicts),
        ("attempts", f"{attempts['succeeded']} succeeded, {attempts['failed']} failed, {attempts['given_back']} given back"),
        ("dead letters", f"{numbers['dead_letters']['made']} made, {numbers['dead_letters']['now']} now"),
        ("cost", f"${numbers['cost']['usd']:.2f}, today ${numbers['cost']['today_usd']:.2f}"),
    ]


def spread_text(spread: Mapping[str, Any]) -> str:
    """Format quantiles."""
    if not spread["count"]:
        return "-"
    return ", ".join(f"{key} {age_text(spread[key])}" for key in ("p50", "p95", "p99"))


def _queue(queue: Sequence[Mapping[str, Any]]) -> str:
    rows = [(entry["phase"].replace("_", " "), entry["tier"], str(entry["beads"])) for entry in queue]
    return html_page.table([("phase", ""), ("tier", ""), ("beads", "number")], rows, "Nothing waits, nothing is in work.")


def _agents(agents: Sequence[Mapping[str, Any]]) -> str:
    heads = [
        ("agent", "id"),
        ("closed", "number"),
        ("failed", "number"),
        ("success", "number"),
        ("busy", "number"),
        ("", "bar"),
    ]
    rows = [
        (
            agent["agent"],
            str(agent["closed"]),
            str(agent["failed"]),
            share_text(agent.get("success_rate")),
            share_text(agent["utilisation"]),
            svg.share(agent["utilisation"]),
        )
        for agent in agents
    ]
    return html_page.table(heads, rows, "Nobody had work.")
