"""The versions of everything that one installation of bd writes and another reads.

An installation reads its own version and the one before (`is_known`). What it does not know it leaves alone: it neither
decides, replays nor drops it. Each version is raised by itself when its layout changes; tests/versions/sources.json has a
checksum of each layout, so no layout changes unnoticed. A layout without a version is version 1.

Belongs here: the numbers, and how two installations compare. Does not belong here: what is done about an unknown one,
which stands where it is read.
"""

from __future__ import annotations

import os
from hashlib import sha256

import bd
from bd import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# The hub's files. Writers refuse a newer format. They write formats back to WRITABLE_SINCE as they are.
FORMAT = 2
# The first bd that writes it.
FORMAT_SINCE = "0.10.0"
WRITABLE_SINCE = 1
# Before this format, each archived bead has a file of its own.
VOLUMES_SINCE = 2
# An operation's form, by verb (`v` in Bd-Op): its arguments and what they mean. A verb that is not listed is at version 1.
OPERATION: Mapping[str, int] = {"claim": 2, "close": 2, "cost": 2, "fail": 2, "plan-apply": 2, "rebalance": 2, "update": 2}
# A line of this clone's journal (`v`, its first field).
JOURNAL = 1
# The layout of a request to other clones. Version 1 named no rules, and is carried out by its author alone.
REQUEST = 2
# What an agent says of itself in a side ref (`v`).
AGENT_RECORD = 1
# The object that a claim's heartbeat ref names. It has no room for a version: another layout is another object, whose age
# an older bd can't tell. It still sees that the ref has changed.
HEARTBEAT = 1


def operation(verb: str) -> int:
    """Return the version of a verb's form that this installation writes."""
    return OPERATION.get(verb, 1)


def is_known(version: object, current: int) -> bool:
    """Return whether this installation reads a layout of this version: the current one, or the one before."""
    return type(version) is int and max(1, current - 1) <= version <= current


def release_of(text: object) -> tuple[int, ...] | None:
    """Return the numbers of a version of bd, "0.10.0" as (0, 10, 0), to compare by; None for a text that is no version.

    A pre-release such as "0.10.0.dev1" counts as its release.
    """
    numbers: list[int] = []
    for part in str(text).split("."):
        if not (part.isascii() and part.isdigit() and len(part) < 7):
            break
        numbers.append(int(part))
    while numbers and not numbers[-1]:  # 1.0 and 1.0.0 are one release
        numbers.pop()
    return tuple(numbers) if str(text)[:1].isdigit() else None


def is_older(version: object, other: object) -> bool:
    """Return whether a version of bd is older than another; one that can't be read is."""
    return (release_of(version) or ()) < (release_of(other) or ())


# Whatever a decision can depend on: all modules of these packages, and those beside them. By content: a time stamp can lie, and so
# can a version.
_PACKAGES = ("core", "policy", "operations")
_found: str | None = None


def rules() -> str:
    """Return the fingerprint of the code that decides, worked out once a process; empty where the code can't be read.

    It takes some milliseconds: ask only when another's operation is there, or is about to be handed over.
    """
    global _found
    if _found is None:
        _found = rules_of(os.path.dirname(bd.__file__), archive=getattr(bd.__loader__, "archive", None))
    return _found


def rules_of(package: str, *, archive: str | None = None) -> str:
    """Return the fingerprint of a copy of the package: of its modules, or of the archive that it runs from."""
    digest = sha256(bd.__version__.encode())
    try:
        for name in [archive] if archive else _modules(package):
            with open(os.path.join(package, name), "rb", buffering=0) as file:
                content = file.read()
            digest.update(f"\0{'' if archive else name}\0{len(content)}\0".encode() + content)
    except OSError:
        return ""
    return digest.hexdigest()[:16]


def same_rules(theirs: object) -> bool:
    """Whether an operation that names these rules may be carried out here for its author: rules that are missing are others."""
    return bool(theirs) and theirs == rules()


def _modules(package: str) -> list[str]:
    """The modules by their paths in the package. Raises OSError."""
    return modules_below(package, _PACKAGES)


def modules_below(package: str, packages: Sequence[str]) -> list[str]:
    """Return the paths, in the package, of its own modules and of all that lie below some of its packages. Raises OSError."""
    found = os.listdir(package)
    for name in packages:
        os.listdir(os.path.join(package, name))  # os.walk is silent where there is no such folder
        for folder, inner, names in os.walk(os.path.join(package, name)):
            inner[:] = [one for one in inner if one != "__pycache__"]  # which has more files than all the others
            below = os.path.relpath(folder, package)
            found += [os.path.join(below, module) for module in names]
    return sorted(path for path in found if path.endswith(".py"))
