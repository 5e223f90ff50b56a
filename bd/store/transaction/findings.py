"""What a write has found out about dead processes of this clone. Values; recovery.py finds it out."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from bd.store.contract import SideRef
    from bd.store.group_commit.member import Member
    from bd.store.group_commit.verdict_trailers import Verdict


class Findings(Value):
    """The findings of one write's fetches about dead processes of this clone.

    `landed` are their commits that are on the hub: the checkout may be half way there. `heard` has the verdicts, by uid, on
    operations that they carried out for other processes. `left` are their requests, which nobody waits for any more, made at the
    tips `asked_on`. `may_land` are the operations that a push of theirs may still bring to the hub, each with what was pushed.
    `heirs` are the operations of this write that took over claims of dead processes, and `inherited` the tokens of those claims.
    `looks` counts the fetches so far.
    """

    landed: tuple[str, ...] = ()
    heard: Mapping[str, Verdict] = {}
    left: Mapping[str, SideRef] = {}
    asked_on: Mapping[str, str] = {}
    may_land: Mapping[str, Mapping[str, Any]] = {}
    heirs: frozenset[str] = frozenset()
    inherited: frozenset[str] = frozenset()
    looks: int = 0


class Recovered(Value):
    """The findings after one fetch, and the given members with what they have inherited.

    `is_unsure` while a request is gone and only another fetch can tell why.
    """

    findings: Findings
    members: tuple[Member, ...]
    is_unsure: bool


def hand_over(members: Iterable[Member], findings: Findings) -> tuple[tuple[Member, ...], Findings]:
    """Hand the requests of dead processes to the living authors of the same operations."""
    left = dict(findings.left)

    def take_over(member: Member) -> Member:
        side = None if member.is_settled else left.pop(member.uid, None)
        if side is None or member.request is not None:
            return member
        return member.replace(request=side.old, asked_on=findings.asked_on[member.uid], misses=0)

    taken = tuple(map(take_over, members))
    return taken, findings.replace(left=left)
