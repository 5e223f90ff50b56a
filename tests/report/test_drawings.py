"""Charts, the dependency graph, and what they are drawn from."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st

from bd.report import dag_drawing
from bd.report.metrics import series
from bd.report.metrics import svg as drawing
from bd.report.metrics.flow import Flow, Row
from bd.report.metrics.metrics import Window, spans
from tests.memory import MemorySnapshot, make_bead

if TYPE_CHECKING:
    from bd.core.model import Bead

NOW = datetime(2026, 2, 21, 12, tzinfo=UTC)
WINDOW = Window(1000, 2000)


def shapes(svg: str, tag: str = "rect") -> list[ET.Element]:
    """The shapes of a drawing, which has to be well-formed."""
    return [one for one in ET.fromstring(svg).iter() if one.tag == tag]


@given(st.lists(st.tuples(st.integers(0, 3000), st.integers(0, 3000)).map(sorted).map(tuple), max_size=20))
def test_steps_tell_at_each_moment_how_many_were_in_hand(held: list[tuple[int, int]]) -> None:
    steps = series.in_hand(held, WINDOW)
    assert [share for share, _ in steps] == sorted({share for share, _ in steps})
    for second in range(WINDOW.start_s, WINDOW.end_s, 97):
        told = next(number for share, number in reversed(steps) if share * WINDOW.length_s + WINDOW.start_s <= second + 1e-6)
        assert told == sum(start <= second < end for start, end in held)


def test_waits_are_told_by_the_part_of_time_they_ended_in() -> None:
    flow = Flow()
    flow.rows = [Row(1030, "claimed", "a", "task", wait_s=5), Row(1020, "claimed", "b", "task", wait_s=50)]
    flow.rows += [Row(1999, "claimed", "c", "task", wait_s=7), Row(2001, "claimed", "d", "task", wait_s=900)]
    told = series.waits(flow, WINDOW)
    assert [(part["count"], part.get("max")) for part in told if part["count"]] == [(2, 50), (1, 7)]


def test_what_goes_on_is_in_hand_until_now() -> None:
    flow = Flow()
    flow.rows = [Row(1500, "closed", "a", "task", "bob", work_s=300), Row(900, "closed", "b", "task", "bob", work_s=10)]
    flow.begun = {"token": ["ann", 1700]}
    assert spans(flow, WINDOW) == {"bob": [(1200, 1500)], "ann": [(1700, 2000)]}


def test_columns_are_as_high_as_their_share_of_the_highest() -> None:
    made = shapes(drawing.columns([("one <1>", 1), ("none", 0), ("two", 2)]))
    assert [float(one.get("height", 0)) for one in made] == [drawing.HEIGHT / 2, drawing.HEIGHT]
    assert [one.findtext("title") for one in made] == ["one <1>", "two"]


def test_a_limit_is_a_line() -> None:
    drawn = drawing.steps([(0.0, 1)], 2, "in hand")
    assert len(shapes(drawn, "line")) == 1
    assert len(shapes(drawing.steps([(0.0, 1)], None, "in hand"), "line")) == 0


def hub_of(edges: set[tuple[int, int]], number: int) -> MemorySnapshot:
    """Beads hub-b0, hub-b1 ...; an edge (a, b) says that b waits for a."""
    beads = [
        make_bead(f"hub-b{one}", depends_on=[f"hub-b{a}" for a, b in sorted(edges) if b == one], title=f"Bead {one} <&>")
        for one in range(number)
    ]
    return MemorySnapshot(beads)


def drawn(snapshot: MemorySnapshot, bead: Bead) -> tuple[dag_drawing.Graph, dict[str, tuple[float, float]]]:
    """The graph around a bead, and where each box of its drawing is."""
    found = dag_drawing.around(bead, snapshot)
    svg = dag_drawing.svg(found, bead.id, snapshot, NOW, lambda one: f"/beads/{one}")
    boxes = {one.get("href", "")[7:]: next(iter(one)) for one in shapes(svg, "a")}
    assert len(shapes(svg, "path")) == len(found.edges)
    return found, {one: (float(box.get("x", 0)), float(box.get("y", 0))) for one, box in boxes.items()}


pairs = st.tuples(st.integers(0, 9), st.integers(0, 9)).filter(lambda pair: pair[0] != pair[1])


@given(st.sets(pairs, max_size=25))
def test_each_bead_is_drawn_once_and_to_the_right_of_what_it_waits_for(edges: set[tuple[int, int]]) -> None:
    forward = {(min(pair), max(pair)) for pair in edges}
    snapshot = hub_of(forward, 10)
    found, places = drawn(snapshot, snapshot.bead("hub-b5"))
    assert places.keys() == found.beads.keys()
    assert len(set(places.values())) == len(places)
    assert all(places[before][0] < places[after][0] for before, after in found.edges)


@given(st.sets(pairs, max_size=25))
def test_a_circle_that_somebody_typed_is_drawn_too(edges: set[tuple[int, int]]) -> None:
    snapshot = hub_of(edges, 10)
    found, places = drawn(snapshot, snapshot.bead("hub-b5"))
    assert places.keys() == found.beads.keys()


def test_of_many_the_nearest_are_drawn_and_the_others_counted() -> None:
    snapshot = hub_of({(0, one) for one in range(1, 100)}, 100)
    found, places = drawn(snapshot, snapshot.bead("hub-b0"))
    assert len(places) == dag_drawing.MOST
    assert found.more == 100 - dag_drawing.MOST


def test_titles_are_cut_whole_and_harmless() -> None:
    snapshot = MemorySnapshot([make_bead("hub-a", title="<b>\u202e" + "x" * 90), make_bead("hub-b", depends_on=["hub-a"])])
    found = dag_drawing.around(snapshot.bead("hub-b"), snapshot)
    svg = dag_drawing.svg(found, "hub-b", snapshot, NOW, str)
    assert not re.search("<b>|\u202e", svg)
    assert "…" in svg
