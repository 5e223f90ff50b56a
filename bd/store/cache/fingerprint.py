"""Fingerprints of the code that fills the cache.

The cache keeps parsed files, and what derivations made of them. Another version of that code may produce something else, so each
fingerprint has its own cache, and two versions of bd on one clone don't disturb each other.
"""

from __future__ import annotations

import os
from zlib import crc32

import bd
from bd import TYPE_CHECKING
from bd.core.versions import modules_below

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bd.core.queries import Derivation

# The code that parses and stores: these packages and modules, and those of bd itself. Compared by content: a time stamp can be
# wrong. Not the whole store: every command reads all of it.
STORE = (
    "core",
    "store/archive",
    "store/bead_locations.py",
    "store/cache",
    "store/contract.py",
    "store/git",
    "store/hub_files.py",
    "store/hub_location.py",
    "store/object_names.py",
    "store/snapshot.py",
    "store/transaction/drafts.py",
    "store/trust",
    "store/yaml",
)
# The checksums of parts of this installation, computed once a process.
_known: dict[str, tuple[int, int]] = {}


def fingerprint(derivations: Sequence[Derivation] = ()) -> str:
    """Return 16 hex digits for this installation's code that parses files, stores them and derives from them."""
    return of_sources(os.path.dirname(bd.__file__), (part for one in derivations for part in one.code), _known)


def of_sources(package: str, code: Iterable[str] = (), known: dict[str, tuple[int, int]] | None = None) -> str:
    """Return the fingerprint of a copy of bd: its version, the code that stores, and further packages and modules by path.

    `known` holds the checksums of parts already read.
    """
    known = {} if known is None else known
    names, contents = crc32(bd.__version__.encode()), 0
    try:
        for part in ("", *sorted({*STORE, *code})):
            if part not in known:
                known[part] = _checksums(package, part)
            names, contents = (crc32(b"%08x" % one, so_far) for one, so_far in zip(known[part], (names, contents), strict=True))
    except OSError:  # no such folders: bd runs from an archive, and the version has to suffice
        pass
    return f"{names:08x}{contents:08x}"


def _checksums(package: str, part: str) -> tuple[int, int]:
    """Return the checksums of the names and of the contents of a part's modules. The empty part has the modules in no package."""
    names = contents = 0
    modules = [part] if part.endswith(".py") else modules_below(package, [part] if part else ())
    for module in modules:
        if module.startswith(part):
            with open(os.path.join(package, module), "rb", buffering=0) as file:
                names, contents = crc32(module.encode(), names), crc32(file.read(), contents)
    return names, contents
