"""One operation on its way to the hub: the caller's own, or a neighbour's that was taken along. A frozen value."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.value import Value
from bd.store.contract import SideRef
from bd.store.group_commit.requests import INTENTS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bd.core.errors import BdError
    from bd.core.model import Change
    from bd.core.operation import Operation


class Result(Value):
    """The result of an operation: a change, or a refusal."""

    change: Change | None
    refusal: BdError | None


class Member(Value):
    """An operation that a write carries out.

    `path` is the journal entry of the process that waits for it; empty for the caller's own. `request` is the object of its
    request to other clones while that is on the remote, made at the tip `asked_on`. `may_arrive` are requests whose push got no
    answer and which have not been seen on the remote. `misses` counts the fetches that no longer showed the request.
    """

    operation: Operation
    path: str = ""
    request: str | None = None
    asked_on: str = ""
    may_arrive: frozenset[str] = frozenset()
    misses: int = 0
    result: Result | None = None

    @property
    def uid(self) -> str:
        return self.operation.uid

    @property
    def is_settled(self) -> bool:
        return self.result is not None

    @property
    def change(self) -> Change | None:
        return self.result.change if self.result else None

    @property
    def refusal(self) -> BdError | None:
        return self.result.refusal if self.result else None

    @property
    def in_doubt(self) -> bool:
        """Return whether other clones may still carry it out."""
        return self.request is not None or bool(self.may_arrive)

    @property
    def removal(self) -> SideRef | None:
        """The side-ref update that deletes its request; None if it has none."""
        return SideRef(INTENTS + self.uid, None, self.request) if self.request else None

    def settled(self, result: Result) -> Member:
        """Return the member with its final result."""
        return self.replace(result=result, request=None)

    def requested(self, request: str, base: str, *, is_answered: bool) -> Member:
        """Return the member after other clones were asked for it. `is_answered`: the remote has confirmed the request."""
        may_arrive = self.may_arrive if is_answered else self.may_arrive | {request}
        return self.replace(request=request, asked_on=self.asked_on or base, misses=0, may_arrive=may_arrive)

    def seen(self, listed: Mapping[str, str]) -> Member:
        """Return the member after a listing of the requests on the remote."""
        shown = listed.get(self.uid)
        member = self
        if shown is not None and shown in self.may_arrive:  # late, but there
            member = member.replace(request=shown, may_arrive=self.may_arrive - {shown})
        return member.replace(misses=0) if shown is not None and shown == member.request else member

    def is_gone(self, listed: Mapping[str, str]) -> bool:
        """Return whether a listing of the requests leaves its result open."""
        return bool(self.may_arrive) or (self.request is not None and listed.get(self.uid) != self.request)

    def forgotten(self) -> Member:
        """Return the member as if it had never been requested: its request was withdrawn, and nobody carried it out."""
        return self.replace(request=None, misses=0, asked_on=self.asked_on if self.may_arrive else "")
