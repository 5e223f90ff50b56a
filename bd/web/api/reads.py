"""Endpoints that read: from a view of the hub to an answer."""

from __future__ import annotations

from functools import partial
from itertools import islice

from bd import TYPE_CHECKING
from bd.brief.brief import brief_of
from bd.compat import bead_json
from bd.core.times import time_text
from bd.policy.eligibility import Eligibility
from bd.policy.ranking import Ranking
from bd.policy.work_queue import ready_beads
from bd.report.board.board import gather
from bd.report.board.markdown import markdown
from bd.report.selection import Wanted, has_words, ordered, selected
from bd.report.why import why as reasons_of
from bd.web.api.call import Answer, bead_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from bd.core.model import Bead
    from bd.web.api.call import Call
    from bd.web.site import View

LIMIT, MOST = 20, 1000
# How many ready beads are kept for a commit, and for how long: time passes, and makes others ready.
_FIRST = 200
_MOMENT_S = 1.0


def ready(view: View, call: Call) -> Answer:
    """List what the agent may take, best first, by the rule of `claim`; for a person who names no agent, what anybody may."""
    name = call.agent_if_any(view.snapshot)
    found: Iterable[Bead] = _ready(view)
    if name:
        found = Eligibility(view.snapshot, name, view.now).beads(found)
    return _list(view, call, found)


def _ready(view: View) -> Iterator[Bead]:
    """Yield what is ready, best first. The first ones are read once for all agents that ask within a moment."""

    def read() -> list[Bead]:
        return list(islice(ready_beads(view.snapshot, view.now), _FIRST))

    first = view.kept.get("ready", view.snapshot.commit, view.now, read, _MOMENT_S)
    yield from first
    if len(first) == _FIRST:
        known = {bead.id for bead in first}
        yield from (bead for bead in ready_beads(view.snapshot, view.now) if bead.id not in known)


def search(view: View, call: Call) -> Answer:
    """Find beads by words."""
    words = [word.casefold() for word in str(call.values["q"]).split()]
    wanted = Wanted(statuses=tuple(call.values.get("status") or ()))
    pool = selected(view.snapshot, wanted, view.now, lambda: view.settings)
    whole = (view.snapshot.bead(bead.id) for bead in pool)
    found = [bead for bead in whole if bead and has_words(bead, words)]
    return _list(view, call, ordered(found, "priority", Ranking(view.snapshot, view.now)))


def show(view: View, call: Call) -> Answer:
    """Show a bead in full."""
    return Answer(bead_json.detailed(bead_of(call.values["id"], view.snapshot), view.snapshot, view.now))


def why(view: View, call: Call) -> Answer:
    """Say why a bead is not ready, or why the agent may not take it."""
    bead = bead_of(call.values["id"], view.snapshot)
    return Answer(reasons_of(bead, view.snapshot, view.now, call.agent_if_any(view.snapshot) or None).as_json())


def brief(view: View, call: Call) -> Answer:
    """Return all that an agent has to know of a bead."""
    bead = bead_of(call.values["id"], view.snapshot)
    verbs_for = partial(call.verbs, call.account.kind)
    name = call.agent_if_any(view.snapshot) or None
    return Answer(brief_of(bead, view.snapshot, view.hub, name, verbs_for=verbs_for).as_json())


def board_text(view: View, call: Call) -> Answer:
    """Return the board as text, in Markdown."""
    made = gather(view.snapshot, view.flow(), view.settings, view.now)
    return Answer({"text": markdown(made, time_text(view.now))})


def _list(view: View, call: Call, found: Iterable[Bead]) -> Answer:
    """Return a list of Issues, read no further than the limit; a header says whether there are more."""
    limit = call.values.get("limit", LIMIT)
    beads = list(islice(found, limit + 1))
    entries = view.kept.get("entries", view.snapshot.commit, view.now, bead_json.Entries, _MOMENT_S)
    text = entries.listed(beads[:limit], view.snapshot, view.now)
    return Answer(text, is_text=True, headers={"bd-more": "true" if beads[limit:] else "false"})
