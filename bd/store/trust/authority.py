"""Authority at a commit: who may sign for whom, and whether signatures are required there.

This module has the state and merges it; verification.py derives it from commits.
"""

from __future__ import annotations

from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.core import signers

if TYPE_CHECKING:
    from collections.abc import Sequence

# Stands for the signers where histories meet that each let different people in first: not a valid line, so nobody may sign.
TORN = "# histories meet here that do not know each other's signers"


class Standing(NamedTuple):
    """The state after a commit: the trusted allowed signers, whether signatures are required, and the latest time seen."""

    signers: tuple[str, ...] = ()
    is_required: bool = False
    at_s: int = 0

    @property
    def is_in_force(self) -> bool:
        """True if unsigned commits count as not made. Requires at least one allowed signer."""
        return self.is_required and bool(self.signers)

    @property
    def is_torn(self) -> bool:
        """True once nobody can tell who was let in first."""
        return self.signers == (TORN,)

    def allows(self, name: str, key: str, at_s: int = 0) -> bool:
        """Return whether a name may sign with a key at this time, or at the latest time seen if that is later."""
        at = signers.stamp_of(max(at_s, self.at_s))
        return any(signer.may(name, key, at) for signer in signers.read(self.signers))


NOBODY = Standing()


def common(bases: Sequence[Standing]) -> Standing:
    """Return what both sides knew at the merge bases: the lines of any of them; signatures are required if all require them."""
    if len(bases) < 2:
        return bases[0] if bases else NOBODY
    return Standing(tuple(dict.fromkeys(line for one in bases for line in one.signers)), all(one.is_required for one in bases))


def joined(base: Standing, one: Standing, other: Standing, *, is_shallow: bool) -> Standing:
    """Return the state where two sides meet that parted at `base`: the changes of both.

    A side that began before anybody was allowed has no say. If both let people in that the other does not know, nobody is
    trusted, except in a shallow clone, which has to accept what it has.
    """
    at_s = max(one.at_s, other.at_s)
    if not base.signers and not (one.signers and other.signers):
        return (one if one.signers else other)._replace(at_s=at_s)
    if not base.signers and not is_shallow:
        return Standing((TORN,), one.is_required or other.is_required, at_s)
    gone = {line for line in base.signers if line not in one.signers or line not in other.signers}
    lines = tuple(line for line in dict.fromkeys((*one.signers, *other.signers)) if line not in gone)
    is_required = one.is_required if one.is_required != base.is_required else other.is_required
    return Standing(lines, is_required, at_s)
