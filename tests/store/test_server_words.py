"""What the words of git, ssh and servers mean. The words are as git 2.39, OpenSSH and the servers say them."""

from __future__ import annotations

import pytest

from bd.core.errors import BdError, RemoteUnreachable, ServerRefused
from bd.store.contract import PushAnswer, PushLine
from bd.store.git import server_words
from bd.store.git.porcelain import push_lines
from bd.store.transaction import verdict

BRANCH = "refs/heads/main"
RIGHTS = "fatal: Could not read from remote repository.\n\nPlease make sure you have the correct access rights\nand the repository exists."
URL = "https://host/hub.git"


def failed(status: int) -> str:
    return f"fatal: unable to access '{URL}/': The requested URL returned error: {status}"


# --- talking to a server at all ---------------------------------------------------------------

# What no later try changes: a person has to.
REFUSED = {
    "a password": f"remote: Invalid username or password.\nfatal: Authentication failed for '{URL}/'",
    "a token": f"remote: Support for password authentication was removed on August 13, 2021.\nfatal: Authentication failed for '{URL}/'",
    "nobody to ask": f"fatal: could not read Username for '{URL}': terminal prompts disabled",
    "a proxy's password": "fatal: unable to access 'u': Received HTTP code 407 from proxy after CONNECT",
    "a key": f"git@host: Permission denied (publickey,password).\n{RIGHTS}",
    "a host key": f"Host key verification failed.\n{RIGHTS}",
    "an own certificate": f"fatal: unable to access '{URL}/': SSL certificate problem: self-signed certificate",
    "GnuTLS": f"fatal: unable to access '{URL}/': server certificate verification failed. CAfile: none CRLfile: none",
    "no repository over http": f"remote: Not Found\nfatal: repository '{URL}/' not found",
    "no repository over ssh": f"ERROR: Repository not found.\n{RIGHTS}",
    "no repository at gitolite": f"FATAL: R any nosuch admin DENIED by fallthru\n(or you mis-spelled the reponame)\n{RIGHTS}",
    "no repository at GitLab": f"ERROR: The project you were looking for could not be found or you don't have permission to view it.\n{RIGHTS}",
    "no repository in a folder": f"fatal: '/srv/hub.git' does not appear to be a git repository\n{RIGHTS}",
    "no repository at git daemon": "fatal: remote error: access denied or repository not exported: /hub.git",
    "a login page": "fatal: unable to update url base from redirection:\n  asked for: http://host/info/refs\n   redirect: http://host/login",
    "no right": failed(403),
    "a server without git": f"sh: 1: git-upload-pack: not found\n{RIGHTS}",
    "a foreign owner": f"fatal: detected dubious ownership in repository at '/srv/hub.git'\n{RIGHTS}",
    "other hashes": "fatal: mismatched algorithms: client sha1; server sha256",
    "another format": f"fatal: Expected git repo version <= 1, found 99\n{RIGHTS}",
    "a forbidden transport": "fatal: transport 'file' not allowed",
}
# What a later try may change.
AWAY = {
    "no such host": f"fatal: unable to access '{URL}/': Could not resolve host: host",
    "no such host over ssh": f"ssh: Could not resolve hostname host: Name or service not known\n{RIGHTS}",
    "a closed port": f"ssh: connect to host host port 22: Connection refused\n{RIGHTS}",
    "a cut line": f"kex_exchange_identification: read: Connection reset by peer\n{RIGHTS}",
    "a broken answer": "fatal: expected flush after ref listing",
    "a server's bug": failed(500),
    "a full disk here": "fatal: write error: No space left on device",
    "no right to write here": "error: insufficient permission for adding an object to repository database .git/objects\nfatal: failed to write object",
    "silence": "",
}
BUSY = {
    "429": failed(429),
    "503": failed(503),
    "503 with words": f"remote: Service is in maintenance\n{failed(503)}",
    "a rate limit over ssh": f"remote: Too many requests, slow down\n{RIGHTS}",
}


def told(words: str) -> BdError:
    return server_words.unreachable("the remote origin", URL, words, folder="/")


@pytest.mark.parametrize("why", REFUSED)
def test_what_a_person_has_to_change_is_refused(why: str) -> None:
    error = told(REFUSED[why])
    assert isinstance(error, ServerRefused)
    assert (error.exit_code, error.data) == (5, {"scope": "hub"})
    assert error.hint


@pytest.mark.parametrize("why", [*AWAY, *BUSY])
def test_what_may_pass_is_tried_again(why: str) -> None:
    error = told({**AWAY, **BUSY}[why])
    assert isinstance(error, RemoteUnreachable)
    assert (error.exit_code, error.data.get("retry_after_s")) == (6, 60 if why in BUSY else None)


@pytest.mark.parametrize("why", [*REFUSED, *AWAY, *BUSY])
def test_every_line_that_says_something_is_told(why: str) -> None:
    """And no line that git adds to every failure, unless there is nothing else."""
    words = {**REFUSED, **AWAY, **BUSY}[why]
    message = told(words).message
    for line in words.replace(RIGHTS, "").splitlines():
        assert line.strip().removeprefix("remote: ").removeprefix("fatal: ") in message
    assert "correct access rights" not in message


def test_words_that_say_nothing_else_are_told_themselves() -> None:
    assert "Could not read from remote repository" in told(RIGHTS).message
    assert "no reason" in told("").message


def test_no_password_is_told() -> None:
    words = "fatal: unable to update url base from redirection:\n  asked for: http://ada:secret@host/x\n   redirect: http://bob:hidden@host/y"
    message = told(words).message
    assert "ada@host/x" in message
    assert "bob@host/y" in message
    assert "secret" not in message
    assert "hidden" not in message


# --- a push -----------------------------------------------------------------------------------


def line(summary: str, words: str = "") -> PushAnswer:
    return PushAnswer({BRANCH: PushLine("!", summary)}, words)


DECLINED = "[remote rejected] (pre-receive hook declined)"
CUT = "send-pack: unexpected disconnect while reading sideband packet\nfatal: the remote end hung up unexpectedly"
# The answer, what it means, and whether the hub would refuse any other push, too.
PUSHES: dict[str, tuple[PushAnswer, str, str | None]] = {
    "a hook": (line(DECLINED, "remote: no ticket named"), "refused", None),
    "a hook that says try again": (line(DECLINED, "remote: sign off and try again"), "refused", None),
    "a hook about what is forbidden": (line(DECLINED, "remote: error: forbidden word, denied by policy 7"), "refused", None),
    "an unknown reason": (line("[remote rejected] (never heard of)"), "refused", None),
    "a size": (line("[remote rejected] (unpacker error)", "remote: fatal: pack exceeds maximum allowed size"), "refused", None),
    "fsck": (line("[remote rejected] (unpacker error)", "remote: fatal: fsck error in packed object"), "refused", None),
    "a missing hook": (line("[remote rejected] (fail to run proc-receive hook)"), "refused", None),
    "a protected branch": (line("[remote rejected] (protected branch hook declined)", "remote: error: GH006: Protected branch update failed"), "refused", "hub"),
    "a checkout": (line("[remote rejected] (branch is currently checked out)"), "refused", None),
    "no right at gitolite": (line("[remote rejected] (hook declined)", "remote: FATAL: W any hub ada DENIED by refs/heads/main"), "refused", "hub"),
    "no right at GitLab": (line(DECLINED, "remote: GitLab: You are not allowed to push code to protected branches on this project."), "refused", "hub"),
    "no right in a folder": (line("[remote rejected] (unpacker error)", "remote: error: insufficient permission for adding an object to repository database ./objects"), "refused", "hub"),
    "no right over http": (PushAnswer({}, f"remote: Permission to a/hub.git denied to ada.\n{failed(403)}"), "refused", "hub"),
    "no right over ssh": (PushAnswer({}, f"ERROR: Permission to a/hub.git denied to ada.\n{RIGHTS}"), "refused", "hub"),
    "a password for pushes alone": (PushAnswer({}, f"fatal: Authentication failed for '{URL}/'"), "refused", "hub"),
    "other hashes": (PushAnswer({}, f"fatal: the receiving end does not support this repository's hash algorithm\n{CUT}"), "refused", "hub"),
    "a transaction hook": (PushAnswer({}, f"policy: refs are frozen\nfatal: ref updates aborted by hook\n{CUT}"), "refused", None),
    "a body limit": (PushAnswer({}, f"error: RPC failed; HTTP 413 curl 22 The requested URL returned error: 413\n{CUT}"), "refused", None),
    "git's own refusal": (PushAnswer({}, "fatal: something that nobody has thought of"), "refused", None),
    "a lock": (line("[remote rejected] (failed to update ref)", "remote: error: cannot lock ref 'refs/heads/main': Unable to create '/hub/main.lock': File exists."), "stuck", None),
    "a full disk there": (line("[remote rejected] (unpacker error)", "remote: fatal: write error: No space left on device"), "stuck", None),
    "a server's bug": (line(DECLINED, "remote: GitLab: Internal API error (500)"), "busy", None),
    "no memory here": (PushAnswer({}, "error: pack-objects died of signal 9"), "stuck", None),
    "429": (PushAnswer({}, f"error: RPC failed; HTTP 429 curl 22 The requested URL returned error: 429\n{CUT}"), "busy", None),
    "503": (PushAnswer({}, failed(503)), "busy", None),
    "a gateway's time-out": (PushAnswer({}, f"error: RPC failed; HTTP 504 curl 22 The requested URL returned error: 504\n{CUT}"), "unknown", None),
    "408": (PushAnswer({}, f"error: RPC failed; HTTP 408 curl 22 The requested URL returned error: 408\n{CUT}"), "unknown", None),
    "a line that fell silent": (PushAnswer({}, "fatal: read error: Connection timed out"), "unknown", None),
    "a report without an end": (PushAnswer({}, f"error: unexpected flush packet while reading remote unpack status\n{CUT}"), "unknown", None),
    "a report that git can't read": (PushAnswer({}, "error: unable to parse remote unpack status: unpick"), "unknown", None),
    "a report with an unknown line": (PushAnswer({}, "error: invalid status line from remote: huh"), "unknown", None),
    "a report with an unknown answer": (PushAnswer({}, "error: invalid ref status from remote: so"), "unknown", None),
    "words in the place of a report": (PushAnswer({}, f"fatal: protocol error: bad line length character: Inte\n{CUT}"), "unknown", None),
    "a network that went while git read": (PushAnswer({}, "fatal: read error: No route to host"), "unknown", None),
    "a pack that can't be unpacked": (PushAnswer({}, "error: remote unpack failed: index-pack abnormal exit"), "refused", None),
    "a cut line after a hook's error": (PushAnswer({}, f"remote: error: one of the checks is slow\n{CUT}"), "unknown", None),
    "a cut line": (PushAnswer({}, f"error: RPC failed; curl 56 recv failure\n{CUT}\nfatal: early EOF"), "unknown", None),
    "a cut line after words": (PushAnswer({}, f"remote: Checking the policy ...\n{CUT}"), "unknown", None),
    "a network that went": (PushAnswer({}, f"fatal: unable to access '{URL}/': Could not resolve host: host"), "unknown", None),
    "a port that closed": (PushAnswer({}, "fatal: unable to connect to host: Connection refused"), "unknown", None),
    "silence": (PushAnswer({}, ""), "unknown", None),
}  # fmt: skip


@pytest.mark.parametrize("what", PUSHES)
def test_what_a_server_says_of_a_push(what: str) -> None:
    answer, kind, scope = PUSHES[what]
    found = verdict.seen(answer, BRANCH, "ours", "base", "base", None)
    assert found.kind == kind
    if kind == "refused":
        error = verdict.refused_by_server(found.words)
        assert (error.exit_code, error.data.get("scope")) == (5, scope)
        for said in answer.words.replace(CUT, "").replace(RIGHTS, "").splitlines():
            assert said.removeprefix("remote: ").removeprefix("fatal: ") in error.message


SENT = (
    "fatal: read error: No route to host",
    "fatal: protocol error: bad line length character: unable to access",
    "remote: the chat server: Connection refused",
    "fatal: unable to connect to cache daemon: Connection refused\nerror: failed to push some refs to 'origin'",
)
NEVER_SENT = (
    f"fatal: unable to access '{URL}/': Could not resolve host: host",
    f"ssh: connect to host host port 22: No route to host\n{RIGHTS}",
    "fatal: unable to connect to host:\nhost[0: 127.0.0.1]: errno=Connection refused",
)


@pytest.mark.parametrize("words", [*SENT, *NEVER_SENT])
def test_a_push_was_sent_unless_git_itself_could_not_begin_it(words: str) -> None:
    assert server_words.never_sent(words) == (words in NEVER_SENT)


# Git's rejections of a ref. The first were made before anything was sent, or are the server's own.
REPORTED = (
    "[rejected] (non-fast-forward)", "[rejected] (fetch first)", "[rejected] (stale info)", "[rejected] (already exists)",
    "[rejected] (needs force)", "[rejected] (remote ref updated since checkout)", "[rejected] (atomic push failed)",
    "[rejected] (remote does not support deleting refs)", "[remote rejected] (pre-receive hook declined)",
    "[remote rejected] (atomic push failure)", "[remote rejected] (unpacker error)",
)  # fmt: skip
UNREPORTED = (
    "[remote failure] (remote failed to report status)", "[remote rejected] (expecting report)",
    "[remote rejected] (proc-receive failed to report status)",
)  # fmt: skip


@pytest.mark.parametrize("summary", [*REPORTED, *UNREPORTED])
def test_what_git_says_for_a_server_that_was_silent_is_no_answer(summary: str) -> None:
    lines = push_lines(f"To origin\n!\tHEAD:{BRANCH}\t{summary}\nDone\n".encode())
    assert list(lines) == ([BRANCH] if summary in REPORTED else [])
