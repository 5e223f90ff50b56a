"""bd cost."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.cli.lookup import bead_of
from bd.cli.spec import Argument, Command, Option, one_of, real_number, whole_number
from bd.core import times
from bd.core.errors import BadInput
from bd.operations.costs import Cost
from bd.policy.budget import left_under
from bd.report.costs import GROUPS, entries, paid, sums

if TYPE_CHECKING:
    from typing import Any

    from bd.cli.app import App


SPEC = Command(
    "cost",
    Argument("bead", required=False),
    Option("--usd", kind=real_number(0), help="US dollars to add to the attempt's cost."),
    Option("--tokens-in", kind=whole_number(0), metavar="N", help="Input tokens."),
    Option("--tokens-out", kind=whole_number(0), metavar="N", help="Output tokens."),
    Option("--model", help="The model that was used."),
    Option("--attempt", kind=whole_number(1), metavar="N", help="The attempt; default: the current or last one."),
    Option("--by", kind=one_of(*GROUPS), help="Without a bead: sums by this; default: agent."),
    Option("--since", narrows=True, help="Without a bead: only from this time on, such as 2026-02-01 or 7d."),
    help="""Report what an attempt cost while working, or show what was spent.

    With amounts they are added to the attempt. With a bead alone: each of its attempts, and its
    tree. Without a bead: sums.
    """,
    examples=[
        "bd cost hub-7k3q --usd 0.42 --tokens-in 900 --tokens-out 120    add to the attempt",
        "bd cost hub-7k3q                                                what it has cost",
        "bd cost --by agent --since 2026-02-01                           who spent how much",
    ],
)


def run(app: App, bead: str | None, by: str | None, since: str | None, **told: Any) -> None:
    """Report what an attempt has cost while working, or show what was spent."""
    if bead is None:
        if any(value is not None for value in told.values()):
            raise BadInput("which bead?", hint="bd cost ID --usd 0.42")
        _show_sums(app, by or "agent", since)
        return
    if by or since:
        raise BadInput("--by and --since can't be used with a bead", hint="leave out the bead, or the flag")
    if told["attempt"] is None and all(value is None for value in told.values()):
        _show_bead(app, bead)
        return
    tokens = {kind: told[key] for kind, key in (("input", "tokens_in"), ("output", "tokens_out")) if told[key] is not None}
    given = {"usd": told["usd"], "token_counts": tokens or None, "model": told["model"], "attempt": told["attempt"]}
    given = {key: value for key, value in given.items() if value is not None}
    app.show_written(app.publish(Cost(**app.asked([bead], ids=[bead], **given))), "Noted the cost of")


def _show_sums(app: App, by: str, since: str | None) -> None:
    snapshot = app.snapshot()
    app.tell_gaps(reads_history=False)
    start = times.time_text(times.past_instant(since, app.now)) if since else ""
    found = sums(paid(snapshot, start), by, snapshot)
    if app.out.is_json:
        app.out.json(found)
        return
    if not found:
        app.out.line("No costs were reported.")
        return
    rows = [
        [
            _usd(one["usd"], is_estimated="estimated" in one),
            str(one["attempts"]),
            _tokens(one["tokens"]),
            str(one[by]) or "(nobody said)",
        ]
        for one in found
    ]
    app.out.table(["usd", "attempts", "tokens", by], rows)
    app.out.line(f"{_usd(sum(one['usd'] for one in found))} in all")


def _show_bead(app: App, typed: str) -> None:
    snapshot = app.snapshot()
    bead = bead_of(typed, snapshot)
    found = entries(bead)
    tree = snapshot.spent_under(bead.id, times.time_text(app.now))
    missing = app.tell_gaps(reads_history=False)
    ceiling, left = bead.get("budget_ceiling_usd"), left_under(bead, snapshot, app.now)
    if app.out.is_json:
        attempts = [
            {
                "attempt": one.attempt,
                "agent": one.agent,
                "at": one.at,
                "usd": one.usd,
                "tokens": one.tokens,
                "model": one.model,
                **({"estimated": True} if one.is_estimated else {}),
            }
            for one in found
        ]
        shown = {"id": bead.id, "usd": round(sum(one.usd for one in found), 6), "attempts": attempts, "tree_usd": round(tree, 6)}
        money = {"ceiling_usd": ceiling, "left_usd": None if left is None else round(left, 6)}
        app.out.object({**shown, **{key: value for key, value in money.items() if value is not None}, **missing})
        return
    rows = [
        [
            str(one.attempt or "-"),
            _usd(one.usd, is_estimated=one.is_estimated),
            _tokens(one.tokens),
            one.model or "-",
            one.agent or "-",
        ]
        for one in found
    ]
    if rows:
        app.out.table(["attempt", "usd", "tokens", "model", "agent"], rows)
    own = f"{bead.id} has cost {_usd(sum(one.usd for one in found))}"
    below = f", with all below it {_usd(tree)}" if snapshot.children_of(bead.id) else ""
    limit = f"; {_usd(max(0.0, left))} left of {_usd(float(ceiling))}" if left is not None and ceiling is not None else ""
    app.out.line(f"{own}{below}{limit}")


def _usd(amount: float, *, is_estimated: bool = False) -> str:
    """Return an amount; with ~ if it is an estimate, or a part of it is unknown."""
    words = f"${amount:.2f}" if amount >= 0.01 or not amount else f"${amount:.4f}"
    return f"~{words}" if is_estimated else words


def _tokens(tokens: dict[str, int]) -> str:
    return " + ".join(f"{number} {kind}" for kind, number in tokens.items()) or "-"
