"""A close counts only for what passed; while it is checked the bead is held as before, and may stall or fail."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from bd.core.errors import NotValidated, StaleToken, WrongState
from bd.operations.beads import Update
from bd.operations.claims import Release
from bd.operations.close import Close
from bd.operations.fail import Fail
from bd.operations.handoff import Handoff
from bd.operations.validate import Validate
from bd.policy import validation
from bd.policy.liveness import stall_on
from bd.policy.readiness import Readiness
from tests.memory import MemoryStore, held, make_bead
from tests.operations.asking import by

ASKED = {"validation": "test-pass", "data": {"n": 1}}


def store(**fields: Any) -> MemoryStore:
    return MemoryStore(held("hub-a", output=ASKED, **fields), make_bead("hub-b", output=ASKED), make_bead("hub-c"))


def test_a_close_takes_the_seal_of_exactly_this_output() -> None:
    hub = store()
    with pytest.raises(NotValidated):
        hub.decide(Close(ids=["hub-a"], **by(hub_a="01TOKEN")))
    made = hub.bead("hub-a").evolve(output={**ASKED, "artifacts": ["x"]})
    seals = {"hub-a": validation.seal_of(made)}
    with pytest.raises(NotValidated, match="changed since"):
        hub.decide(Close(ids=["hub-a"], seals=seals, **by(hub_a="01TOKEN")))
    hub.publish(Close(ids=["hub-a"], seals=seals, output={"artifacts": ["x"]}, **by(hub_a="01TOKEN")))
    assert hub.bead("hub-a").status == "closed"
    assert hub.bead("hub-a").get("output")["validated"] == {"kind": "test-pass", "at": "2026-02-21T15:00:00Z"}


def test_no_other_way_to_close_it_goes_around_that() -> None:
    hub = store()
    for operation in (
        Close(ids=["hub-b"], **by()),
        Update(ids=["hub-b"], status="closed", **by()),
        Handoff(ids=["hub-b", "hub-c"], artifacts=[], note="on", **by()),
    ):
        with pytest.raises(NotValidated):
            hub.decide(operation)
    hub.publish(Close(ids=["hub-b"], force=True, reason="looked at it", **by()))
    assert "validated" not in hub.bead("hub-b").get("output"), "nobody says that it passed"


def test_who_holds_it_shows_that_it_is_being_checked() -> None:
    hub = store()
    with pytest.raises(StaleToken):
        hub.decide(Validate(ids=["hub-a"], **by("other")))
    with pytest.raises(WrongState, match="nobody holds it"):
        hub.decide(Validate(ids=["hub-b"], **by()))
    hub.publish(Validate(ids=["hub-a"], output={"artifacts": ["x"]}, **by(hub_a="01TOKEN")))
    bead = hub.bead("hub-a")
    assert (bead.status, Readiness(hub.tip, hub.now).phase(bead), bead.get("output")["artifacts"]) == (
        "validating",
        "validating",
        ["x"],
    )
    assert bead.claim is not None


@pytest.mark.parametrize("hours", [1, 500])
def test_it_stalls_like_any_other_work(hours: float) -> None:
    hub = store(claim={"heartbeat_interval_s": None})
    hub.publish(Validate(ids=["hub-a"], **by(hub_a="01TOKEN")))
    found = stall_on(hub.bead("hub-a"), {}, hub.now + timedelta(hours=hours), hub.context.settings)
    assert (found is not None and found.why == "validating") == (hours > 100)


def test_it_fails_and_is_given_back_like_any_other_work() -> None:
    hub = store()
    hub.publish(Validate(ids=["hub-a"], **by(hub_a="01TOKEN")))
    failed = hub.decide(Fail(ids=["hub-a"], reason="invalid_output", error="not valid: red", **by(hub_a="01TOKEN"))).beads[
        "hub-a"
    ]
    assert failed is not None
    assert (failed.status, failed.claim) == ("open", None)
    assert failed.get("failures")[0]["reason"] == "invalid_output"
    released = hub.decide(Release(ids=["hub-a"], reason="broken", **by(hub_a="01TOKEN"))).beads["hub-a"]
    assert released is not None
    assert released.status == "open"


def test_a_handoff_and_an_update_take_the_same_seals() -> None:
    hub = store()
    seals = {"hub-b": validation.seal_of(hub.bead("hub-b"))}
    hub.publish(Update(ids=["hub-b"], status="closed", seals=seals, **by()))
    assert hub.bead("hub-b").get("output")["validated"]["kind"] == "test-pass"
    given = [{"name": "site", "ref": "https://example.org/"}]
    handed = hub.bead("hub-a").evolve(output={**ASKED, "artifacts": given})
    before = {"hub-a": validation.seal_of(hub.bead("hub-a"))}
    handoff = {"ids": ["hub-a", "hub-c"], "artifacts": given, "note": "on"}
    with pytest.raises(NotValidated, match="changed since"):  # what is handed over is what has to pass
        hub.decide(Handoff(**handoff, seals=before, **by(hub_a="01TOKEN")))
    hub.publish(Handoff(**handoff, seals={"hub-a": validation.seal_of(handed)}, **by(hub_a="01TOKEN")))
    done = hub.bead("hub-a")
    assert (done.status, done.get("output")["artifacts"]) == ("closed", given)
    assert done.get("output")["validated"]["kind"] == "test-pass"
