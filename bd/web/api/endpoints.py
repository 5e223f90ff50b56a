"""The table of endpoints. To add one, add a row here and a function in reads.py or writes.py."""

from __future__ import annotations

from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.policy.failure_kinds import KINDS
from bd.web.api import reads, writes
from bd.web.api.parameters import ANY, FLAG, NUMBER, TEXT, TEXTS, WHOLE, Parameter, object_schema
from bd.web.authentication import AGENT, CLAIM, PERSON

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from bd.store import Clone
    from bd.web.api.call import Answer, Call
    from bd.web.site import View

PREFIX = "/api/v1"
# The largest bodies, in bytes.
SMALL, LARGE = 256 * 1024, 4 * 1024 * 1024
# The kinds of answers: names of schemas in openapi.py.
BEADS, BEAD, OBJECT, STREAM = "Beads", "Bead", "Object", "Stream"
_WORKING = frozenset({PERSON, AGENT})
_ALL = _WORKING | {CLAIM}
_AGENT = Parameter("agent", TEXT, "The agent; only with a person's token.")


class Endpoint(NamedTuple):
    """One endpoint. `read` or `write` does it; neither for those that hold the connection (routes.py).

    `parameters` come in the query of a GET, else in the body; `id` is always a part of the path. `callers` are the kinds of
    accounts; with a claim's, a write is only for the claim's own bead. `is_long`: whether a write may take minutes.
    """

    name: str
    method: str
    path: str
    summary: str
    parameters: tuple[Parameter, ...] = ()
    read: Callable[[View, Call], Answer] | None = None
    write: Callable[[Clone, Call], Answer] | None = None
    answer: str = BEADS
    callers: frozenset[str] = _ALL
    limit: int = SMALL
    is_keyed: bool = True
    is_long: Callable[[View, Call], bool] | None = None

    @property
    def of_path(self) -> tuple[Parameter, ...]:
        return tuple(one for one in self.parameters if f"{{{one.name}}}" in self.path)

    @property
    def others(self) -> tuple[Parameter, ...]:
        """The parameters that are not a part of the path."""
        return tuple(one for one in self.parameters if one not in self.of_path)

    def parameters_for(self, kind: str) -> tuple[Parameter, ...]:
        """Return the parameters for a kind of account: an agent is never told by who says who it is anyway."""
        own = {PERSON: (), AGENT: ("agent",), CLAIM: ("agent", "token")}[kind]
        return tuple(one for one in self.parameters if one.name not in own)

    def schema(self, kind: str) -> dict[str, Any]:
        """Return the JSON Schema of all parameters, for a kind of account."""
        return object_schema(self.parameters_for(kind))


_ID = Parameter("id", TEXT, "The bead: its id, or a beginning that only it has.", is_required=True)
_TOKEN = Parameter(
    "token", TEXT, "The fencing token of the claim (claim.token of what claim answered); not with a claim's token."
)
_LIMIT = Parameter("limit", WHOLE, f"At most this many; {reads.LIMIT} if it is left out.", least=1, most=reads.MOST)
_PRIORITY = Parameter("priority", WHOLE, "0 (critical) to 4 (background).", least=0, most=4)
_NEW = (
    Parameter("title", TEXT, "What is to be done, in a line.", is_required=True),
    Parameter("type", TEXT, "task, bug, feature, research ...; task if it is left out."),
    _PRIORITY,
    Parameter("description", TEXT, "The description."),
    Parameter("assignee", TEXT, "Route it to this agent or person."),
    Parameter("labels", TEXTS, "Labels."),
    Parameter("needs", TEXTS, "Capabilities that it needs."),
    Parameter("deps", TEXTS, "What it waits for: ids, or discovered-from:ID and the like."),
)

ENDPOINTS = (
    Endpoint(
        "ready",
        "GET",
        "/ready",
        "List the beads that the agent may take now, best first.",
        (_LIMIT, _AGENT),
        read=reads.ready,
        callers=_WORKING,
    ),
    Endpoint(
        "claim",
        "POST",
        "/claim",
        "Take a bead, or the best one that fits. Then no other agent has it.",
        (
            Parameter("id", TEXT, "The bead; the best one that fits if it is left out."),
            Parameter("count", WHOLE, "Without id: up to this many; all but the first are reserved.", least=1, most=100),
            Parameter("reserve", FLAG, "Reserve it; it has to be started within claim_ttl (15m)."),
            Parameter("resume", FLAG, "Take over what this agent already holds, with a new token: the old one is void."),
            _AGENT,
        ),
        write=writes.claim,
        callers=_WORKING,
    ),
    Endpoint("start", "POST", "/beads/{id}/start", "Start the work on a reserved bead.", (_ID, _TOKEN), write=writes.start),
    Endpoint(
        "heartbeat",
        "POST",
        "/beads/{id}/heartbeat",
        "Say that the work goes on; without it a claim stalls after a while.",
        (_ID, _TOKEN, Parameter("progress", TEXT, "What the agent is doing, for people.")),
        write=writes.heartbeat,
        answer=OBJECT,
        is_keyed=False,
    ),
    Endpoint(
        "progress",
        "POST",
        "/beads/{id}/progress",
        "Post a note on a bead while working on it.",
        (_ID, _TOKEN, Parameter("text", TEXT, "The note, for people.", is_required=True)),
        write=writes.note_progress,
        answer=OBJECT,
        is_keyed=False,
    ),
    Endpoint(
        "release",
        "POST",
        "/beads/{id}/release",
        "Give a bead back; it costs no attempt.",
        (_ID, _TOKEN, Parameter("reason", TEXT, "Why.", is_required=True)),
        write=writes.release,
    ),
    Endpoint(
        "close",
        "POST",
        "/beads/{id}/close",
        "Finish a bead, and with next claim another one in the same commit.",
        (
            _ID,
            _TOKEN,
            Parameter("reason", TEXT, "The result, in a sentence."),
            Parameter("output", ANY, "The output: a text or any JSON. It is validated if the bead asks for that."),
            Parameter("next", FLAG, "Also claim the next bead that fits; not with a claim's token."),
        ),
        write=writes.close,
        limit=LARGE,
        is_long=writes.is_checked_long,
    ),
    Endpoint(
        "fail",
        "POST",
        "/beads/{id}/fail",
        "Record a failed attempt; the bead is tried again, or given up.",
        (
            _ID,
            _TOKEN,
            Parameter("reason", TEXT, "The kind of failure.", is_required=True, choices=KINDS),
            Parameter("error", TEXT, "What went wrong, in words.", is_required=True),
            Parameter("cost_usd", NUMBER, "What the attempt cost.", least=0, most=1e9),
            Parameter("duration_s", NUMBER, "How long it took; since its start if it is left out.", least=0, most=1e9),
        ),
        write=writes.fail,
    ),
    Endpoint(
        "wait_human",
        "POST",
        "/beads/{id}/wait-human",
        "Park a bead until a person answers; it costs no attempt.",
        (_ID, _TOKEN, Parameter("question", TEXT, "What the person has to decide.", is_required=True)),
        write=writes.wait_human,
    ),
    Endpoint(
        "spawn",
        "POST",
        "/beads/{id}/spawn",
        "Create a subtask of a bead in progress, which continues or waits for the subtask.",
        (_ID, _TOKEN, Parameter("wait", FLAG, "Give the bead back until the subtask is closed; it costs no attempt."), *_NEW),
        write=writes.spawn,
        answer=BEAD,
    ),
    Endpoint("show", "GET", "/beads/{id}", "Show a bead in full.", (_ID,), read=reads.show, answer=BEAD),
    Endpoint(
        "brief",
        "GET",
        "/beads/{id}/brief",
        "All that an agent has to know of a bead, as one text; what others wrote stands in fences.",
        (_ID,),
        read=reads.brief,
        answer=OBJECT,
    ),
    Endpoint(
        "why",
        "GET",
        "/beads/{id}/why",
        "Say why a bead is not ready, or why the agent may not take it.",
        (_ID, _AGENT),
        read=reads.why,
        answer=OBJECT,
    ),
    Endpoint(
        "search",
        "GET",
        "/search",
        "Find beads by words in their texts; all words have to be there.",
        (
            Parameter("q", TEXT, "The words.", is_required=True),
            Parameter("status", TEXTS, "Also done beads: all, closed ..."),
            _LIMIT,
        ),
        read=reads.search,
    ),
    Endpoint(
        "create",
        "POST",
        "/beads",
        "Create a bead.",
        (
            *_NEW,
            Parameter("acceptance_criteria", TEXT, "What has to hold when it is done."),
            Parameter("parent", TEXT, "Its parent."),
        ),
        write=writes.create,
        answer=BEAD,
        callers=_WORKING,
        limit=LARGE,
    ),
    Endpoint(
        "comment",
        "POST",
        "/beads/{id}/comments",
        "Comment on a bead.",
        (_ID, Parameter("text", TEXT, "The comment.", is_required=True)),
        write=writes.comment,
        answer=OBJECT,
    ),
    Endpoint("board", "GET", "/board", "The whole fleet at a glance, as text.", (), read=reads.board_text, answer=OBJECT),
    Endpoint(
        "wait",
        "GET",
        "/wait",
        "Wait until something is ready for the agent: the answer comes as soon as there is, or when time is up.",
        (Parameter("timeout", NUMBER, "Seconds, up to 50.", least=0, most=50), _AGENT),
        answer=OBJECT,
        callers=_WORKING,
    ),
    Endpoint("events", "GET", "/events", "Server-sent events: one each time the hub has moved.", (), answer=STREAM),
)
BY_NAME = {one.name: one for one in ENDPOINTS}
