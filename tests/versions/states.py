"""The states in which 0.9.0 leaves a clone: how each comes to be, and what has to be on the hub once this version has been there.

Belongs here: the table that `make.py` plays with 0.9.0 and `test_state_of_0_9_0.py` reads with the present bd.
"""

from __future__ import annotations

from typing import NamedTuple

KILLED, TRY_AGAIN, REFUSED = 137, 6, 5
WITH_REMOTE = ("look", "build", "push", "pushed", "look-after-push", "refs")
WITHOUT_REMOTE = ("look", "build", "push", "checked-out", "pushed", "refs")
WRITES = {
    "create": "create 'Something new' --agent coder",
    "claim": "claim hub-a --agent coder",
    "close": "close hub-mine --reason done --agent coder",
    "comment": "comment hub-a seen --agent coder",
    "update": "update hub-a --append-notes seen --agent coder",
}
# The bead that the claims are of, the one that coder holds, and one that the test writes to.
BEADS = ("hub-a", "hub-mine", "hub-other")
_AWAY, _BACK = "sh:mv ../hub.git ../away.git", "sh:mv ../away.git ../hub.git"
_EDITS = "sh:echo 'notes: by hand' >> beads/hub-a.yaml; printf 'id: hub-new\\ntitle: By hand\\n' > beads/hub-new.yaml"
# The push arrives, but its answer and the hub are lost; or it does not even arrive. `$real` is git.
_ANSWER_LOST = '"$real" "$@" > /dev/null 2>&1; mv "$YARD"/hub.git "$YARD"/away.git; exit 128'
_NEVER_LEFT = 'mv "$YARD"/hub.git "$YARD"/away.git; exit 128'


class Step(NamedTuple):
    """What is typed behind `bd`, or a line of shell; how it ends; the step at which it is killed; what its pushes do instead."""

    typed: str
    code: int = 0
    stop_at: str = ""
    push: str = ""


class State(NamedTuple):
    """One state. `landed` counts, by verb, the commits that the hub must have at the end, besides those of every state.

    `journal` is
    the state that 0.9.0 notes, empty for none; `kept` how many refused commits lie in the clone at the end.
    """

    steps: tuple[Step, ...]
    landed: dict[str, int]
    journal: str = ""
    has_remote: bool = True
    kept: int = 0


def _killed() -> dict[str, State]:
    found = {}
    for verb, typed in WRITES.items():
        for step in WITH_REMOTE:
            if step != "look-after-push" and (verb in ("create", "claim", "close") or step in ("push", "pushed")):
                found[f"{verb}-killed-at-{step}"] = _state(verb, step, Step(typed, KILLED, step), has_remote=True)
        for step in WITHOUT_REMOTE:
            if verb in ("claim", "update") and step not in ("look", "build"):
                found[f"local-{verb}-killed-at-{step}"] = _state(verb, step, Step(typed, KILLED, step), has_remote=False)
    return found


def _state(verb: str, step: str, killed: Step, *, has_remote: bool) -> State:
    landed = {verb: int(step in ("pushed", "refs"))}
    journal = "" if step in ("look", "build") else "pushing"
    # Whether a push had begun, the journal does not say: this version keeps the text of what did not arrive, but for claims.
    kept = int(has_remote and step == "push" and verb != "claim")
    return State((killed,), landed, journal, has_remote, kept)


STATES: dict[str, State] = {
    **_killed(),
    "claim-killed-and-found-won": State(
        (Step(WRITES["claim"], KILLED, "pushed"), Step("comment hub-other 'found it' --agent other")),
        {"claim": 1, "comment": 1},
        "won",
    ),
    "create-unknown-and-landed": State(
        (Step(WRITES["create"], TRY_AGAIN, push=_ANSWER_LOST), Step(_BACK)), {"create": 1}, "unknown"
    ),
    "create-unknown-and-not-landed": State(
        (Step(WRITES["create"], TRY_AGAIN, push=_NEVER_LEFT), Step(_BACK)), {"create": 0}, "unknown", kept=1
    ),
    "claim-unknown-and-landed": State(
        (Step(WRITES["claim"], TRY_AGAIN, push=_ANSWER_LOST), Step(_BACK)), {"claim": 1}, "unknown"
    ),
    "claim-unknown-and-not-landed": State(
        (Step(WRITES["claim"], TRY_AGAIN, push=_NEVER_LEFT), Step(_BACK)), {"claim": 0}, "unknown"
    ),
    "hand-edits-killed-at-push": State((Step(_EDITS), Step("sync", KILLED, "push")), {"edit": 1}, "pushing"),
    "hand-edits-killed-at-pushed": State((Step(_EDITS), Step("sync", KILLED, "pushed")), {"edit": 1}, "pushing"),
    "kept-while-away": State(
        (Step(_AWAY), Step(WRITES["create"]), Step(WRITES["comment"]), Step(WRITES["update"]), Step(_BACK)),
        {"create": 1, "comment": 1, "update": 1},
    ),
    "kept-while-away-killed-at-keep": State(
        (Step(_AWAY), Step(WRITES["comment"]), Step(WRITES["create"], KILLED, "keep"), Step(_BACK)), {"comment": 1, "create": 0}
    ),
    "kept-while-away-sync-killed-at-push": State(
        (Step(_AWAY), Step(WRITES["create"]), Step(WRITES["comment"]), Step(_BACK), Step("sync", KILLED, "push")),
        {"create": 1, "comment": 1},
        "pushing",
    ),
    "kept-while-away-sync-killed-at-pushed": State(
        (Step(_AWAY), Step(WRITES["create"]), Step(WRITES["comment"]), Step(_BACK), Step("sync", KILLED, "pushed")),
        {"create": 1, "comment": 1},
        "pushing",
    ),
    "close-kept-while-away": State((Step(_AWAY), Step(WRITES["close"], TRY_AGAIN), Step(_BACK)), {"close": 1}),
    "refused-and-kept": State(
        (
            Step(_AWAY),
            Step(WRITES["update"]),
            Step(_BACK),
            Step("sh:git clone --quiet ../hub.git ../theirs"),
            Step("-C ../theirs delete hub-a --force --agent other"),
            Step("sync", REFUSED),
        ),
        {"update": 0, "delete": 1},
        kept=1,
    ),
    "tokens": State((Step(WRITES["claim"]),), {"claim": 1}),
    "tokens-without-a-remote": State((Step(WRITES["claim"]),), {"claim": 1}, has_remote=False),
}
