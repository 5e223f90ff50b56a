"""Who may sign for whom at a commit of a hub, and whether signatures are required there.

Belongs here: what holds, and what holds where two histories meet. Does not belong here: what a commit makes of it (verification.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from bd.core import signers

if TYPE_CHECKING:
    from collections.abc import Sequence

# In the place of signers, where histories meet that let different people in first: it is no line, so nobody may sign.
TORN = "# histories meet here that do not know each other's signers"


class Standing(NamedTuple):
    """What holds after a commit: the believed lines of allowed signers, whether signatures are required, and the time it got to."""

    signers: tuple[str, ...] = ()
    is_required: bool = False
    at_s: int = 0

    @property
    def is_in_force(self) -> bool:
        """Whether what is not signed counts as not made. It takes somebody who may sign."""
        return self.is_required and bool(self.signers)

    @property
    def is_torn(self) -> bool:
        """Whether nobody can tell any more who was let in first."""
        return self.signers == (TORN,)

    def allows(self, name: str, key: str, at_s: int = 0) -> bool:
        """Whether a name may sign with a key, at a time that is no earlier than what was seen already."""
        at = signers.stamp_of(max(at_s, self.at_s))
        return any(signer.may(name, key, at) for signer in signers.read(self.signers))


NOBODY = Standing()


def common(bases: Sequence[Standing]) -> Standing:
    """What both sides knew that parted at these commits: the lines of any of them; they differ on a requirement in its favour."""
    if len(bases) < 2:
        return bases[0] if bases else NOBODY
    return Standing(tuple(dict.fromkeys(line for one in bases for line in one.signers)), all(one.is_required for one in bases))


def joined(base: Standing, one: Standing, other: Standing, *, is_shallow: bool) -> Standing:
    """What holds where two sides meet that parted at `base`: whatever either has changed since.

    A side that began before anybody was allowed has no say. Where both let people in that the other does not know, nobody
    is believed, but in a shallow clone, which takes what it has for good.
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
