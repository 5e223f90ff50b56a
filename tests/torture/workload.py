"""What agents type: claims, ends of claims, and all the rest, some of it wrong, as agents do."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from bd.store.group_commit.requests import VALID_S
from tests.runtime import CLOCK
from tests.torture.calls import Call

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.torture.yard import Yard

AGENTS = ("ann", "ben", "cat", "dan")
SEEDED = tuple(f"hub-{name}" for name in "abcdef")
LATER = {"BD_TEST_UPTIME_OFFSET_S": "7200"}
# Verbs that write one operation with a mark of its own.
WRITERS = ("claim", "close", "release", "fail", "comment", "create", "notes")


def claim_next(yard: Yard, clone: str, agent: str, *more: str) -> Call:
    return Call(clone, agent, "claim", ["claim", "--next", *more, "--agent", agent, "--json"])


def claim_one(yard: Yard, clone: str, agent: str) -> Call:
    bead = yard.rng.choice(yard.beads)
    return Call(clone, agent, "claim", ["claim", bead, "--agent", agent, "--json"], bead)


def resume(yard: Yard, clone: str, agent: str) -> Call:
    bead = yard.held_by(agent)
    return Call(clone, agent, "claim", ["claim", bead, "--resume", "--agent", agent, "--json"], bead)


def close(yard: Yard, clone: str, agent: str) -> Call:
    bead, mark = yard.held_by(agent), yard.mark()
    return Call(clone, agent, "close", ["close", bead, "--reason", mark, "--agent", agent, "--json"], bead, mark)


def close_next(yard: Yard, clone: str, agent: str) -> Call:
    bead, mark = yard.held_by(agent), yard.mark()
    return Call(clone, agent, "close", ["close", bead, "--reason", mark, "--next", "--agent", agent, "--json"], bead, mark)


def release(yard: Yard, clone: str, agent: str) -> Call:
    bead, mark = yard.held_by(agent), yard.mark()
    return Call(clone, agent, "release", ["release", bead, "--reason", mark, "--agent", agent, "--json"], bead, mark)


def fail(yard: Yard, clone: str, agent: str) -> Call:
    bead, mark = yard.held_by(agent), yard.mark()
    words = ["fail", bead, "--reason", "crash", "--error", mark, "--agent", agent, "--json"]
    return Call(clone, agent, "fail", words, bead, mark)


def comment(yard: Yard, clone: str, agent: str) -> Call:
    bead, mark = yard.rng.choice(yard.beads), yard.mark()
    return Call(clone, agent, "comment", ["comment", bead, mark, "--agent", agent, "--json"], bead, mark)


def create(yard: Yard, clone: str, agent: str) -> Call:
    mark = yard.mark()
    words = ["create", f"Made {mark}", "--expected", "1s", "--agent", agent, "--json"]
    return Call(clone, agent, "create", words, mark=mark)


def notes(yard: Yard, clone: str, agent: str) -> Call:
    bead, mark = yard.rng.choice(yard.beads), yard.mark()
    return Call(clone, agent, "notes", ["update", bead, "--append-notes", mark, "--agent", agent, "--json"], bead, mark)


def priority(yard: Yard, clone: str, agent: str) -> Call:
    bead = yard.rng.choice(yard.beads)
    words = ["update", bead, "--priority", str(yard.rng.randrange(5)), "--agent", agent, "--json"]
    return Call(clone, agent, "update", words, bead)


def reopen(yard: Yard, clone: str, agent: str) -> Call:
    bead = yard.rng.choice(yard.beads)
    return Call(clone, agent, "reopen", ["reopen", bead, "--agent", agent, "--json"], bead)


def archive(yard: Yard, clone: str, agent: str) -> Call:
    return Call(clone, agent, "archive", ["archive", "--older-than", "0s", "--agent", agent, "--json"])


def depend(yard: Yard, clone: str, agent: str) -> Call:
    bead, on = yard.rng.sample(yard.beads, k=2)
    return Call(clone, agent, "dep", ["dep", "add", bead, on, "--agent", agent, "--json"], bead)


def undo(yard: Yard, clone: str, agent: str) -> Call:
    return Call(clone, agent, "undo", ["undo", "--agent", agent, "--json"])


def sync(yard: Yard, clone: str, agent: str) -> Call:
    return Call(clone, agent, "sync", ["sync", "--json"])


def late_sync(yard: Yard, clone: str) -> Call:
    """A sync after the requests of now have expired."""
    offset_s = int(yard.more_env.get(clone, {}).get(CLOCK, "0")) + int(VALID_S) + 1
    return Call(clone, "", "sync", ["sync", "--json"], env={CLOCK: str(offset_s)})


def read(yard: Yard, clone: str, agent: str) -> Call:
    return Call(clone, agent, "read", ["list", "--json"])


def heartbeat(yard: Yard, clone: str, agent: str) -> Call:
    return Call(clone, agent, "heartbeat", ["heartbeat", "--agent", agent, "--progress", yard.mark(), "--json"])


def poll(yard: Yard, clone: str, agent: str) -> Call:
    return Call(clone, agent, "poll", ["poll", "--agent", agent, "--json"])


def work(yard: Yard, clone: str, agent: str) -> Call:
    words = ["work", "--agent", agent, "--once", "--max-tasks", "1", "--json", "--", "true"]
    return Call(clone, agent, "work", words)


def look(yard: Yard, clone: str, agent: str = "boss") -> Call:
    return Call(clone, agent, "stalled", ["stalled", "--json"])


def reassign(yard: Yard, clone: str, agent: str = "boss") -> Call:
    """As somebody who has looked two hours ago."""
    return Call(clone, agent, "reassign", ["stalled", "--reassign", "--json", "--agent", agent], env=dict(LATER))


def beating_claim(yard: Yard, clone: str, agent: str) -> Call:
    """A claim that promises heartbeats, as `bd work` makes it, whose holder goes on with other things."""

    def claim() -> int:
        from bd.core.errors import BdError
        from bd.operations.claims import Claim
        from bd.store.hub_location import locate
        from tests.runtime import RUNTIME, open_clone

        hub = open_clone(locate("."))
        beat = {"interval_s": 30, "by": "ref"}
        operation = Claim(by=f"agent:{agent}", at=_stamp(), runtime=RUNTIME, agent=agent, ids=[], next=True, heartbeat=beat)
        try:
            hub.sides.probe(_now())
            outcome = hub.publish(operation)
        except BdError as refusal:
            print(f"Error: {refusal}", file=sys.stderr)
            return refusal.exit_code
        finally:
            hub.close()
        tokens = outcome.change.tokens if outcome.change else []
        print(json.dumps([{"id": bead, "claim": {"token": token}} for token, bead in tokens]))
        return 0

    return Call(clone, agent, "claim", ["(a claim that beats)"], work=claim)


def sweep(yard: Yard, clone: str) -> Call:
    """What any poll does once a day: the signs of claims that have ended are removed."""

    def work() -> int:
        from bd.store.hub_location import locate
        from bd.worker import maintenance
        from tests.runtime import open_clone

        hub = open_clone(locate("."))
        print("\n".join(maintenance.sweep_claim_refs(hub, "agent:boss")))
        hub.close()
        return 0

    return Call(clone, "boss", "sweep", ["(the daily sweep)"], work=work)


def _now() -> object:
    from tests.runtime import RUNTIME

    return RUNTIME.now()


def _stamp() -> str:
    from bd.core.times import time_text
    from tests.runtime import RUNTIME

    return time_text(RUNTIME.now(), exact=True)


MIX: dict[Callable[[Yard, str, str], Call], int] = {
    claim_next: 24,
    claim_one: 10,
    resume: 2,
    close: 10,
    close_next: 6,
    release: 6,
    fail: 5,
    comment: 12,
    create: 8,
    notes: 8,
    priority: 3,
    reopen: 4,
    archive: 4,
    depend: 3,
    undo: 2,
    sync: 4,
    read: 2,
    heartbeat: 3,
    poll: 2,
    work: 4,
    reassign: 2,
}


def any_call(yard: Yard) -> Call:
    """What happens next: somebody, somewhere."""
    [make] = yard.rng.choices(list(MIX), list(MIX.values()))
    agent = yard.rng.choice(AGENTS)
    return make(yard, yard.clone_of(agent), agent)
