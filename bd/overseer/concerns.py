"""What needs a person and is no bead yet: an overloaded agent, a silent one, a refused account, a damaged file.

Each gets one bead that waits for a person, and is closed once the cause is over. Dead letters, questions and stalls are beads
already; what this clone could not publish concerns this clone alone.
"""

from __future__ import annotations

from typing import NamedTuple
from zlib import crc32

from bd import TYPE_CHECKING
from bd.core.times import age_text
from bd.policy.triggers import spent_keys

if TYPE_CHECKING:
    from typing import Any

    from bd.core.model import Bead, Snapshot
    from bd.report.attention import Attention

# The label of these beads, and what their idempotency keys begin with.
LABEL = "attention"
# The most beads filed in a round.
AT_ONCE = 5


class Concern(NamedTuple):
    """Something that needs a person: what it is about, since when, a title, and what the person is asked.

    `since` may move while it lasts: it only keeps the bead of an occurrence apart from those of earlier ones.
    """

    about: str
    since: str
    title: str
    question: str

    @property
    def key(self) -> str:
        """The idempotency key of its bead."""
        return f"{LABEL}/{self.about}/{self.since}"

    def spec(self) -> dict[str, Any]:
        """Return the fields of its bead."""
        waits = {"status": "blocked", "waiting_on": "human", "status_reason": self.question}
        return {"title": self.title, "type": "chore", "priority": 1, "labels": [LABEL], "idempotency_key": self.key, **waits}


def concerns_of(found: Attention) -> list[Concern]:
    """Return the concerns among all that needs a person."""
    return [
        *(_overloaded(one) for one in found.overloaded),
        *(_offline(one) for one in found.offline),
        *(_refused(one) for one in found.outages if one.get("needs_person")),
        *(_damaged(one) for one in found.damaged),
    ]


def _overloaded(one: dict[str, Any]) -> Concern:
    name = one["agent"]
    asked = f"{one['failed']} of its last {one['of']} attempts failed. Read its log, fix the cause, `bd agent clear {name}`."
    return Concern(f"overloaded/{name}", one.get("since", ""), f"Agent {name} is overloaded", asked)


def _offline(one: dict[str, Any]) -> Concern:
    name = one["agent"]
    asked = f"No heartbeat for {age_text(one['age_s'])} when this was filed. Start it again, or `bd offline {name}`."
    return Concern(f"offline/{name}", one.get("since", ""), f"Agent {name} has fallen silent", asked)


def _refused(one: dict[str, Any]) -> Concern:
    account, agents = one["account"], one.get("agents") or []
    wakes = f"`bd agent wake {agents[0]}`" if agents else "`bd agent wake NAME`"
    asked = f"Its agents ({', '.join(agents) or 'none now'}) get no work. Log in again or pay, then {wakes}."
    return Concern(f"refused/{account}", one["since"], f"The account {account} is refused: {one['reason']}", asked)


def _damaged(one: dict[str, Any]) -> Concern:
    path, reason = one["path"], one["reason"]
    return Concern(
        f"damaged/{path}", f"{crc32(reason.encode()):08x}", f"{path} can't be read", f"It {reason}. `bd doctor` says more."
    )


def filed(snapshot: Snapshot) -> dict[str, Bead]:
    """Return the open beads about concerns, by what each is about."""
    heads = [bead.id for bead in snapshot.live() if LABEL in bead.labels]
    keys = ((str(bead.get("idempotency_key") or ""), bead) for bead in snapshot.wholes(heads))
    return {_about(key): bead for key, bead in keys if key.startswith(f"{LABEL}/")}


def _about(key: str) -> str:
    return key.removeprefix(f"{LABEL}/").rpartition("/")[0]


def unfiled(found: Attention, snapshot: Snapshot) -> list[Concern]:
    """Return the concerns without an open bead, as many as are filed at once. One whose bead a person has closed is settled."""
    there = filed(snapshot)
    new = [one for one in concerns_of(found) if one.about not in there]
    settled = spent_keys(snapshot) if new else set()
    return [one for one in new if one.key not in settled][:AT_ONCE]


def over(found: Attention, snapshot: Snapshot) -> list[Bead]:
    """Return the open beads whose concern is over."""
    current = {one.about for one in concerns_of(found)}
    return [bead for about, bead in filed(snapshot).items() if about not in current]
