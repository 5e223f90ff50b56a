"""What a command of `bd work` may do with its own bd calls: act for its claim, and what its agent file gives it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from bd.core.schema import agent_path
from bd.policy.permissions import DEEDS, NEVER, deed_of, rights_of
from tests.truth import git

if TYPE_CHECKING:
    from tests.running import Clone

pytestmark = pytest.mark.one_in(3)

# Each deed of the table, as it is typed; {own} is the child's bead, {other} one of another agent.
TYPED: dict[tuple[str, str], list[str]] = {
    ("trust", ""): ["trust", "trust --yes", "trust --revoke"],
    ("config set", ""): [
        "config set claim_ttl 30m",
        "config set permissions full --clone",
        "config set validators.x true --clone",
    ],
    ("config unset", ""): ["config unset claim_ttl"],
    ("repo add", ""): ["repo add x https://git.example.org/x.git"],
    ("repo remove", ""): ["repo remove x"],
    ("repo check", ""): ["repo check x"],
    ("take", ""): ["take {other}"],
    ("workspace prune", "forget"): ["workspace prune {other} --forget"],
    ("token create", ""): ["token create --person Eve"],
    ("token revoke", ""): ["token revoke X"],
    ("identity allow", ""): ["identity allow eve"],
    ("identity revoke", ""): ["identity revoke eve"],
    ("", "force"): [
        "close {other} --force --reason x",
        "release {other} --force --reason x",
        "cancel {other} --force --reason x",
        "fail {other} --reason crash --error x --force",
        "claim {other} --force",
        "close {own} --force",
    ],
    ("stalled", "free"): ["stalled --reassign"],
    ("claim", "resume"): ["claim {other} --resume", "claim --resume"],
    ("agent remove", ""): ["agent remove other --release"],
    ("agent rename", ""): ["agent rename other more"],
    ("overseer", ""): ["overseer --once"],
    ("pool run", ""): ["pool run --once"],
    ("undo", ""): ["undo"],
}
ACTING_AS_OTHERS = [
    "comment {own} x --agent other",
    "close {other} --agent other",
    "create x --agent other",
    "--actor Ada comment {own} x",
]
FREE = [
    "progress {own} half",
    "comment {other} x",
    "create 'Found more'",
    "show {other}",
    "list",
    "config get claim_ttl",
    "agent status",
    "ready",
    "whoami",
    "version",
    "close {own} --reason done",
]


@pytest.fixture
def child(local_hub: Clone) -> dict[str, str]:
    """The environment of a child that works on hub-own for `mine`; `other` holds hub-other."""
    for bead_id, agent in (("hub-own", "mine"), ("hub-other", "other")):
        local_hub.here("create", f"Do {bead_id}", "--id", bead_id)
        local_hub.here("claim", bead_id, "--agent", agent)
    [bead] = local_hub.here("show", "hub-own", "--json").json
    return {
        "BD_BEAD_FILE": "/nowhere",
        "BD_BEAD_ID": "hub-own",
        "BD_TOKEN": bead["claim"]["token"],
        "BD_AGENT": "mine",
    }


def run(hub: Clone, line: str, child: dict[str, str], code: int | None) -> Any:
    import shlex

    words = shlex.split(line.format(own="hub-own", other="hub-other"))
    return hub.here(*words, "--json", env=child, **({"check": False} if code is None else {"code": code}))


def test_every_deed_is_typed() -> None:
    typed = {(deed.command, deed.argument) for deed in DEEDS}
    assert typed == TYPED.keys()


def test_whatever_goes_beyond_the_claim_is_refused_and_changes_nothing(local_hub: Clone, child: dict[str, str]) -> None:
    before = git(local_hub.path, "rev-parse", "HEAD")
    for line in [line for lines in TYPED.values() for line in lines] + ACTING_AS_OTHERS:
        refused = run(local_hub, line, child, 5).json
        assert refused["code"] == "not_permitted", line
        assert refused["hint"], line
    assert git(local_hub.path, "rev-parse", "HEAD") == before
    for line in FREE:
        run(local_hub, line, child, 0)


def test_an_agent_file_may_give_rights_but_never_those_of_a_person(local_hub: Clone, child: dict[str, str]) -> None:
    path = local_hub.path / agent_path("mine")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("name: mine\nmay: [force, act-as, end-others]\n")
    local_hub.here("sync")
    for line in ("comment {own} x --agent other", "stalled --reassign", "release {other} --force --reason late"):
        assert run(local_hub, line, child, None).code in (0, 3), line
    for deed in DEEDS:
        for line in TYPED.get((deed.command, deed.argument), []) if deed.right == NEVER else []:
            assert run(local_hub, line, child, 5).json["code"] == "not_permitted", line


def test_without_a_child_nothing_is_refused(local_hub: Clone, child: dict[str, str]) -> None:
    free = {"BD_TOKEN": child["BD_TOKEN"]}
    assert run(local_hub, "config set claim_ttl 30m", free, 5), "who has a token may be an agent"
    run(local_hub, "release {other} --force --reason late", free, 0)


@pytest.mark.parametrize("may", [None, "force", 3, {"force": True}])
def test_rights_that_are_no_list_give_nothing(may: Any) -> None:
    assert rights_of({"may": may}) == []
    assert rights_of(None) == []


def test_a_plain_command_is_no_deed() -> None:
    assert deed_of("close", {"force": False, "reason": "x"}) is None
