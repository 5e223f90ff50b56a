"""Scenario files: what they may have, what is said of mistakes, and that what they ask for happens by the product's rules."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import jsonschema
import pytest

from bd.core.errors import BadInput
from bd.core.schema import AGENTS_DIR
from bd.policy.capacity import is_away
from bd.simulation.fit import Kind, Role, fitted, history_of
from bd.simulation.run import Run, run
from bd.simulation.scenario import Scenario
from bd.simulation.scenario_file import AGENTS, DISPATCH, OUTAGES, TOP, WORK, read, schema
from tests.running import run_here

if TYPE_CHECKING:
    from tests.running import Clone

pytestmark = pytest.mark.one_in(20)

HOUR = 3600.0
WORDS = {"agents": [{"name": "coder", "count": 2}], "work": [{"name": "code", "arrivals": "6/h"}], "duration": "2h"}


def scenario(**changed: Any) -> str:
    return json.dumps({**WORDS, **changed})


def ran(**changed: Any) -> Run:
    return run(read(scenario(**changed).encode(), "s.yaml"))


# --- reading ---


def test_yaml_and_json_say_the_same() -> None:
    text = b"duration: 2h\nagents:\n  - name: coder\n    count: 2\nwork:\n  - {name: code, arrivals: 6/h}\n"
    assert read(text, "s.yaml") == read(scenario().encode(), "s.json")


@pytest.mark.parametrize(
    ("changed", "words", "hint"),
    [
        ({"agnets": []}, "s.yaml has no key 'agnets'", "did you mean agents?"),
        ({"agents": [{"intervall": "5m"}]}, "s.yaml: agents[0] has no key 'intervall'", "did you mean interval?"),
        ({"work": [{"name": "a"}, {"arivals": "1/h"}]}, "s.yaml: work[1] has no key 'arivals'", "did you mean arrivals?"),
        ({"work": [{"arrivals": f"{'9' * 400}/h"}]}, "which no branch takes", None),
        ({"work": [{"arrivals": "6"}]}, "s.yaml: work[0], arrivals: '6' is not a rate", "write 12/h, 3/m, 0.5/s or 100/d"),
        ({"work": [{"arrivals": ["5s", "6/h"]}]}, "s.yaml: work[0], arrivals: '6/h' is not a duration", None),
        ({"work": [{"service": []}]}, "s.yaml: work[0], service: the list is empty", None),
        ({"work": [{"service": ["0s"]}]}, "s.yaml: work[0], service: a time has to be positive", None),
        ({"work": [{"service_times": "fix"}]}, "is not one of fixed, uniform, exponential, lognormal; did you mean fixed?", None),
        ({"agents": [{"fails": 1.5}]}, "s.yaml: agents[0], fails: 1.5 is not between 0 and 1", None),
        ({"agents": [{"count": 0}]}, "s.yaml: agents[0], count: 0 is not between 1 and 100000", None),
        ({"agents": [{"cron": "maybe"}]}, "'maybe' is neither true nor false", None),
        ({"agents": [{"name": "a"}, {"name": "a"}]}, "two of agents have the same name", None),
        ({"agents": []}, "s.yaml has no agents", None),
        ({"duration": "0s"}, "a time has to be positive", None),
        ({"outages": [{"from": "1h"}]}, "s.yaml: outages[0] has no to", None),
        ({"dispatch": {"away_from": "1h"}}, "only one of away_from and away_to", None),
        ({"dispatch": {"away_from": "2h", "away_to": "1h"}}, "s.yaml: dispatch is back before it is away", None),
        ({"dispatch": [1]}, "s.yaml, dispatch: ['1'] is not a mapping", None),
        ({"agents": {"name": "a"}}, "s.yaml, agents: {'name': 'a'} is not a list", None),
        ({"work": "code"}, "s.yaml, work: 'code' is not a list", None),
        (
            {"agents": [{"skills": {"title_prefixes": ["Fix:"]}}]},
            "agents[0] has no key 'skills.title_prefixes'",
            "did you mean skills.title_prefix?",
        ),
        ({"agents": [{"pool": {"maximum": 3}}]}, "agents[0] has no key 'pool.maximum'", None),
        ({"agents": [{"pool": {"max": "many"}}]}, "`max: many` is not a number", None),
        ({"agents": [{"pool": {"max": 3, "check": "wc -l"}}]}, "check is a command, and a simulation runs none", None),
        ({"agents": [{"budget": {"eur": 3}}]}, "agents[0] has no key 'budget.eur'", None),
        ({"settings": {"max_atempts": 3}}, "s.yaml: settings has no key 'max_atempts'", "did you mean max_attempts?"),
        ({"outages": [{"from": "1h", "to": "30m"}]}, "s.yaml: outages[0] ends before it begins", None),
        (
            {"outages": [{"from": "1h", "to": "2h", "groups": ["coders"]}]},
            "outages[0]: there is no group 'coders'",
            "one of coder",
        ),
    ],
)
def test_mistakes_are_named_with_their_place(changed: dict[str, Any], words: str, hint: str | None) -> None:
    with pytest.raises(BadInput) as caught:
        read(scenario(**changed).encode(), "s.yaml")
    assert words in str(caught.value)
    assert hint is None or caught.value.hint == hint


def test_the_schema_knows_every_key_and_no_other() -> None:
    made = schema()
    jsonschema.Draft7Validator.check_schema(made)
    inner = {"agents": AGENTS, "work": WORK, "outages": OUTAGES}
    assert made["properties"].keys() == TOP.keys()
    for key, table in inner.items():
        assert made["properties"][key]["items"]["properties"].keys() == table.keys()
    assert made["properties"]["dispatch"]["properties"].keys() == DISPATCH.keys()
    jsonschema.validate(json.loads(scenario()), made)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**WORDS, "agnets": []}, made)


# --- what happens ---


def test_agents_take_the_work_that_fits_them() -> None:
    work = [
        {"name": "code", "title": "Fix it", "arrivals": "6/h", "service": "5m"},
        {"name": "papers", "title": "Research: it", "arrivals": "6/h", "service": "5m"},
        {"name": "odd", "title": "Sweep", "backlog": 3},
    ]
    made = ran(agents=[{"name": "coder", "role": "coding"}, {"name": "reader", "role": "research"}], work=work, duration="4h")
    by = {kind: set[str]() for kind in ("code", "papers", "odd")}
    parsed = made.hub.commits.at(made.hub.server.repository, made.hub.tip)
    for files in parsed.beads.values():
        fields = files[0].fields
        claimed = {one.agent for one in made.hub.tally.histories[fields["id"]] if one.what.startswith("claimed")}
        by[fields["metadata"]["simulated"]] |= claimed
    assert by == {"code": {"coder-1"}, "papers": {"reader-1"}, "odd": set()}
    assert made.figures.waiting >= 3


def test_beads_arrive_at_known_times_and_take_known_times() -> None:
    """Each burst is made when the list says; the beads take the listed times in the order in which they are made, over and over."""
    work = [{"name": "code", "arrivals": ["20m", "10m"], "burst": 2, "service": ["1m", "5m", "2m"]}]
    text = scenario(agents=[{"name": "coder", "count": 4}], work=work, peek="1s", fetch_time="0.1s", push_time="0.1s")
    jsonschema.validate(json.loads(text), schema())
    made = run(read(text.encode(), "s.yaml"))
    told = [{one.what: one.at_s for one in history} for history in made.hub.tally.histories.values()]
    assert [round(one["made"] / 60) for one in told] == [10, 10, 20, 20]
    assert sorted(round((one["closed"] - one["claimed, attempt 1"]) / 60) for one in told[:2]) == [1, 5]
    assert sorted(round((one["closed"] - one["claimed, attempt 1"]) / 60) for one in told[2:]) == [1, 2]
    assert made.figures.beads == 4
    assert read(text.encode(), "s.yaml").as_json()["beads_per_hour"] == 2


def test_an_idle_agent_fetches_once_between_its_peek_and_its_claim() -> None:
    """A peek every 0.6 s, then a listing and a fetch; the claim trusts this fetch. A listing takes half as long as a fetch."""
    work = [{"name": "code", "arrivals": [f"{number}m" for number in range(1, 11)], "service": "1s"}]
    times = {"peek": "0.1s", "fetch_time": "1s", "push_time": "0.1s"}
    made = ran(agents=[{"name": "coder"}], work=work, duration="11m", **times)
    assert made.figures.claims == 10
    assert made.figures.wait_mean_s == pytest.approx(0.6 / 2 + 0.5 + 0.5 + 1 + 0.1, rel=0.12)


def test_what_fails_is_tried_again_and_given_up() -> None:
    made = ran(work=[{"name": "bad", "backlog": 2, "fails": 1.0, "service": "1m"}], settings={"max_attempts": 2}, duration="10h")
    assert (made.figures.claims, made.figures.failures, made.figures.given_up, made.figures.closes) == (4, 4, 2, 0)
    told = [one.what for one in next(iter(made.hub.tally.histories.values()))]
    assert [what for what in told if "claimed" in what] == ["claimed, attempt 1", "claimed, attempt 2"]


def test_the_claim_of_a_dead_agent_is_noticed_and_freed() -> None:
    agents = [{"name": "mortal", "count": 2, "dies": 0.5, "back": "5m"}, {"name": "steady", "count": 2}]
    made = ran(agents=agents, work=[{"name": "code", "arrivals": "6/h", "service": "10m"}], duration="10h")
    assert made.figures.freed > 2
    # Three missed heartbeats of five minutes, the time since the last one, and until somebody looks.
    assert 10 * 60 < made.figures.stall_p50_s <= made.figures.stall_max_s < 50 * 60
    assert made.figures.closes > 20


def test_an_outage_fails_what_is_tried_meanwhile() -> None:
    work = [{"name": "code", "backlog": 4, "service": "20m", "service_times": "fixed"}]
    made = ran(work=work, outages=[{"from": "10m", "to": "15m"}], duration="6h")
    assert made.figures.failures >= 2
    assert made.figures.closes == 4


def test_a_pool_grows_with_the_work_and_shrinks_after_it() -> None:
    pool = {"min": 0, "max": 3, "scale_interval": "30s", "idle_timeout": "5m", "cooldown_down": "1m"}
    made = ran(agents=[{"name": "worker", "pool": pool}], work=[{"name": "bulk", "backlog": 9, "service": "10m"}], duration="6h")
    assert made.figures.closes == 9
    assert max(sample.working for sample in made.hub.tally.samples) == 3
    assert made.hub.tally.members("worker", 6 * HOUR) < 2
    record = made.hub.commits.at(made.hub.server.repository, made.hub.tip).folders[AGENTS_DIR.rstrip("/")]
    assert list(record.fields) == ["worker"]


def test_a_dispatcher_hands_out_the_work_at_once_unless_it_is_away() -> None:
    eight: dict[str, Any] = {"agents": [{"name": "coder", "count": 8}], "duration": "8h"}
    pushed = ran(**eight, dispatch={"how": "claim"})
    away = ran(**eight, dispatch={"how": "claim", "away_from": "2h", "away_to": "4h"})
    pulled = ran(**eight)
    assert pushed.figures.closes > 30
    assert pushed.figures.looks_per_minute == 0
    assert pushed.figures.wait_p50_s < 10
    assert away.figures.wait_p99_s > HOUR > pulled.figures.wait_p99_s
    assert away.figures.closes > 30


def test_a_dispatchers_agent_may_die_at_two_beads_at_once() -> None:
    agents = [{"name": "a", "count": 2, "capacity": 2, "dies": 0.3, "back": "5m"}]
    work = [{"name": "w", "backlog": 12, "service": "10m"}]
    figures = ran(agents=agents, work=work, dispatch={"how": "claim"}, seed=2).figures
    assert 0 < figures.closes < figures.claims


def test_an_agent_that_works_for_long_is_not_presumed_offline() -> None:
    agents = [{"name": "a"}, {"name": "idle", "skills": {"title_prefix": ["Odd:"]}}]
    work = [{"name": "w", "arrivals": "2/h", "service": "6h", "service_times": "fixed"}]
    made = ran(agents=agents, work=work, duration="6h")
    clone = made.hub.clone()
    assert (made.figures.claims, made.figures.closes) == (1, 0)
    assert made.figures.empty_looks
    assert not is_away("a-1", clone.snapshot(), clone.virtual.now())


def test_beads_arrive_in_the_queue_of_an_agent_that_died() -> None:
    work = [{"name": "w", "arrivals": "6/h", "service": "5m", "assignee": "a-1"}]
    made = ran(agents=[{"name": "a", "dies": 1, "back": "1d"}, {"name": "b"}], work=work, duration="4h")
    clone = made.hub.clone()
    assert is_away("a-1", clone.snapshot(), clone.virtual.now())
    assert made.hub.tally.arrived > 12


def test_cron_starts_that_are_not_due_look_and_claim_nothing() -> None:
    agents = [{"name": "a", "cron": True, "interval": "5m"}]
    made = ran(agents=agents, work=[{"name": "w", "backlog": 1}], duration="12h")
    assert made.figures.claims == 1
    assert made.figures.empty_looks < 20, "its pace skips the others"
    assert made.hub.tally.reads > 2 * 12 * 12 - 20, "each start fetches the heartbeats and the hub"


def test_beads_move_from_a_long_queue_to_an_idle_agent() -> None:
    work = [{"name": "simple", "backlog": 12, "assignee": "iris-1", "priority": 4, "service": "20m"}]
    both: dict[str, Any] = {"agents": [{"name": "iris"}, {"name": "loom"}], "work": work, "duration": "3h"}
    alone, moved = ran(**both), ran(**both, rebalance="5m")
    worked = {one.agent for told in moved.hub.tally.histories.values() for one in told if one.what == "closed"}
    assert worked == {"iris-1", "loom-1"}
    assert moved.figures.wait_mean_s < alone.figures.wait_mean_s
    # It is idle for two minutes before it gets anything, and beads are moved every five.
    assert 120 < moved.figures.idle_max_s < 8 * 60


def test_a_budget_ends_the_work() -> None:
    agents = [{"name": "coder", "budget": {"usd": 1.0}, "usd_per_hour": 1.0}]
    made = ran(agents=agents, work=[{"name": "code", "backlog": 20, "service": "10m"}], duration="12h")
    assert 1.0 <= made.figures.spent_usd < 3.0
    assert made.figures.waiting > 5


@pytest.mark.parametrize("changed", [{}, {"rebalance": "5m"}, {"dispatch": {"how": "assign", "every": "10m"}}])
def test_the_same_seed_gives_the_same_run(changed: dict[str, Any]) -> None:
    assert ran(**changed).figures == ran(**changed).figures


# --- the command ---


def test_the_command_shows_waits_by_work_a_timeline_and_a_chart(tmp_path: Path) -> None:
    file = tmp_path / "s.yaml"
    file.write_text(scenario(work=[{"name": "code", "arrivals": "6/h"}, {"name": "more", "backlog": 1}]), encoding="utf-8")
    drawn = tmp_path / "run.svg"
    out = run_here("simulate", "--scenario", str(file), "--timeline", "1", "--chart", str(drawn), cwd=tmp_path).out
    assert out.startswith("2 coder; 6 beads an hour;")
    assert "claimed, attempt 1" in out
    assert [line.split()[0] for line in out.splitlines() if line.startswith(("code ", "more "))] == ["code", "more"]
    assert len(ET.parse(drawn).getroot().findall("{http://www.w3.org/2000/svg}polyline")) == 3
    shown = json.loads(run_here("simulate", "--scenario", str(file), "--timeline", "1", "--json", cwd=tmp_path).out)
    assert shown["scenario"]["groups"] == {"coder": 2}
    assert shown["timeline"][0]["what"] == "made"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--scenario", "none.yaml"], "none.yaml can't be read"),
        (["--scenario", "s.yaml", "--agents", "3"], "--agents and --scenario together"),
        (["--scenario", "s.yaml", "--interval", "3m"], "--interval and --scenario together"),
        (["--scenario", "s.yaml", "--timeline", "hub-none"], "no bead hub-none was made"),
        (["--fit", "--scenario", "s.yaml"], "--scenario and --fit together"),
        (["--fit", "--max-wait", "30m", "--agents", "3"], "--agents and --fit together"),
        (["--timeline", "1", "--sweep", "agents=1..2"], "--timeline and --chart are about one run"),
        (["--duration", "1m", "--chart", "no/where.svg"], "no/where.svg can't be written"),
    ],
)
def test_the_command_refuses(words: list[str], says: str, tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(scenario(duration="5m"), encoding="utf-8")
    done = run_here("simulate", *words, cwd=tmp_path, check=False)
    assert done.code != 0
    assert says in done.err


@pytest.mark.parametrize("path", sorted(Path(__file__).parents[1].glob("examples/scenarios/*.yaml")), ids=lambda path: path.stem)
def test_the_examples_can_be_read(path: Path) -> None:
    made = read(path.read_bytes(), path.name)
    assert run(made._replace(duration_s=HOUR)).figures.claims > 0
    assert path.read_text(encoding="utf-8") in (path.parents[2] / "docs" / "simulation.md").read_text(encoding="utf-8")


def test_a_bead_that_cannot_be_made_is_told() -> None:
    with pytest.raises(BadInput, match="nonsense"):
        ran(work=[{"name": "code", "arrivals": "6/h", "type": "nonsense"}])


# --- the fleet that a hub needs ---

PAST: dict[str, Any] = {
    "agents": [
        {"name": "coder", "count": 6, "role": "coding", "usd_per_hour": 6},
        {"name": "reader", "count": 2, "role": "research", "fails": 0.2},
    ],
    "work": [
        {"name": "code", "title": "Fix it", "arrivals": "6/h", "service": "20m"},
        {"name": "papers", "title": "Research: it", "arrivals": "2/h", "service": "30m", "type": "chore"},
    ],
    "duration": "15h",
    "seed": 3,
}


@cache
def the_past() -> tuple[list[Kind], dict[str, Role]]:
    made = ran(**PAST)
    clone = made.hub.clone()
    return history_of(clone.snapshot(), clone.virtual.now(), 15 * HOUR)


def test_the_past_is_read_out_of_the_hub() -> None:
    kinds, roles = the_past()
    [code, papers] = kinds
    assert [(kind.role, kind.type) for kind in kinds] == [("coding", "task"), ("research", "chore")]
    assert code.rate * HOUR == pytest.approx(6, rel=0.25)
    assert code.service_s == pytest.approx(20 * 60, rel=0.25)
    assert papers.service_s == pytest.approx(30 * 60, rel=0.4)
    assert (code.fails, papers.usd) == (0, 0)
    assert papers.fails == pytest.approx(0.2, abs=0.15)
    assert code.usd == pytest.approx(2, rel=0.25)
    assert {name: (role.agents, role.interval_s) for name, role in roles.items()} == {"coding": (6, 1800), "research": (2, 3600)}


@pytest.mark.slow
def test_fewer_agents_are_enough_where_beads_may_wait() -> None:
    kinds, roles = the_past()
    base = Scenario(seed=3)
    tried: list[str] = []
    [soon, _] = fitted(kinds, roles, base, 12 * 60.0, tried.append)
    [late, _] = fitted(kinds, roles, base, 2 * HOUR, tried.append)
    assert tried[0].startswith("2 coding") or tried[0].startswith("3 coding"), "as many as the work keeps busy"
    assert late.holds
    assert soon.holds
    assert late.agents < soon.agents
    assert soon.wait_p95_s <= 12 * 60 < late.wait_p95_s <= 2 * HOUR
    assert late.usd_per_day == soon.usd_per_day == pytest.approx(6 * 24 * 2, rel=0.4)


def test_a_hub_without_a_past_cannot_be_fitted(local_hub: Clone) -> None:
    done = local_hub.here("simulate", "--fit", "--max-wait", "30m", check=False)
    assert (done.code, "--history" in done.err) == (4, True)
    done = local_hub.here("simulate", "--fit", check=False)
    assert "how long beads may wait" in done.err


def test_the_command_says_what_each_role_needs(local_hub: Clone) -> None:
    for number in range(5):
        bead = local_hub.here("create", f"Bead {number}", "--json").json["id"]
        local_hub.here("claim", bead, "--agent", "coder")
        local_hub.here("close", bead, "--agent", "coder")
    local_hub.here("close", local_hub.here("create", "A person's", "--json").json["id"])
    out = local_hub.here("simulate", "--fit", "--max-wait", "30m").out
    assert [line.split()[:5] for line in out.splitlines()[:1]] == [["role", "beads/day", "each", "failed", "agents"]]
    assert "95% of the beads wait no longer than 30m" in out
    shown = local_hub.here("simulate", "--fit", "--max-wait", "30m", "--json").json
    assert [need["role"] for need in shown["needs"]] == ["coder"]
    [history] = shown["history"]
    assert (history["closed"], history["beads_per_day"]) == (5, 120), "five in the first hour, without the person's"


def test_an_idle_agent_takes_beads_of_a_long_queue_at_once_where_the_hub_allows_it() -> None:
    work = [{"name": "simple", "backlog": 12, "assignee": "iris-1", "priority": 4, "service": "20m"}]
    settings = {"stealing": {"on_poll": True}}
    made = ran(agents=[{"name": "iris"}, {"name": "loom"}], work=work, settings=settings, starts="0s", duration="3h")
    told = [one for each in made.hub.tally.histories.values() for one in each if one.agent == "loom-1"]
    assert min(one.at_s for one in told if one.what.startswith("claimed")) < 60
