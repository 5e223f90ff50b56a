"""The versions by which two installations of bd tell whether they may act for each other.

Belongs here: what is compared before one carries out the other's operation. Does not belong here: the hub's format
(schema.py), the cache's files (store/cache/fingerprint.py).
"""

from __future__ import annotations

import os
from hashlib import sha256
from typing import TYPE_CHECKING

import bd

if TYPE_CHECKING:
    from collections.abc import Sequence

# The layout of a request to other clones. Version 1 named no rules, and is carried out by its author alone.
REQUEST = 2
REQUESTS_READ = (1, REQUEST)

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
