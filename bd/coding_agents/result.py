"""The result of one run of a coding agent, and the rules by which a run counts as a success. Pure."""

from __future__ import annotations

import json
import re
from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.coding_agents.provider_errors import kind_of_error

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

# What is kept of an agent's words: the end of the work goes into the hub as one sentence or two, not as a report.
SENTENCE_LIMIT = 500
_WORDS_OF_JSON = ("result", "summary", "text", "message", "response", "answer")
_WORDS_OF_CUT_JSON = re.compile(rf'"(?:{"|".join(_WORDS_OF_JSON)})"\s*:\s*"((?:[^"\\]|\\.)+)')
_IS_JSON = re.compile(r'\{\s*"')
_SAYS_ERROR = re.compile(r'"is_error"\s*:\s*true\b')


class Result(NamedTuple):
    """The result of one run.

    `kind` is the kind of failure, "" after a success. `denials` are the tools that it was not allowed to use. `resets_at` is when a
    limit ends. What it cost, and its session, the reader knows while it runs.
    """

    text: str
    kind: str = ""
    denials: tuple[str, ...] = ()
    resets_at: str | None = None

    @property
    def is_error(self) -> bool:
        return bool(self.kind)


class Report(NamedTuple):
    """What a program says of its own end; `kind` is "" if it claims success."""

    text: str
    kind: str = ""


class Run(NamedTuple):
    """What is known when a run has ended. `code` is the exit code, negative for a signal.

    `is_cut`: a line that began like a report could not be read. `has_spoken`: it printed something that its format knows.
    `errors` is the end of what it wrote to stderr or could not be read; `of_codes` are the kinds of its own exit codes.
    """

    code: int
    reports: Sequence[Report] = ()
    is_cut: bool = False
    has_spoken: bool = False
    errors: str = ""
    of_codes: Mapping[int, tuple[str, str]] = {}


def end_of(run: Run) -> Report:
    """Return how a run ended. It is a success only if all that the program said, and its exit code, agree."""
    failed = [report for report in run.reports if report.kind]
    if failed:
        return failed[-1]
    if run.code in run.of_codes:
        kind, words = run.of_codes[run.code]
        return Report(f"{words}{f': {run.errors}' if run.errors else ''}", kind)
    if not run.reports or run.is_cut:
        return _without_report(run)
    said = run.reports[-1].text
    if run.code:
        kind = "crash" if is_signal(run.code) else "bad_output"
        return Report(f"it reported success, and ended with {code_words(run.code)}: {said}", kind)
    return Report(said)


def _without_report(run: Run) -> Report:
    words = run.errors or code_words(run.code)
    if run.code and not run.reports:
        kind = kind_of_error(run.errors)
        if kind:
            return Report(words, kind)
        if not run.has_spoken:
            return Report(f"it ended before its first output: {words}", "agent_crash")
        if is_signal(run.code):
            return Report(words, "crash")
    what = "its result can't be read" if run.is_cut else "it printed no result"
    return Report(f"{what} ({code_words(run.code)}){f': {run.errors}' if run.errors else ''}", "bad_output")


def is_signal(code: int) -> bool:
    """Return whether an exit code stands for a signal."""
    return code < 0 or code > 128


def code_words(code: int) -> str:
    """Return an exit code in words."""
    return f"signal {-code if code < 0 else code - 128}" if is_signal(code) else f"exit code {code}"


def report_in(lines: Iterable[str]) -> Report | None:
    """Return the report in JSON with which a command ended its output, as programs do that bd may not know; None without one."""
    told = [line.rstrip() for line in lines if line.strip()]
    begin = len(told) - 1
    if told and told[-1] == "}":  # over several lines
        begin = max((place for place, line in enumerate(told) if line == "{"), default=begin)
    text = "\n".join(told[max(begin, 0) :])
    if not _IS_JSON.match(text):
        return None
    words = next((words for said in (text, *reversed(told[:begin])) if (words := sentence_of(said))), "")
    return Report(words, (kind_of_error(words) or "other") if _says_error(text) else "")


def _says_error(text: str) -> bool:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):  # cut
        return bool(_SAYS_ERROR.search(text))
    return isinstance(found, dict) and found.get("is_error") is True


def sentence_of(text: str) -> str:
    """Return the first paragraph of an agent's words, cut: a sentence for the hub, never JSON. "" if there are no words."""
    text = _without_json(text.strip())
    paragraphs = (part.strip() for part in text.split("\n\n"))
    first = next((part for part in paragraphs if part.strip("#*-_=`\n ") and not _is_heading(part)), text.strip())
    line = " ".join(first.replace("```", " ").split())
    if len(line) <= SENTENCE_LIMIT:
        return line
    cut = line[:SENTENCE_LIMIT]
    end = max(cut.rfind(mark) for mark in (". ", "! ", "? "))
    return cut[: end + 1] if end > SENTENCE_LIMIT // 2 else f"{cut[: max(cut.rfind(' '), SENTENCE_LIMIT // 2)]}…"


def _is_heading(paragraph: str) -> bool:
    return paragraph.startswith("#") and "\n" not in paragraph


def _without_json(text: str) -> str:
    """Return the words inside a JSON answer, or "" if it has none; any other text as it is."""
    bare = text.removeprefix("```json").removesuffix("```").strip() if text.startswith("```") else text
    if not bare.startswith(("{", "[")):
        return text
    try:
        found = json.loads(bare)
    except (ValueError, RecursionError):
        return _words_of_cut(bare) if bare.startswith(('{"', "[{", '["', "{\n")) else text
    words = [found.get(key) for key in _WORDS_OF_JSON] if isinstance(found, dict) else []
    return next((word.strip() for word in words if isinstance(word, str) and not word.lstrip().startswith(("{", "["))), "")


def _words_of_cut(text: str) -> str:
    """Return the words in JSON of which there is only the beginning, as far as they go."""
    found = _WORDS_OF_CUT_JSON.search(text)
    if found is None or found[1].lstrip().startswith(("{", "[")):
        return ""
    try:
        return str(json.loads(f'"{found[1]}"')).strip()
    except ValueError:
        return ""
