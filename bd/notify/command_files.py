"""Command files: the files of a hub that a command names, whose contents its pin covers.

A file belongs to a command if its name is a word of the command, whatever its folder; so do the files that such a script
names in turn, and those that build tools read by default. One file too many does no harm: it only causes another review.
Belongs here: finding the files, and comparing them with the pinned ones. Does not belong here: what else a command reads
(installed modules, a compiler's inputs), which can't be known.
"""

from __future__ import annotations

import hashlib
import os
import re
from fnmatch import fnmatchcase
from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.core.schema import (
    AGENTS_DIR,
    ARTIFACTS_DIR,
    BEADS_DIR,
    CAPACITY_DIR,
    CONFIG_PATH,
    METADATA_PATH,
    SIGNERS_PATH,
    TRIGGERS_DIR,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from bd.store import Clone

# The characters of a word; every other character ends it.
_WORD = re.compile(r"[\w.@%+~^-]+")
_PATTERN = re.compile(r"([\w.@%+~^/-]*/)?([\w.@%+~^-]*[*?[][\w.@%+~^*?[\]!-]*)")
_MODULE = re.compile(r"-m\s+([\w.]+)")
_SCRIPT_KINDS = frozenset(
    ("sh", "bash", "zsh", "ksh", "py", "js", "mjs", "cjs", "ts", "rb", "pl", "php", "lua", "mk", "awk", "ps1")
)
# The files that a build tool reads in its folder.
_READ_BY: dict[str, tuple[str, ...]] = {
    "make": ("GNUmakefile", "makefile", "Makefile"),
    "just": ("justfile", "Justfile", ".justfile"),
    "task": ("Taskfile.yml", "Taskfile.yaml"),
    "rake": ("Rakefile", "rakefile", "Rakefile.rb"),
    "tox": ("tox.ini",),
    "nox": ("noxfile.py",),
    "invoke": ("tasks.py",),
    "docker": ("Dockerfile", "docker-compose.yml", "compose.yaml"),
    "gradle": ("build.gradle", "build.gradle.kts"),
    "mvn": ("pom.xml",),
    "cargo": ("Cargo.toml", "build.rs"),
    **dict.fromkeys(("npm", "npx", "yarn", "pnpm", "bun"), ("package.json",)),
}
_TOOLS = frozenset(name for names in _READ_BY.values() for name in names)
_MOST_FILES, _LARGEST_SCRIPT, _LARGEST = 200, 256_000, 50_000_000
# Used instead of a digest. No file on the disk matches it, so the command does not run.
_TOO_LARGE = "larger than 50 MB"
# bd's own files change all the time, and there are many. They belong to a command only if it has the whole path.
_OWN_FOLDERS = frozenset(name.rstrip("/") for name in (BEADS_DIR, CAPACITY_DIR, ARTIFACTS_DIR))
_OWN_FILES = (AGENTS_DIR, TRIGGERS_DIR, CONFIG_PATH, METADATA_PATH, SIGNERS_PATH)
_OWN_PATH = re.compile(r"(?<![\w.])((?:beads|artifacts|\.agent-status|\.beads)/[\w.@%+~^/-]+)")


class HubFiles(NamedTuple):
    """The files of a hub at one commit, without bd's own: the blob of each path, and the paths by file name."""

    hub: Clone
    commit: str
    blobs: dict[str, str]
    by_name: Mapping[str, list[str]]

    def own(self, text: str) -> list[str]:
        """Return bd's own files whose whole paths are in the text, such as outputs below `artifacts/`."""
        paths = {path for path in _OWN_PATH.findall(text) if not {"", ".", ".."}.intersection(path.split("/"))}
        missing = paths - self.blobs.keys()
        if missing:
            self.blobs.update((path, oid) for path, oid in self.hub.plain_files(self.commit, *missing).items() if path in missing)
        return [path for path in paths if path in self.blobs]

    def read(self, paths: list[str]) -> Iterator[bytes]:
        """Yield the contents of files in order, up to the size limit; empty if this clone lacks one."""
        for data in self.hub.repo.objects.read_many([self.blobs[path] for path in paths], at_most=_LARGEST + 1):
            yield data or b""


def hub_files(hub: Clone, commit: str) -> HubFiles:
    """Return the files of a hub that commands may name."""
    tops = hub.top_level(commit, without=_OWN_FOLDERS)
    blobs = hub.plain_files(commit, *tops) if tops else {}
    by_name: dict[str, list[str]] = {}
    for path in [one for one in blobs if not one.startswith(_OWN_FILES)]:
        by_name.setdefault(path.rpartition("/")[2], []).append(path)
    return HubFiles(hub, commit, {path: blobs[path] for paths in by_name.values() for path in paths}, by_name)


def named_by(text: str, files: HubFiles) -> dict[str, str]:
    """Return the SHA-256 of each file that a command names, and that these scripts name in turn, by path."""
    found: dict[str, str] = {}
    waiting = [*_named(text, "", files), *_by_pattern(text, files)]
    while waiting and len(found) < _MOST_FILES:
        paths = [path for path in dict.fromkeys(waiting) if path not in found][: _MOST_FILES - len(found)]
        waiting = []
        for path, data in zip(paths, files.read(paths), strict=True):
            found[path] = hashlib.sha256(data).hexdigest() if len(data) <= _LARGEST else _TOO_LARGE
            if _is_script(path, data):
                waiting += _named(data.decode("utf-8", "replace"), path, files)
    return dict(sorted(found.items()))


def _named(text: str, script: str, files: HubFiles) -> list[str]:
    """Return the files that a text names. A script may leave out its own file extension, as for modules."""
    ending = os.path.splitext(script)[1]
    words = {word for match in _WORD.findall(text) for word in (match, match.rstrip("."))}
    modules = {f"{part}{ending}" for word in words for part in word.split(".")} if ending else set()
    names = words | modules
    found = [*files.own(text), *(path for name in names for path in files.by_name.get(name, ()))]
    for tool in words & _READ_BY.keys():
        folders = ("", *(f"{folder}/" for folder in words))
        found += [path for name in _READ_BY[tool] for folder in folders if (path := folder + name) in files.blobs]
    for module in _MODULE.findall(text):
        name = module.replace(".", "/")
        ends = (f"{name}.py", f"{name}/__main__.py", f"{name}/__init__.py")
        found += [path for path in files.blobs if any(path == end or path.endswith(f"/{end}") for end in ends)]
    return sorted(path for path in found if path != script)


def _by_pattern(text: str, files: HubFiles) -> list[str]:
    """Return the files that a command names by a wildcard (`hooks.d/*`, `check-*.sh`), or that have blanks in their names."""
    found = [path for name, paths in files.by_name.items() if " " in name and name in text.replace("\\", "") for path in paths]
    for folder, pattern in _PATTERN.findall(text):
        inner = folder.rstrip("/").rpartition("/")[2]
        end = f"/{inner}/" if inner not in ("", ".", "..") else "/"
        if end == "/" and not _WORD.search(pattern):
            continue  # a lone star is a product, a cron field, or any line
        names = [name for name in files.by_name if fnmatchcase(name, pattern)]
        found += [path for name in names for path in files.by_name[name] if f"/{path.removesuffix(name)}".endswith(end)]
    return found


def _is_script(path: str, data: bytes) -> bool:
    name = path.rpartition("/")[2]
    is_one = data.startswith(b"#!") or name.rpartition(".")[2] in _SCRIPT_KINDS or name in _TOOLS
    return is_one and len(data) <= _LARGEST_SCRIPT and b"\0" not in data


def changed_in(folders: Iterable[str], files: Mapping[str, str]) -> str:
    """Return the first file in one of the folders that has changed since it was pinned; empty if there is none."""
    for folder in dict.fromkeys(folders):
        for path, digest in files.items():
            full = os.path.join(folder, path)
            if os.path.lexists(full) and _digest(full) != digest:
                return full
    return ""


def _digest(path: str) -> str:
    try:
        if not os.path.isfile(path):  # a device or a pipe might never end
            return ""
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""
