"""Webhooks: what is proved and new is told on, everything else is refused; a new pull request becomes one bead to review it."""

from __future__ import annotations

import base64
import errno
import hashlib
import hmac
import json
from typing import TYPE_CHECKING, Any

import pytest
from starlette.testclient import TestClient

from bd.core.errors import BadInput, Damaged, NoHub, RemoteUnreachable
from bd.policy import triggers
from bd.schedule import sources
from bd.store.replica import Replica
from bd.web import webhook_secrets, webhooks
from bd.web.app import application
from tests.running import result_of
from tests.runtime import RUNTIME
from tests.truth import all_beads, git, tip
from tests.web.conftest import ADA, HOST
from tests.web.served import SECRET, github, payload, serving

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.running import Clone
    from tests.web.conftest import Served

pytestmark = pytest.mark.one_in(105)

JSON = {"content-type": "application/json"}
SIGNING = "whsec_" + base64.b64encode(bytes(range(32))).decode()
PLAN = "title: 'Review {{event.{0}.title}}'\ntype: review\nspec: {{context_refs: ['{{event.{0}.{1}}}']}}\n"


@pytest.fixture
def hooked(served: Served, tmp_path: Path) -> Served:
    """The same site with a secret for each forge, and a trigger for each."""
    served.site.secrets = {"github": SECRET, "gitea": SECRET, "gitlab": SIGNING}
    for on, about, address in (
        ("github:pull_request.opened", "pull_request", "html_url"),
        ("gitea:pull_request.opened", "pull_request", "html_url"),
        ("gitlab:merge_request.open", "object_attributes", "url"),
    ):
        forge = on.partition(":")[0]
        (tmp_path / "plan.yaml").write_text(PLAN.format(about, address))
        served.clone.bd("trigger", "add", f"review-{forge}", "--on", on, "--plan", str(tmp_path / "plan.yaml"))
    return served


def post(served: Served, forge: str, body: bytes, headers: dict[str, str]) -> tuple[int, Any]:
    answer = served.client.post(f"/hooks/{forge}", content=body, headers={**JSON, **headers})
    return answer.status_code, answer.json()


def gitea(name: str) -> tuple[bytes, dict[str, str]]:
    body = payload(name)
    signature = hmac.new(SECRET.encode(), body, "sha256").hexdigest()
    return body, {"x-gitea-event": "pull_request", "x-gitea-delivery": "f6266f16", "x-gitea-signature": signature}


def gitlab(name: str, *, key: bytes = bytes(range(32)), age_s: float = 0) -> tuple[bytes, dict[str, str]]:
    body, stamp = payload(name), str(int(RUNTIME.now().timestamp() - age_s))
    signature = base64.b64encode(hmac.new(key, b"msg-1." + stamp.encode() + b"." + body, "sha256").digest()).decode()
    headers = {"x-gitlab-event": "Merge Request Hook", "webhook-id": "msg-1", "webhook-timestamp": stamp}
    return body, {**headers, "webhook-signature": f"v1,bm90IHRoaXM= v1,{signature}"}


# --- from a delivery to a bead ----------------------------------------------------------------


@pytest.mark.one_in(21)
@pytest.mark.parametrize(
    ("forge", "delivery", "title", "address"),
    [
        (
            "github",
            lambda: github("github-pull-request", "pull_request"),
            "Keep the proxy's certificate in step",
            "https://github.com/example-fleet/proxy/pull/41",
        ),
        (
            "gitea",
            lambda: gitea("gitea-pull-request"),
            "Rotate the logs by size",
            "https://git.example.org/fleet/collector/pulls/12",
        ),
        (
            "gitlab",
            lambda: gitlab("gitlab-merge-request"),  # signed with the time, which has to be now
            "Give each queue a name of its own",
            "https://gitlab.example.org/fleet/scheduler/-/merge_requests/7",
        ),
    ],
)
def test_a_new_pull_request_is_one_bead(
    hooked: Served, hub: Path, forge: str, delivery: Callable[[], tuple[bytes, dict[str, str]]], title: str, address: str
) -> None:
    sent = delivery()
    status, said = post(hooked, forge, *sent)
    assert (status, said["triggers"][0]["made"]) == (200, True)
    [bead] = [one for one in all_beads(hub) if one.title == f"Review {title}"]
    assert (bead.id, bead.type, bead.priority) == (said["triggers"][0]["root"], "review", 2)
    assert bead.get("spec") == {"context_refs": [address]}
    assert bead.get("idempotency_key") == f"trigger/review-{forge}/{address}"
    assert hooked.client.get(f"/beads/{bead.id}", headers={"accept": "text/html"}).status_code in (200, 404)
    before = tip(hub)
    status, said = post(hooked, forge, *sent)
    assert (status, said["triggers"]) == (200, [{"trigger": f"review-{forge}", "root": bead.id, "made": False}])
    assert tip(hub) == before


def test_two_webhooks_that_tell_of_one_pull_request_make_one_bead(hooked: Served, hub: Path) -> None:
    body, headers = github("github-pull-request", "pull_request")
    assert post(hooked, "github", body, headers)[0] == 200
    other = json.dumps({**json.loads(body), "organization": {"login": "example-fleet"}}).encode()
    signature = hmac.new(SECRET.encode(), other, "sha256").hexdigest()
    more = {"x-github-delivery": "another", "x-hub-signature-256": f"sha256={signature}"}
    status, said = post(hooked, "github", other, {**headers, **more})
    assert (status, said["triggers"][0]["made"]) == (200, False)
    assert len([bead for bead in all_beads(hub) if bead.title.startswith("Review")]) == 1


def test_what_a_webhook_makes_is_not_of_the_person_who_wrote_before(hooked: Served, hub: Path) -> None:
    served_by = git(hub, "log", "-1", "--format=%an <%ae>", "main")
    comment = {"content": b'{"text": "mine"}', "headers": {**JSON, "authorization": f"Bearer {ADA.token}"}}
    assert hooked.client.post("/beads/hub-one/comment", **comment).status_code == 200
    assert post(hooked, "github", *github("github-pull-request", "pull_request"))[0] == 200
    assert git(hub, "log", "-2", "--format=%an", "main").splitlines()[1] == ADA.name
    assert git(hub, "log", "-1", "--format=%an <%ae>", "main") == served_by


def test_an_event_that_nobody_waits_for_makes_nothing(hooked: Served, hub: Path) -> None:
    before = tip(hub)
    body = json.dumps({**json.loads(payload("github-pull-request")), "action": "closed"}).encode()
    signature = hmac.new(SECRET.encode(), body, "sha256").hexdigest()
    headers = {"x-github-event": "pull_request", "x-github-delivery": "d9", "x-hub-signature-256": f"sha256={signature}"}
    assert post(hooked, "github", body, headers) == (200, {"delivery": "d9", "event": "pull_request", "triggers": []})
    assert tip(hub) == before


def test_a_push_makes_everybody_look_and_writes_nothing(hooked: Served, hub: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[bool] = []
    monkeypatch.setattr(hooked.site.feed, "look", lambda: looks.append(True))
    before = tip(hub)
    assert post(hooked, "github", *github("github-push", "push"))[0] == 202
    assert (looks, tip(hub)) == ([True], before)


def test_a_hub_that_is_away_asks_to_be_told_again(hooked: Served, hub: Path) -> None:
    delivery = github("github-pull-request", "pull_request")
    away = hub.with_name("away.git")
    hub.rename(away)
    assert post(hooked, "github", *delivery)[0] == 503
    away.rename(hub)
    assert post(hooked, "github", *delivery)[0] == 200, "what was not done is not taken for done"


# --- replays ----------------------------------------------------------------------------------


def signed(event: str, body: dict[str, Any], delivery: str = "d1") -> tuple[bytes, dict[str, str]]:
    """A delivery of GitHub with any body."""
    data = json.dumps(body).encode()
    signature = hmac.new(SECRET.encode(), data, "sha256").hexdigest()
    return data, {"x-github-event": event, "x-github-delivery": delivery, "x-hub-signature-256": f"sha256={signature}"}


PULL = {"number": 4, "title": "Keep the keys", "html_url": "https://github.com/a/b/pull/4", "updated_at": "2026-11-01T10:00:00Z"}
EVERYWHERE = {"repository": {"html_url": "https://github.com/a/b"}, "sender": {"html_url": "https://github.com/mallory"}}
ISSUE = {"number": 5, "title": "It leaks", "html_url": "https://github.com/a/b/issues/5"}
NOTE = {"html_url": "https://github.com/a/b/pull/4#r1", "body": "see"}
# Bodies of GitHub by the event that each is of.
BODIES: dict[str, dict[str, Any]] = {
    "pull_request": {"action": "created", "pull_request": PULL, "label": {"name": "x"}},
    "issues": {"action": "created", "issue": ISSUE, "milestone": {"html_url": "https://x/m/1"}},
    "issue_comment": {"action": "created", "issue": ISSUE, "comment": NOTE},
    "commit_comment": {"action": "created", "comment": NOTE},
    "pull_request_review": {"action": "created", "pull_request": PULL, "review": NOTE},
    "pull_request_review_comment": {"action": "created", "pull_request": PULL, "comment": NOTE},
    "pull_request_review_thread": {"action": "created", "pull_request": PULL, "thread": {"node_id": "t"}},
    "discussion": {"action": "created", "discussion": ISSUE},
    "discussion_comment": {"action": "created", "discussion": ISSUE, "comment": NOTE},
    "deployment": {"action": "created", "deployment": {"url": "https://x/d/1"}, "workflow_run": {"id": 1}},
    "deployment_status": {
        "action": "created",
        "deployment_status": {"url": "https://x/d/1/s"},
        "deployment": {"url": "https://x/d/1"},
        "check_run": {"id": 1},
    },
    "check_run": {"action": "created", "check_run": {"html_url": "https://x/c/1"}},
    "release": {"action": "created", "release": {"html_url": "https://x/r/1"}},
    "milestone": {"action": "created", "milestone": {"html_url": "https://x/m/1"}},
    "label": {"action": "created", "label": {"url": "https://x/l/1"}},
    "repository": {"action": "created"},
    "sponsorship": {"action": "created", "sponsorship": {"node_id": "s"}},
}


@pytest.mark.parametrize("claimed", BODIES)
def test_a_body_is_taken_for_no_other_event_than_its_own(claimed: str) -> None:
    """The header that names the event is not signed: whoever has one body may send it under any name."""
    on = triggers.parse_on(f"github:{claimed}.created")
    meant = [real for real, body in BODIES.items() if triggers.is_meant(on, claimed, {**EVERYWHERE, **body})]
    assert meant == [claimed]


def test_gitea_s_comment_on_a_pull_request_is_one_on_an_issue_too() -> None:
    body = {"action": "created", "issue": ISSUE, "pull_request": PULL, "comment": NOTE, "is_pull": True, **EVERYWHERE}
    assert triggers.is_meant(triggers.parse_on("gitea:issue_comment.created"), "issue_comment", body)
    assert not triggers.is_meant(triggers.parse_on("gitea:pull_request.created"), "pull_request", body)


def added(served: Served, tmp_path: Path, name: str, on: str) -> None:
    (tmp_path / "any.yaml").write_text(f"title: 'By {name}'\n")
    served.clone.here("trigger", "add", name, "--on", on, "--plan", str(tmp_path / "any.yaml"))


def test_a_replay_of_any_age_changes_nothing_whatever_its_sender_changes(hooked: Served, hub: Path, tmp_path: Path) -> None:
    """Ids and event names can be changed by whoever sends again, other deliveries may come between, servers may be new."""
    added(hooked, tmp_path, "labels", "github:pull_request.labeled")
    body = {"action": "labeled", "pull_request": PULL, **EVERYWHERE}
    status, said = post(hooked, "github", *signed("pull_request", body, "L1"))
    assert (status, [one["made"] for one in said["triggers"]]) == (200, [True])
    for number in range(3):
        assert post(hooked, "github", *github("github-push", "push", f"y{number}"))[0] == 202
    before = tip(hub)
    (hooked.clone.path / ".git" / "bd" / "deliveries.json").unlink(missing_ok=True)
    site = type(hooked.site)(hooked.site.open_hub, RUNTIME, (ADA,))
    site.secrets = hooked.site.secrets
    with TestClient(application(site), base_url=HOST) as client:
        for event, delivery in (
            ("pull_request", "L1"),
            ("pull_request", "L2"),
            ("issues", "L3"),
            ("label", "L4"),
            ("push", "L5"),
        ):
            data, headers = signed(event, body, delivery)
            answer = client.post("/hooks/github", content=data, headers={**JSON, **headers})
            assert answer.status_code in (200, 202), "a redelivery of what was done is no failure"
            assert not any(one["made"] for one in answer.json().get("triggers", ())), (event, delivery)
    assert tip(hub) == before
    [made] = [bead for bead in all_beads(hub) if bead.title == "By labels"]
    hooked.clone.here("delete", made.id, "--force")
    before = tip(hub)
    assert post(hooked, "github", *signed("pull_request", body, "L6"))[0] == 200
    assert tip(hub) == before, "what was made is not made again when it is deleted"


def test_another_event_counts_also_under_an_id_that_has_come_before(hooked: Served, hub: Path, tmp_path: Path) -> None:
    added(hooked, tmp_path, "labels", "github:pull_request.labeled")
    for stamp in ("2026-11-01T10:00:00Z", "2026-11-01T10:05:00Z"):
        body = {"action": "labeled", "pull_request": {**PULL, "updated_at": stamp}, **EVERYWHERE}
        assert post(hooked, "github", *signed("pull_request", body, "same-id"))[1]["triggers"][0]["made"]
    assert len([bead for bead in all_beads(hub) if bead.title == "By labels"]) == 2


def test_what_an_older_bd_has_taken_is_not_taken_again(hooked: Served, hub: Path, tmp_path: Path) -> None:
    added(hooked, tmp_path, "labels", "github:pull_request.labeled")
    data, headers = signed("pull_request", {"action": "labeled", "pull_request": PULL, **EVERYWHERE})
    note = hooked.clone.path / ".git" / "bd" / "deliveries.json"
    note.write_text(json.dumps(["github/L1", f"github/{hashlib.sha256(data).hexdigest()[:32]}"]))
    before = tip(hub)
    assert post(hooked, "github", data, headers)[0] == 200
    assert tip(hub) == before


def test_an_answer_of_200_means_that_the_hub_has_it(hooked: Served, hub: Path, tmp_path: Path) -> None:
    """One trigger of two can't be carried out, or the hub goes away between the look and the write: 503, and nothing twice."""
    added(hooked, tmp_path, "labels", "github:pull_request.labeled")
    added(hooked, tmp_path, "second", "github:pull_request.labeled")
    delivery = signed("pull_request", {"action": "labeled", "pull_request": PULL, **EVERYWHERE})
    hook = hub / "hooks" / "pre-receive"
    hook.write_text("#!/bin/sh\nread old new ref\ngit log --format=%B $old..$new | grep -q trigger/second && exit 1\nexit 0\n")
    hook.chmod(0o755)
    status, said = post(hooked, "github", *delivery)
    assert (status, "trigger second" in said["error"]) == (503, True), said
    away = hub.with_name("away.git")
    real = sources.fire

    def fire(*args: Any) -> Any:
        hub.rename(away)
        try:
            return real(*args)
        finally:
            away.rename(hub)

    hook.unlink()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sources, "fire", fire)
        assert post(hooked, "github", *delivery)[0] == 503
    status, said = post(hooked, "github", *delivery)
    assert (status, len(said["triggers"])) == (200, 2)
    assert sorted(bead.title for bead in all_beads(hub) if bead.title.startswith("By")) == ["By labels", "By second"]
    assert not any(one["made"] for one in post(hooked, "github", *delivery)[1]["triggers"])


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, "No space left on device"),
        KeyError("a bug"),
        Damaged("a file can't be read"),
        NoHub(),
        RemoteUnreachable("no route to host"),
    ],
    ids=repr,
)
@pytest.mark.parametrize("place", ["open_hub", "fetch", "snapshot", "fire"])
def test_a_verified_delivery_is_answered_with_200_or_asks_to_be_told_again(
    served: Served, hub: Path, tmp_path: Path, place: str, error: Exception
) -> None:
    """Whatever fails at whatever point: the forge's redelivery makes what is missing."""
    served.site.secrets = {"github": SECRET}
    added(served, tmp_path, "labels", "github:pull_request.labeled")
    delivery = signed("pull_request", {"action": "labeled", "pull_request": PULL, **EVERYWHERE})

    def fail(*_: Any, **__: Any) -> Any:
        raise error

    patched_in = {"open_hub": served.site._writer, "fire": sources}.get(place, Replica)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(patched_in, "_open_hub" if place == "open_hub" else place, fail)
        status, said = post(served, "github", *delivery)
    assert (status, said["hint"]) == (503, "deliver it again; nothing is made twice"), said
    status, said = post(served, "github", *delivery)
    assert (status, [one["made"] for one in said["triggers"]]) == (200, [True])
    assert len([bead for bead in all_beads(hub) if bead.title == "By labels"]) == 1


# --- what is refused --------------------------------------------------------------------------


@pytest.mark.one_in(21)
@pytest.mark.parametrize(
    "headers",
    [
        {"x-hub-signature-256": "sha256=" + "0" * 64},
        {"x-hub-signature-256": "sha256=ü"},
        {"x-hub-signature-256": "", "x-hub-signature": "sha1=" + "0" * 40},
        {"x-github-delivery": ""},
        {"x-github-delivery": "x" * 300},
    ],
)
def test_what_is_not_proved_is_refused(hooked: Served, hub: Path, headers: dict[str, str]) -> None:
    before = tip(hub)
    body, right = github("github-pull-request", "pull_request")
    sent = {key: value.encode() for key, value in {**JSON, **right, **headers}.items()}
    answer = hooked.client.post("/hooks/github", content=body, headers=sent)
    assert answer.status_code == 401
    assert SECRET not in answer.text
    assert tip(hub) == before


@pytest.mark.one_in(21)
@pytest.mark.parametrize("delivery", [{"key": b"x" * 32}, {"age_s": 301}, {"age_s": -330}])
def test_a_gitlab_delivery_that_is_forged_or_old(hooked: Served, hub: Path, delivery: dict[str, Any]) -> None:
    before = tip(hub)
    assert post(hooked, "gitlab", *gitlab("gitlab-merge-request", **delivery))[0] == 401
    body, headers = gitlab("gitlab-merge-request")
    assert post(hooked, "gitlab", body, {**headers, "webhook-id": "msg-2"})[0] == 401, "the id is signed"
    assert post(hooked, "gitlab", body, {"x-gitlab-token": SIGNING, "x-gitlab-event-uuid": "u1"})[0] == 401
    assert tip(hub) == before


def test_a_gitlab_of_before_has_its_token(hooked: Served, hub: Path) -> None:
    hooked.site.secrets = {"gitlab": SECRET}
    body = payload("gitlab-merge-request")
    assert post(hooked, "gitlab", body, {"x-gitlab-token": SECRET[:-1], "x-gitlab-event-uuid": "u1"})[0] == 401
    assert post(hooked, "gitlab", body, {"x-gitlab-token": SECRET, "x-gitlab-event-uuid": "u1"})[0] == 200


def test_sizes_kinds_and_forges(hooked: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    body, headers = github("github-pull-request", "pull_request")
    large = b" " * (webhooks.LIMIT + 1)
    assert hooked.client.post("/hooks/github", content=large, headers={**JSON, **headers}).status_code == 413
    form = {**headers, "content-type": "application/x-www-form-urlencoded"}
    assert hooked.client.post("/hooks/github", content=body, headers=form).status_code == 415
    assert post(hooked, "sourcehut", body, headers)[0] == 404
    for text in (b"[1]", b"{", b"[" * 100_000):
        signature = hmac.new(SECRET.encode(), text, "sha256").hexdigest()
        assert post(hooked, "github", text, {**headers, "x-hub-signature-256": f"sha256={signature}"})[0] == 400
    hooked.site.secrets = {}
    assert post(hooked, "github", body, headers)[0] == 404


def test_secrets_come_from_a_file_or_the_environment_and_are_never_told(tmp_path: Path) -> None:
    assert webhook_secrets.from_environment({"BD_HOOK_SECRET_GITEA": SECRET, "OTHER": "x"}) == {"gitea": SECRET}
    assert webhook_secrets.read(f"# ours\ngithub {SECRET}\n\ngitlab {SIGNING}\n", "f") == {"github": SECRET, "gitlab": SIGNING}
    for text in (f"bitbucket {SECRET}", "github short-one", f"github {SECRET}\nhushhushhushhushhush"):
        with pytest.raises(BadInput) as refused:
            webhook_secrets.read(text, "f")
        assert not {SECRET, "short-one", "hushhushhushhushhush"} & set(str(refused.value).split())
    kept = tmp_path / "secrets"
    kept.write_text(f"github {SECRET}\n")
    kept.chmod(0o644)
    with pytest.raises(BadInput, match="others on this machine"):
        webhook_secrets.of_file(str(kept))
    kept.chmod(0o600)
    assert webhook_secrets.of_file(str(kept)) == {"github": SECRET}


# --- real processes ---------------------------------------------------------------------------


def test_a_delivery_wakes_who_waits_on_another_machine(clone: Callable[[str], Clone], hub: Path, tmp_path: Path) -> None:
    own, bob = clone("server"), clone("bob")
    (tmp_path / "plan.yaml").write_text(PLAN.format("pull_request", "html_url"))
    own.bd("trigger", "add", "review", "--on", "github:pull_request.opened", "--plan", str(tmp_path / "plan.yaml"))
    with serving(own, env={"BD_HOOK_SECRET_GITHUB": SECRET}) as server:
        before = tip(hub)
        waiting = bob.start("wait", "--agent", "bob", "--via", server.url, "--json")
        status, said = server.post("/hooks/github", *github("github-pull-request", "pull_request"))
        assert (status, said["triggers"][0]["made"]) == (200, True)
        result = result_of(waiting)
        assert (result.code, result.json["ready"]) == (0, [said["triggers"][0]["root"]])
        assert tip(hub) != before
        assert SECRET not in result.out + result.err
        again = server.post("/hooks/github", *github("github-pull-request", "pull_request"))
        assert (again[0], again[1]["triggers"][0]["made"]) == (200, False)
        assert server.post("/hooks/github", *github("github-push", "push", "p1"))[0] == 202
