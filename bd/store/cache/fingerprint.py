"""The fingerprint of the code that fills the cache.

The cache keeps parsed files, and what rules and views made of them. Another version of that code may make something
else, so each fingerprint has a cache of its own, and two versions of bd on one clone leave each other's alone.
"""

from __future__ import annotations

import os
from zlib import crc32

import bd
from bd.core.versions import modules_below

# Whatever a cached value can depend on: all modules of these packages, those beside them, and one more. By content: a time stamp can
# lie.
_PACKAGES = ("core", "policy", "store", "compat")
_LISTING = os.path.join("cli", "commands", "bead_list.py")
_found: str | None = None


def fingerprint() -> str:
    """Return 16 hex digits for the code of this installation, worked out once a process."""
    global _found
    if _found is None:
        _found = of_sources(os.path.dirname(bd.__file__))
    return _found


def of_sources(package: str) -> str:
    """Return the fingerprint of a copy of the package: its version, and the names and contents of its modules."""
    names, contents = crc32(bd.__version__.encode()), 0
    try:
        for module in [*modules_below(package, _PACKAGES), _LISTING]:
            with open(os.path.join(package, module), "rb", buffering=0) as file:
                names, contents = crc32(module.encode(), names), crc32(file.read(), contents)
    except OSError:  # no such folders: bd runs from an archive, whose version has to do
        pass
    return f"{names:08x}{contents:08x}"
