"""Every question that policy answers about a snapshot, asked with whatever the hub has: found by itself, so none is left out."""

from __future__ import annotations

import importlib
import inspect
import itertools
import pkgutil
from typing import TYPE_CHECKING, Any

import bd.policy
from bd.core.errors import BdError
from bd.core.model import Bead, Change, Snapshot
from bd.core.pools import pools_of
from bd.core.queries import Lineup, Sought
from bd.core.settings import merge
from bd.policy import friction, scaling, stealing
from bd.policy.circles import Step
from bd.policy.dag_progress import Dags
from bd.policy.ranking import Ranking
from bd.policy.readiness import Reason
from tests.clocks import START

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NAMES = ["coder", "other", "failing", "resting", "tired", "swarm", "nobody"]
# A parameter that says by which snapshot a question is answered.
_ABOUT = {"snapshot", "readiness", "dags", "ranking"}


def _values(snapshot: Snapshot) -> dict[str, list[Any]]:
    """What is asked with, by the name of the parameter; behind a dot where another question means something else by it."""
    ids = sorted(bead.id for bead in snapshot.every())
    beads = snapshot.wholes(ids)
    ranking, dags = Ranking(snapshot, START), Dags(snapshot, START)
    claimed = {bead.id: bead.evolve(claims=[{"agent": "coder", "token": "t"}]) for bead in beads}
    return {
        "bead": beads,
        "root": beads,
        "parent": beads,
        "name": NAMES,
        "agent": NAMES,
        "bead_id": [ids[0], ids[2], ids[-1], "hub-none"],
        "root_id": [ids[0], ids[2], ids[-1], "hub-none"],
        "ids": [ids],
        "starts": [ids],
        "beads": [beads],
        "snapshot": [snapshot],
        "now": [START],
        "ranking": [ranking],
        "readiness": [ranking.readiness],
        "dags": [dags],
        "children": [dags.children],
        "dag": [dags.of(bead) for bead in beads],
        "expected_s": [lambda _: 60.0],
        "longest": [5],
        "change": [Change(claimed, "claim")],
        "claim": [{}, {"agent": "coder", "token": "t"}],
        "won": [[("t", ids[0])]],
        "friction.rules": [friction.rules_of(snapshot)],
        "stealing.rules": [None, stealing.rules_of(snapshot)],
        "sights": [{}],
        "given": ["", "kit@build-1/ada"],
        "account": ["", "kit@build-1/ada"],
        "kind": ["crash", "rate_limit", "auth_failure", "agent_crash"],
        "wanted": [None, 3],
        "running": [[], [scaling.Member("swarm-1", 0.0)]],
        "memory": [scaling.Memory()],
        "now_s": [60.0],
        "away": [()],
        "settings": [merge([("hub", snapshot.config())])],
        "board_path": ["", "docs/board.md"],
        "key": [""],
        "to": [None, "coder"],
        "by": ["human:ada", "agent:coder"],
        "spec": [{"title": "Fix it", "labels": ["friction"]}],
        "role": ["", "coding"],
        "specs": [[{"title": "Fix it", "repo": "none"}]],
        "uid": ["op-1", "op-21"],
        "least": ["0.9.0", "99"],
        "work_queue.key": [ranking.listed],
        "passes": [bool],
        "sought": [Sought(phases=("ready", "pending")), Sought(phases=("ready",))],
        "pool": list(pools_of(snapshot).values()),
        "reason": [Reason("busy", "is busy")],
        "ready": [beads],
        "place": [50.0],
        "critical": [True, False],
        "is_ready": [None, True],
        "unfinished": [False, True],
        "takes_over": [False, True],
        "step": [Step(bead_id, is_close) for bead_id in ids for is_close in (False, True)],
        "within": [None],
        "each": [lambda parent: (parent.id,)],
        "circles.starts": [[Step(bead_id, True) for bead_id in ids]],
    }


def _public(module: Any) -> Iterator[tuple[str, Any]]:
    for name, thing in list(vars(module).items()):  # a question may import into its module
        if not name.startswith("_") and getattr(thing, "__module__", None) == module.__name__:
            yield name, thing


def _asked(name: str, question: Callable[..., Any], values: dict[str, list[Any]]) -> list[Any]:
    """The answers to a question, asked with every combination of what there is. A refusal is an answer, too."""
    module = name.partition(".")[0]
    given = [values.get(f"{module}.{one}") or values[one] for one in inspect.signature(question).parameters]
    keyword = [one for one, what in inspect.signature(question).parameters.items() if what.kind is what.KEYWORD_ONLY]
    found = []
    for arguments in itertools.product(*given):
        words = dict(zip(keyword, arguments[len(arguments) - len(keyword) :], strict=True))
        try:
            found.append(told(question(*arguments[: len(arguments) - len(keyword)], **words)))
        except BdError as error:
            found.append([type(error).__name__, str(error)])
    return found


def answers(snapshot: Snapshot) -> dict[str, Any]:
    """What every question of policy is answered, by the question's name."""
    values = _values(snapshot)
    found: dict[str, Any] = {}
    for one in pkgutil.iter_modules(bd.policy.__path__):
        module = importlib.import_module(f"bd.policy.{one.name}")
        for name, thing in _public(module):
            asked = f"{one.name}.{name}"
            if inspect.isfunction(thing) and _ABOUT & inspect.signature(thing).parameters.keys():
                found[asked] = _asked(asked, thing, values)
            elif inspect.isclass(thing) and "snapshot" in inspect.signature(thing).parameters:
                given = [values[key] for key in inspect.signature(thing).parameters]
                for arguments in itertools.product(*given):
                    made = thing(*arguments)
                    for method in [key for key, what in vars(thing).items() if key[0] != "_" and inspect.isfunction(what)]:
                        answer = _asked(f"{asked}.{method}", getattr(made, method), values)
                        found.setdefault(f"{asked}.{method}", []).append(answer)
    return found


def told(value: Any) -> Any:
    """An answer as plain values. Of a bead its id, since a store may answer with a head; of what is in no order, an order."""
    if isinstance(value, Bead):
        return value.id
    if isinstance(value, dict):
        return {str(told(key)): told(inner) for key, inner in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted(map(told, value))
    if inspect.isfunction(value):
        return "a function"
    if isinstance(value, (list, tuple, Lineup)) or inspect.isgenerator(value) or hasattr(value, "__next__"):
        return [told(inner) for inner in value]
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)
