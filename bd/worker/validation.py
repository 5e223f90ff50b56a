"""Checks a bead's output before its close counts: in a separate process, over the network, or by a trusted command.

policy/validation.py says what a bead asks for.
"""

from __future__ import annotations

import json
import os
import sys
from http.client import HTTPException
from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.core import urls
from bd.core.backoff import grown_s
from bd.core.errors import BadInput, BdError
from bd.core.redaction import masked
from bd.core.times import duration_s
from bd.notify import trusted_commands
from bd.operations.validate import Validate
from bd.policy import lifecycle, validation
from bd.policy.url_access import allow_list
from bd.processes.confinement import Confinement
from bd.processes.run import run
from bd.repos.workspace import mounts_at
from bd.worker.result import DONE
from bd.worker.url_fetch import NotAllowed, status_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from bd.core.model import Bead
    from bd.processes.run import Ran
    from bd.processes.tree import ProcessTree
    from bd.store import Clone
    from bd.worker.job import Job
    from bd.worker.result import Outcome

    Started = Callable[[ProcessTree], None]
    Pause = Callable[[float], bool | None]

COMMAND_LIMIT_S = 1800.0
CHECK_LIMIT_S = 20.0
URL_LIMIT_S = 15.0
# The number of tries for a URL, and the first pause, doubled up to the longest: two minutes in total.
URL_TRIES, URL_PAUSE_S, URL_PAUSE_MAX_S = 6, 5.0, 60.0
# How long a check of URLs may take in all, however many there are and whatever the bead asks for.
URLS_LIMIT_S = 600.0
_MOST_TRIES = 60
_WORDS_LIMIT = 2000
# More than any check says.
_SAID_LIMIT = 16_000_000
_DEFAULT_NAMES = {"validators": "tests", "judges": "judge"}


class Verdict(NamedTuple):
    """Whether an output passed, and if not, why. None if it could not be checked, which says nothing about the output.

    `words` go into the hub. `told_here` stays on this machine, because it says how the network around it answers.
    `is_for_person`: only a person can resolve it.
    """

    passed: bool | None
    words: str = ""
    told_here: str = ""
    is_for_person: bool = False


class Where(NamedTuple):
    """Where the command of a check runs, and who is told of its process."""

    folder: str | None
    confinement: Confinement
    started: Started


def check(
    hub: Clone,
    bead: Bead,
    folder: str | None = None,
    started: Started = lambda _: None,
    pause: Pause | None = None,
    confinement: Confinement | None = None,
) -> Verdict:
    """Check a bead's output.

    Commands run in `folder`; `started` gets their process, to end it; `pause` may return True to give up. `confinement` is that
    of the agent whose work is checked; by default, that of the settings.
    """
    where = Where(folder, confinement or Confinement.of(hub.settings()), started)
    kind, output = validation.kind_of(bead), validation.output_of(bead)
    rule, data = output.get("validation_schema"), output.get("data")
    if kind in ("json-schema", "regex"):
        found = _by_process(kind, rule, data, started)
    elif kind == "url":
        found = _by_url(hub, rule, output, pause or hub.runtime.sleep)
    elif kind == "test-pass":
        found = _by_tests(hub, rule, bead, where)
    elif kind == "judge":
        found = _by_judge(hub, rule, bead, where)
    elif kind == validation.NONE:
        return Verdict(True)
    else:
        found = Verdict(None, f"there is no validation {kind!r}; one of {', '.join(validation.KINDS)}")
    return found._replace(words=masked(found.words)[-_WORDS_LIMIT:])


# --- without commands ---------------------------------------------------------------------------


def _by_process(kind: str, rule: Any, data: Any, started: Started) -> Verdict:
    if data is None:
        return Verdict(False, "there is no output to check")
    if rule in (None, ""):
        return Verdict(None, f"{kind} needs output.validation_schema")
    script = os.path.join(os.path.dirname(__file__), "schema_check.py")
    asked = json.dumps({"kind": kind, "rule": rule, "data": data}, default=str)
    ran = run([sys.executable, "-P", script], {}, CHECK_LIMIT_S, stdin=asked, started=started, kept=_SAID_LIMIT)
    if ran.code is None:
        return Verdict(None, f"the check {ran.err}")
    try:
        said = json.loads(ran.out)
    except ValueError as error:
        return Verdict(None, f"the check could not be made: {error}")
    return Verdict(said["passed"], said["words"])


def _by_url(hub: Clone, rule: Any, output: dict[str, Any], pause: Pause) -> Verdict:
    """Check that every URL in the output answers 2xx, sooner or later."""
    given = rule if isinstance(rule, dict) else {"url": rule}
    found = _urls(given.get("url"), output)
    if not found:
        return Verdict(False, "the output names no http or https URL")
    tries = given.get("tries")
    most = min(_MOST_TRIES, tries) if isinstance(tries, int) and tries > 0 else URL_TRIES
    try:
        pause_s = duration_s(str(given["pause"])) if given.get("pause") else URL_PAUSE_S
    except BadInput:
        pause_s = URL_PAUSE_S
    asking = _Asking(hub, most, pause_s, pause)
    verdicts = (asking.verdict_on(url) for url in found)
    return next((verdict for verdict in verdicts if not verdict.passed), Verdict(True))


def _urls(named: Any, output: dict[str, Any]) -> list[str]:
    data = output.get("data")
    artifacts = output.get("artifacts")
    found = [named]
    if not named:
        made = artifacts if isinstance(artifacts, list) else []
        found = [data, data.get("url") if isinstance(data, dict) else None]
        found += [artifact.get("ref") if isinstance(artifact, dict) else artifact for artifact in made]
    parts = ((url, urls.parsed(url)) for url in found if isinstance(url, str))
    return [url for url, part in parts if part is not None and part.scheme in ("http", "https")]


class _Asking:
    """Requests for URLs, repeated until they answer or the time is up."""

    def __init__(self, hub: Clone, most: int, pause_s: float, pause: Pause) -> None:
        self._runtime = hub.runtime
        self._allowed = allow_list(hub.settings().url_allow)
        self._most, self._pause_s, self._pause = most, pause_s, pause
        self._end_s = self._runtime.monotonic() + URLS_LIMIT_S

    def verdict_on(self, url: str) -> Verdict:
        """Return whether a URL answers 2xx in the end. Any other answer, and any error, stays on this machine."""
        shown, tried, wrong = urls.without_password(url), 0, ""
        while tried < self._most and self._left_s() > 0:
            tried += 1
            try:
                wrong = self._answer_of(url)
            except NotAllowed as refused:
                words = (
                    f"{shown} has an address that is not public. Should bd request it? "
                    "(add it to `url_allow` in the settings of the clone or user)"
                )
                return Verdict(None, words, f"{shown}: {refused}, which is not public", is_for_person=True)
            if not wrong:
                return Verdict(True)
            pause_s = min(grown_s(self._pause_s, tried - 1, URL_PAUSE_MAX_S), max(0.0, self._left_s()))
            if tried < self._most and self._pause(pause_s):
                return Verdict(None, f"{shown} is not reachable, so it was not checked again", f"{shown} {wrong}")
        if not tried:
            return Verdict(None, f"the check took longer than {URLS_LIMIT_S:g}s")
        return Verdict(False, f"{shown} is not reachable (asked {tried} times)", f"{shown} {wrong}")

    def _left_s(self) -> float:
        return self._end_s - self._runtime.monotonic()

    def _answer_of(self, url: str) -> str:
        """Return a URL's answer if it is not 2xx; "" if it is. Raises NotAllowed."""
        try:
            status = status_of(url, self._allowed, min(URL_LIMIT_S, self._left_s()), self._runtime)
        except (OSError, ValueError, HTTPException) as error:
            return f"does not answer: {error}"
        return "" if 200 <= status < 300 else f"answers {status}"


# --- by trusted commands ------------------------------------------------------------------------


def _by_tests(hub: Clone, rule: Any, bead: Bead, where: Where) -> Verdict:
    ran = _run(hub, "validators", rule, bead, where)
    if isinstance(ran, Verdict):
        return ran
    if ran.code is None:
        return Verdict(None, f"the validator {ran.err}")
    if ran.code in (126, 127):
        return Verdict(None, ran.err or ran.out or "the validator could not be run")
    words = "\n".join(masked((ran.out + "\n" + ran.err).strip()).splitlines()[-20:])
    return Verdict(ran.code == 0, "" if ran.code == 0 else words or f"exit code {ran.code}")


def _by_judge(hub: Clone, rule: Any, bead: Bead, where: Where) -> Verdict:
    ran = _run(hub, "judges", rule, bead, where)
    if isinstance(ran, Verdict):
        return ran
    if ran.code is None:
        return Verdict(None, f"the judge {ran.err}")
    verdict = _verdict_of(ran.out)
    if verdict is None:
        said = masked(ran.err or ran.out or "nothing")
        return Verdict(None, f"the judge answered neither pass nor fail, but {said[-300:]}")
    return verdict


def _verdict_of(said: str) -> Verdict | None:
    """Parse a judge's answer: {"verdict": "pass" or "fail", "reasons": ...}, or a text that begins with one of these words."""
    try:
        answer = json.loads(said)
    except (ValueError, RecursionError):
        answer = None
    if isinstance(answer, dict):
        word, reasons = str(answer.get("verdict", "")), answer.get("reasons", "")
        words = "; ".join(map(str, reasons)) if isinstance(reasons, list) else str(reasons)
    else:
        word, _, words = said.strip().partition("\n") if "\n" in said else said.strip().partition(" ")
    passed = {"pass": True, "passed": True, "fail": False, "failed": False}.get(word.strip(" :.").lower())
    if passed is None:
        return None
    return Verdict(passed, "" if passed else words.strip() or "the judge gave no reasons")


def _run(hub: Clone, key: str, rule: Any, bead: Bead, where: Where) -> Ran | Verdict:
    name = rule if isinstance(rule, str) and rule else _DEFAULT_NAMES[key]
    command = next((one for one in trusted_commands.commands(hub, key) if one.name == name), None)
    if command is None:
        return Verdict(None, f"no command {key}.{name} is trusted in this clone; `bd trust` shows what the hub asks for")
    shown = {"id": bead.id, "title": bead.title, "output": validation.output_of(bead)}
    for text in ("description", "acceptance_criteria"):
        if bead.get(text):
            shown[text] = bead.get(text)
    environment = {"BD_BEAD_ID": bead.id, "BD_ATTEMPT": str((bead.get("claim") or {}).get("attempt", ""))}
    return trusted_commands.run(
        command.text,
        environment,
        COMMAND_LIMIT_S,
        stdin=json.dumps(shown, ensure_ascii=False) + "\n",
        folder=where.folder,
        files=command.files,
        hub_folder=hub.checkout,
        started=where.started,
        confinement=where.confinement,
        mounts=mounts_at(where.folder),
    )


# --- at the end of an attempt -------------------------------------------------------------------


def begun(hub: Clone, job: Job, outcome: Outcome, asked: Callable[..., dict[str, Any]]) -> Bead | None:
    """Return the bead of a finished attempt with its output, if that has to be checked. Slow checks are shown as validating."""
    bead = hub.snapshot().bead(job.bead.id) if outcome.what == DONE and not job.lost else None
    if bead is None or job.token not in bead.tokens:
        return None
    made = lifecycle.with_output(bead, outcome.yielded)
    if not validation.is_asked(made):
        return None
    if validation.kind_of(made) in validation.SLOW and bead.claim is not None:
        try:
            hub.publish(Validate(**asked(tokens={bead.id: job.token}, ids=[bead.id], output=outcome.yielded)))
        except BdError:  # it is checked all the same; if the hub is unreachable, the end will report it
            pass
    return made
