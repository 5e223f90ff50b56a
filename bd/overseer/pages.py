"""Pages about the fleet in the hub: the board, and a summary of each day. Written only if they say something new."""

from __future__ import annotations

from datetime import timedelta

from bd import TYPE_CHECKING
from bd.core.times import duration_text, time_text
from bd.operations.base import asked
from bd.operations.board import PublishBoard, check_path
from bd.report.board import board_page, markdown
from bd.report.board.board import gather
from bd.report.metrics.flow import flow_of
from bd.report.metrics.metrics import measure

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime
    from typing import Any

    from bd.report.attention import Attention
    from bd.store import Clone

# A published board is refreshed if it is older than this.
EVERY_S = 900.0
SUMMARY_PATH = "DAILY.md"
_DAY = "<!-- summary of {} -->"
# What a person is asked for, in the words of a summary; what concerns one clone alone is left out.
KINDS = {
    "dead_letters": "dead letters (`bd dlq list`)",
    "waiting": "questions (`bd answer ID TEXT`)",
    "stalled": "stalled claims (`bd stalled`)",
    "offline": "silent agents (`bd agent status`)",
    "damaged": "damaged files (`bd doctor`)",
    "overloaded": "overloaded agents (`bd agent clear NAME`)",
    "given_back": "beads given back again and again (`bd show ID`)",
    "outages": "accounts that rest (`bd agent wake NAME`)",
}


def board_path(configured: str) -> str:
    """Return where the board is published, as configured or by default. Raises BadInput."""
    return check_path(configured or "BOARD.md")


def board_text(hub: Clone, path: str) -> str:
    """Return the board as of now, as its path's ending says."""
    snapshot, now = hub.snapshot(), hub.runtime.now()
    board = gather(snapshot, flow_of(hub, snapshot.commit, hub.on_progress), hub.settings(snapshot), now)
    return board_page.html(board, time_text(now)) if path.endswith(".html") else markdown.markdown(board, time_text(now))


def published(hub: Clone, path: str) -> str | None:
    """Return the page that the hub has at a path."""
    data = hub.repo.objects.read(f"{hub.snapshot().commit}:{path}")
    return data.decode("utf-8", "replace") if data is not None else None


def why_no_board(old: str | None, new: str, now: datetime) -> str:
    """Return why a board is not published now; "" if it is."""
    if not markdown.is_news(old, new):
        return "nothing new"
    age_s = markdown.age_s(old, now)
    return f"the last one is younger than {duration_text(EVERY_S)}" if age_s is not None and age_s < EVERY_S else ""


def publish(hub: Clone, by: str, path: str, text: str) -> None:
    hub.publish(PublishBoard(**asked(hub.runtime, by, path=path, text=text)))


# --- the summary of a day ---------------------------------------------------------------------


def day_of(now: datetime) -> str:
    """Return the day that is summed up: the last one that is over, in UTC."""
    return time_text(now - timedelta(days=1))[:10]


def is_summed_up(hub: Clone, day: str) -> bool:
    """Return whether there is nothing to sum up: the hub has the summary of that day, or began after it.

    Another page in its place is left alone.
    """
    old = published(hub, SUMMARY_PATH)
    if old is not None:
        return old.startswith(_DAY.format(day)) or not old.startswith(_DAY.partition("{")[0])
    midnight_s = _midnight(hub.runtime.now()).timestamp()
    return not any(row.at_s < midnight_s for row in flow_of(hub, hub.snapshot().commit, hub.on_progress).rows)


def _midnight(now: datetime) -> datetime:
    return now.replace(hour=0, minute=0, second=0, microsecond=0)


def summary(hub: Clone, found: Attention) -> str:
    """Return the summary of the last day, and of what needs a person now, as Markdown."""
    snapshot, now = hub.snapshot(), hub.runtime.now()
    midnight = _midnight(now)
    numbers = measure(flow_of(hub, snapshot.commit, hub.on_progress), snapshot, midnight, midnight - timedelta(days=1))
    day = day_of(now)
    lines = [_DAY.format(day), "", f"# {day}", "", *_work(numbers), "", "## Needs a person", "", *_needs(found)]
    return "\n".join(lines) + "\n"


def _work(numbers: Mapping[str, Any]) -> Iterator[str]:
    flow, attempts = numbers["throughput"], numbers["attempts"]
    yield f"- {flow['created']} beads created, {flow['closed']} closed{_listed(flow['by_type'])}"
    yield f"- {attempts['failed']} attempts failed{_listed(attempts['by_reason'])}, {attempts['given_back']} were given back"
    yield f"- {numbers['dead_letters']['made']} beads given up, {numbers['dead_letters']['now']} wait as dead letters"
    spent = sum(agent["cost_usd"] for agent in numbers["agents"])
    if spent:
        yield f"- ${spent:.2f} spent"


def _listed(counts: Mapping[str, int]) -> str:
    words = ", ".join(f"{markdown.escaped(name)} {count}" for name, count in counts.items())
    return f" ({words})" if words else ""


def _needs(found: Attention) -> Iterator[str]:
    entries = found._asdict()
    for kind, words in KINDS.items():
        names = [markdown.escaped(_name_of(one)) for one in entries[kind]]
        if names:
            yield f"- {len(names)} {words}: {', '.join(names[:10])}{' ...' if len(names) > 10 else ''}"
    if not any(entries[kind] for kind in KINDS):
        yield "Nothing."


def _name_of(entry: Mapping[str, Any]) -> str:
    return next(str(entry[key]) for key in ("id", "agent", "account", "path") if entry.get(key))
