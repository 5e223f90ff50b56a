"""The output of a coding agent that bd knows (bd/coding_agents): read line by line, its cost kept while it runs.

What the program says of itself, the result file and the exit code have to agree before a bead is closed.
"""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.coding_agents import sessions, spending
from bd.coding_agents.result import sentence_of
from bd.coding_agents.sessions import Session
from bd.coding_agents.spending import Totals
from bd.core.redaction import masked
from bd.policy import failure_kinds
from bd.worker.result import DONE, FAILED, TEXT_LIMIT, Outcome, outcome_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from bd.coding_agents.known import KnownAgent
    from bd.coding_agents.result import Result
    from bd.coding_agents.spending import Spent
    from bd.repos.delivery import Commits

_LONGEST_LINE = 16_000_000


class AgentOutput:
    """The output of one run. `note` is told the cost and the session as they change; `close` ends that.

    `model` is the one that was asked for, `prices` the hub's. `begin` comes before the first line.
    """

    line_limit = _LONGEST_LINE
    keeps_apart = True

    def __init__(
        self,
        known: KnownAgent,
        model: str,
        prices: Mapping[str, Any],
        note: Callable[[Mapping[str, Any], Mapping[str, Any] | None], None],
        close: Callable[[], None] = lambda: None,
    ) -> None:
        self._known = known
        self._reader = known.reader()
        self._place = ""
        self._before: Session | None = None
        self._model = model
        self._prices = prices
        self._note = note
        self.close = close
        self._noted = Totals()

    def begin(self, place: str, before: Session | None) -> None:
        """Note where the session can be resumed (sessions.py), and which one this run resumes."""
        self._place, self._before = place, before

    def hear(self, line: str) -> str:
        shown = self._reader.hear(line)
        if self._reader.totals != self._noted:
            self._noted = self._reader.totals
            session = self.session("")
            self._note(self.cost, session.as_json() if session else None)
        return masked(shown)

    def hear_error(self, line: str) -> str:
        return masked(self._reader.hear_error(line))

    @property
    def last_line(self) -> str:
        return masked(self._reader.said)

    @property
    def cost(self) -> dict[str, Any]:
        """What the run has cost so far: `usd`, `tokens`, `model`, `estimated`, as far as it is known."""
        model = self._reader.model or self._model
        return self._spent(model).as_cost(model or self._known.name)

    def _spent(self, model: str) -> Spent:
        reader, meaning = self._reader, self._known.totals
        earlier = self._before.totals if self._before else Totals()
        if reader.totals.usd is None:
            prices = (self._prices.get(name) for name in (model, self._known.name))
            price = next((price for price in prices if isinstance(price, dict)), None)
            if self._known.has_dollars:  # they come at the end, and count what a price would count again
                price = None
            return spending.estimated(reader.totals, earlier, meaning, price)
        return spending.spent(reader.totals, earlier, reader.version, meaning)

    def session(self, end: str) -> Session | None:
        """Return the session of the run, which ended this way (sessions.py); None if it has none."""
        name = self._reader.session or (self._before.session if self._before else "")
        if not name:
            return None
        earlier = self._before or Session("", "", "")
        now = self._reader.totals
        usd = earlier.totals.usd if now.usd is None else now.usd
        totals = now._replace(usd=usd) if now.tokens else earlier.totals._replace(usd=usd)
        limits = earlier.turn_limits + (end == sessions.TURNS)
        return Session(self._known.name, name, self._place, end, limits, totals)

    def outcome(self, code: int, result: bytes | None, commits: Commits | None = None) -> Outcome:
        said = self._reader.result(code)
        told = outcome_of(0, result, [sentence_of(said.text)]) if result and result.strip() else None
        found = self._judged(said, told, commits)
        text = masked(found.text.encode("utf-8", "replace").decode())[:TEXT_LIMIT]
        resets_at = said.resets_at if failure_kinds.of(found.kind).rests == "account" else None
        flaws = told.flaws if told else ()
        return found._replace(text=text, cost=self.cost, resets_at=resets_at or found.resets_at, flaws=flaws)

    def _judged(self, said: Result, told: Outcome | None, commits: Commits | None) -> Outcome:
        """Return the outcome without its costs: the worst of what the program and the result file say."""
        if said.is_error:
            return Outcome(FAILED, said.kind, said.text or said.kind)
        if told is not None and told.what != DONE:
            return told
        text = told.text if told else sentence_of(said.text)
        if said.denials and not (commits and commits.own):
            tools = ", ".join(said.denials)
            nothing = ", and committed nothing" if commits else ""
            return Outcome(FAILED, "denied", f"it was not allowed to use {tools}{nothing}: {text}")
        if commits and not any(commits):
            return Outcome(FAILED, "no_change", f"it committed nothing: {text}")
        done = Outcome(DONE, "", text)
        return done._replace(output=told.output, artifacts=told.artifacts) if told else done
