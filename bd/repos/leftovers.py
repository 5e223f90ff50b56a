"""What an attempt has left unpushed: found in a workspace, and set aside as refs of the cache.

Nothing in the workspace is trusted: git reads its work tree with the cache's settings, and its objects through git's own
upload-pack; a `.git` that leads out of the workspace is not followed.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.repos.cache import AUTHOR
from bd.store.git.repository import GitFailed, GitTimeout

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bd.core.runtime import Runtime
    from bd.repos.cache import Cache
    from bd.repos.workspace import Workspace

# The kinds of work that nobody else has, in the order in which they are shown.
KINDS = {
    "commits": "commits on the bead's branch that are not pushed",
    "branches": "other branches",
    "detached": "commits that no branch has",
    "stashes": "stashes",
    "uncommitted": "changes that are not committed",
    "untracked": "files that git does not know",
    "ignored": "files that git ignores",
    "submodules": "what is in submodules and repositories within it",
}
# More than this of ignored files is not set aside: the folder stays until somebody looks.
IGNORED_LIMIT = 100_000_000
_OID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?\Z")
_LOG_LINES = 2000
_MOST_REPOSITORIES = 200


class Kept(NamedTuple):
    """One thing that was set aside: its kind, the ref of the cache that has it, and its commit."""

    kind: str
    ref: str
    oid: str


class Found(NamedTuple):
    """What was set aside, and what could not be: then the folder must stay."""

    kept: list[Kept]
    wrong: list[str]


def kept_of(workspace: Workspace, cache: Cache) -> list[Kept]:
    """Return what was set aside of an attempt."""
    if not os.path.exists(os.path.join(cache.git_dir, "HEAD")):
        return []
    found = cache.repo.refs(workspace.kept_refs.rstrip("/"))
    kinds = ((ref.removeprefix(workspace.kept_refs).partition("/")[0], ref, oid) for ref, oid in found.items())
    return sorted((Kept(kind, ref, oid) for kind, ref, oid in kinds if kind in KINDS), key=lambda one: [*KINDS].index(one.kind))


def keep(workspace: Workspace, cache: Cache, runtime: Runtime, *, with_ignored: bool = False) -> Found:
    """Set aside everything unpushed in a workspace in which nobody works. `with_ignored`: also files that git ignores.

    May be called again at any time. Raises TryAgain if the cache can't be written; then the workspace is as before.
    """
    found = Found([], [])
    if not os.path.isdir(workspace.folder):
        return found
    borrowed = cache.git_dir if workspace.url else None
    with cache.locked():
        for number, tree in enumerate(_trees(workspace.folder, found.wrong)):
            flaw = flaw_of(tree.git_dir, workspace.folder, borrowed)
            if flaw:
                found.wrong.append(f"{tree.folder}: {flaw}")
                if number == 0:  # those within it may borrow from it
                    break
                continue
            reader = _Reader(workspace, cache, tree, number)
            try:
                reader.keep(with_ignored=with_ignored)
            except (GitFailed, GitTimeout, OSError) as error:
                found.wrong.append(f"{tree.folder}: {error}")
            found.wrong.extend(reader.wrong)
        found.kept.extend(kept_of(workspace, cache))
    return found


class _Tree(NamedTuple):
    """A repository in a workspace: its files, and git's own folder; "" where there is no repository."""

    folder: str
    git_dir: str


def _trees(folder: str, wrong: list[str]) -> Iterator[_Tree]:
    """Yield the workspace, and every repository within it: submodules, and those that somebody cloned there.

    `wrong` gets what can't be looked into: git itself only warns of a folder that it can't read.
    """
    yield _Tree(folder, os.path.join(folder, ".git") if os.path.lexists(os.path.join(folder, ".git")) else "")
    left = _MOST_REPOSITORIES
    for above, folders, names in os.walk(folder, onerror=lambda error: wrong.append(str(error))):
        if above != folder and (".git" in folders or ".git" in names):
            if not left:
                wrong.append(f"{folder}: it has more than {_MOST_REPOSITORIES} repositories within it")
                return
            left -= 1
            yield _Tree(above, _git_dir_of(above))
        folders[:] = [name for name in folders if name != ".git"]


def _git_dir_of(folder: str) -> str:
    """Return git's folder of a repository; a submodule's `.git` is a file that names it."""
    path = os.path.join(folder, ".git")
    if os.path.isfile(path) and not os.path.islink(path):
        with contextlib.suppress(OSError, UnicodeDecodeError), open(path, encoding="utf-8") as file:
            words = file.read(4096)
            if words.startswith("gitdir: "):
                return os.path.normpath(os.path.join(folder, words[8:].strip()))
    return path


def flaw_of(git_dir: str, workspace: str, borrowed: str | None) -> str:
    """Return why a repository can't be read safely: it leads out of the workspace. `borrowed`: whose objects it may use.

    One within the workspace may also use the workspace's own, which are looked at first.
    """
    if not git_dir:
        return ""
    inside = os.path.join(os.path.realpath(workspace), "")
    if not os.path.isdir(git_dir) or not os.path.realpath(git_dir).startswith(inside):
        return "its .git leads out of the workspace"
    if os.path.islink(git_dir) or os.path.lexists(os.path.join(git_dir, "commondir")):
        return "its .git is not a repository's own"
    for top in ("objects", "refs", "HEAD", "packed-refs", "index"):
        if os.path.islink(os.path.join(git_dir, top)):
            return f"its .git/{top} is a link"
    for top in ("objects", "refs"):
        for above, folders, names in os.walk(os.path.join(git_dir, top)):
            link = next((name for name in (*folders, *names) if os.path.islink(os.path.join(above, name))), None)
            if link:
                return f"{os.path.join(above, link)} is a link"
    path = os.path.join(git_dir, "objects", "info", "alternates")
    if not os.path.lexists(path):
        return ""
    if not os.path.isfile(path):  # a pipe might never end
        return "its .git/objects/info/alternates is no file"
    try:
        with open(path, encoding="utf-8") as file:
            lines = file.read().split("\n")
    except (OSError, UnicodeDecodeError):
        return "its .git/objects/info/alternates can't be read"
    allowed = {"", os.path.join(workspace, ".git", "objects")} | ({os.path.join(borrowed, "objects")} if borrowed else set())
    return "" if allowed.issuperset(lines) else "it borrows objects of another repository"


class _Reader:
    """Reads one repository of a workspace into the cache."""

    def __init__(self, workspace: Workspace, cache: Cache, tree: _Tree, number: int) -> None:
        self._workspace, self._cache, self._tree, self._number = workspace, cache, tree, number
        self.wrong: list[str] = []

    def ref(self, kind: str, name: str) -> str:
        """Return the ref for something of a kind; of a repository within the workspace all kinds are below `submodules`."""
        inner = f"submodules/{self._number}-{kind}" if self._number else kind
        return f"{self._workspace.kept_refs}{inner}/{name}"

    def keep(self, *, with_ignored: bool) -> None:
        named = self._refs()
        self._fetch({oid: self.ref(kind, name) for (kind, name), oid in named.items()})
        lost = {oid: self.ref(kind, oid[:16]) for kind, oid in self._logged() if oid not in named.values()}
        self._fetch(lost, may_be_gone=True)
        _drop_pushed(self._workspace, self._cache)
        self._keep_files(with_ignored=with_ignored)

    # --- commits ---

    def _refs(self) -> dict[tuple[str, str], str]:
        """Return the refs of the repository, by kind and name."""
        if not self._tree.git_dir:
            return {}
        out = self._cache.run("ls-remote", "--quiet", self._tree.git_dir)[1]
        refs = {ref: oid for oid, tab, ref in (line.partition("\t") for line in out.splitlines()) if tab}
        found: dict[tuple[str, str], str] = {}
        for ref, oid in refs.items():
            kind, _, name = ref.removeprefix("refs/").partition("/")
            if ref.endswith("^{}") or kind in ("remotes", "tags"):
                continue
            if ref == f"refs/heads/{self._workspace.branch}":
                found["commits", "branch"] = oid
            elif kind == "heads":
                found["branches", name] = oid
            elif ref == "refs/stash":
                found["stashes", "0"] = oid
            elif ref == "HEAD" and oid not in {other for name, other in refs.items() if name.startswith("refs/heads/")}:
                found["detached", "HEAD"] = oid
            elif ref != "HEAD":
                found["branches", f"other/{kind}/{name}".rstrip("/")] = oid
        return found

    def _logged(self) -> Iterator[tuple[str, str]]:
        """Yield commits that were checked out or stashed once, by git's own logs: no ref may name them any more."""
        logs = os.path.join(self._tree.git_dir, "logs")
        seen = set()
        paths = [("stashes", os.path.join(logs, "refs", "stash")), ("detached", os.path.join(logs, "HEAD"))]
        for above, folders, names in os.walk(os.path.join(self._tree.git_dir, "worktrees")) if self._tree.git_dir else ():
            folders[:] = [name for name in folders if not os.path.islink(os.path.join(above, name))]
            paths += [("detached", os.path.join(above, name)) for name in names if name == "HEAD"]
        for kind, path in paths if self._tree.git_dir else ():
            if os.path.islink(path) or not os.path.isfile(path):
                continue
            with open(path, encoding="utf-8", errors="replace") as file:
                lines = file.read(5_000_000).split("\n")[-_LOG_LINES:]
            for line in reversed(lines):
                words = line.split(" ")
                oid = words[1] if len(words) > 1 else words[0]
                if _OID.match(oid) and oid.strip("0") and oid not in seen:
                    seen.add(oid)
                    yield kind, oid

    def _fetch(self, wanted: dict[str, str], *, may_be_gone: bool = False) -> None:
        """Fetch commits into refs of the cache, those that are pushed already left out."""
        here = self._cache.has([*wanted])
        unpushed = self._cache.unpushed([*here])
        missing = {oid: ref for oid, ref in wanted.items() if oid not in here}
        self._cache.repo.update_refs([(wanted[oid], oid, None) for oid in sorted(here & unpushed)])
        try:
            self._fetch_from(missing)
        except GitFailed:
            if not may_be_gone:
                raise
            for oid, ref in missing.items():  # git may have removed some, each fetched by itself shows which
                with contextlib.suppress(GitFailed):
                    self._fetch_from({oid: ref})

    def _fetch_from(self, wanted: dict[str, str]) -> None:
        self._cache.fetch_from(self._tree.git_dir, wanted)

    # --- files ---

    def _keep_files(self, *, with_ignored: bool) -> None:
        """Keep the work tree as a commit on top of HEAD, if it differs, and the ignored files as another."""
        with tempfile.TemporaryDirectory(prefix="bd-index-") as folder:
            env = self._environment(os.path.join(folder, "index"))
            head = self._head()
            self._take_index(env, head)
            staged = self._staged(env)
            code, _, words = self._run(env, "add", "-A", "--ignore-errors", "--", ".", check=False)
            if code and not self._is_harmless(words):
                self.wrong.append(
                    f"{self._tree.folder}: {words.strip().splitlines()[-1] if words.strip() else 'unreadable files'}"
                )
            names = self._changes(env, head)
            tree = self._run(env, "write-tree")[1].strip() if names else self._tree_of(env, head)
            if names:
                self._keep_commit(env, tree, head, names)
            if staged not in ("", tree) and staged != self._tree_of(env, head):
                self._keep_commit(env, staged, head, {"uncommitted"}, "index")
            if with_ignored:
                self._keep_ignored(env, os.path.join(folder, "ignored"))

    def _environment(self, index: str) -> dict[str, str]:
        """Return the variables by which git reads the work tree: new objects go where the repository keeps its own."""
        env = {"GIT_INDEX_FILE": index, **AUTHOR}
        if self._tree.git_dir:
            env["GIT_OBJECT_DIRECTORY"] = os.path.join(self._tree.git_dir, "objects")
            env["GIT_ALTERNATE_OBJECT_DIRECTORIES"] = os.path.join(self._cache.git_dir, "objects")
        return env

    def _run(self, env: dict[str, str], *args: str, data: bytes | None = None, check: bool = True) -> tuple[int, str, str]:
        place = ("--git-dir", self._cache.git_dir, "--work-tree", self._tree.folder, "-C", self._tree.folder)
        settings = [
            "-c",
            "core.bare=false",
            "-c",
            "core.fsmonitor=false",
            "-c",
            "core.untrackedCache=false",
            "-c",
            "advice.addEmbeddedRepo=false",
        ]
        if not self._number and os.path.exists(self._workspace.exclude_file):
            settings += ["-c", f"core.excludesFile={self._workspace.exclude_file}"]
        return self._cache.run(*settings, *place, *args, data=data, check=check, env={**env, "GIT_LFS_SKIP_SMUDGE": "1"})

    def _head(self) -> str | None:
        """Return the commit that is checked out."""
        if not self._tree.git_dir:
            return None
        out = self._cache.run("ls-remote", "--quiet", self._tree.git_dir, "HEAD")[1]
        oid = out.partition("\t")[0]
        return oid if _OID.match(oid) else None

    def _take_index(self, env: dict[str, str], head: str | None) -> None:
        """Begin with a copy of the repository's index, which knows what has not changed; else with HEAD.

        Files that git was told to overlook are looked at, too.
        """
        index = os.path.join(self._tree.git_dir, "index") if self._tree.git_dir else ""
        if index and os.path.isfile(index) and not os.path.islink(index):
            shutil.copyfile(index, env["GIT_INDEX_FILE"])
            code, listed, _ = self._run(env, "ls-files", "-v", "-z", check=False)
            if code == 0:
                self._overlook_nothing(env, listed)
                return
            os.unlink(env["GIT_INDEX_FILE"])
        self._run(env, "read-tree", head or "--empty")

    def _overlook_nothing(self, env: dict[str, str], listed: str) -> None:
        """Unset the flags by which git overlooks changes, except of files that a sparse checkout has left out."""
        marks = [(line[:1], line[2:]) for line in listed.split("\0") if line[:1] in "hsmS" and line]
        skipped = [name for mark, name in marks if mark in "sS" and os.path.lexists(os.path.join(self._tree.folder, name))]
        unchanged = [name for mark, name in marks if mark != "S"]
        for flag, names in (("--no-skip-worktree", skipped), ("--no-assume-unchanged", unchanged)):
            if names:
                data = b"".join(os.fsencode(name) + b"\0" for name in names)
                self._run(env, "update-index", flag, "-z", "--stdin", data=data)

    def _staged(self, env: dict[str, str]) -> str:
        """Return the tree that the index stands for, which may differ from the files; "" in the middle of a merge."""
        code, out, _ = self._run(env, "write-tree", check=False)
        return "" if code else out.strip()

    def _tree_of(self, env: dict[str, str], head: str | None) -> str:
        """Return the tree of a commit; without one, the empty tree."""
        args = ("rev-parse", "--verify", f"{head}^{{tree}}") if head else ("hash-object", "-t", "tree", os.devnull)
        return self._run(env, *args)[1].strip()

    def _changes(self, env: dict[str, str], head: str | None) -> set[str]:
        """Return the kinds of changes in the index against HEAD."""
        if head is None:
            return {"untracked"} if self._run(env, "ls-files", "--cached", "-z")[1] else set()
        out = self._run(env, "diff-index", "--cached", "--no-renames", "--name-status", "-z", "--ignore-submodules=none", head)[1]
        status = out.split("\0")[::2]
        return {"untracked" if word == "A" else "uncommitted" for word in status if word}

    def _keep_commit(self, env: dict[str, str], tree: str, head: str | None, kinds: set[str], name: str = "files") -> None:
        parents = ("-p", head) if head else ()
        words = f"Left uncommitted by attempt {self._workspace.attempt} on {self._workspace.bead}"
        oid = self._run(env, "commit-tree", tree, *parents, "-m", words)[1].strip()
        for kind in sorted(kinds):
            if self._tree.git_dir:
                self._fetch_from({oid: self.ref(kind, name)})
            else:
                self._cache.repo.update_refs([(self.ref(kind, name), oid, None)])

    def _keep_ignored(self, env: dict[str, str], index: str) -> None:
        """Keep the files that git ignores, unless there is too much of them."""
        out = self._run(env, "ls-files", "--others", "--ignored", "--exclude-standard", "-z")[1]
        copied = self._copied()
        names = [name for name in out.split("\0") if name and name not in copied]
        size = sum(os.lstat(path).st_size for name in names if os.path.lexists(path := os.path.join(self._tree.folder, name)))
        if size > IGNORED_LIMIT:
            self.wrong.append(f"{self._tree.folder}: {size // 10**6} MB of ignored files are too much to set aside")
        elif names:
            own = {**env, "GIT_INDEX_FILE": index}
            with tempfile.NamedTemporaryFile(prefix="bd-names-") as listed:
                listed.write(b"\0".join(os.fsencode(name) for name in names))
                listed.flush()
                self._run(own, "add", "-f", f"--pathspec-from-file={listed.name}", "--pathspec-file-nul")
            self._keep_commit(own, self._run(own, "write-tree")[1].strip(), None, {"ignored"})

    def _copied(self) -> set[str]:
        """Return the files that bd itself put there."""
        try:
            with open(self._workspace.exclude_file, encoding="utf-8") as file:
                return set() if self._number else {line.removeprefix("/") for line in file.read().splitlines()}
        except OSError:
            return set()

    @staticmethod
    def _is_harmless(words: str) -> bool:
        """Return whether git's only complaint is about repositories without a commit, whose files are kept by themselves."""
        lines = [line for line in words.splitlines() if line.startswith(("error:", "fatal:"))]
        return bool(lines) and all(
            "does not have a commit checked out" in line or "adding files failed" in line for line in lines
        )


def drop(workspace: Workspace, cache: Cache) -> int:
    """Forget what was set aside of an attempt. Return the number of its refs."""
    kept = kept_of(workspace, cache)
    cache.repo.update_refs([(one.ref, None, one.oid) for one in kept])
    _drop_start(workspace, cache)
    return len(kept)


def forget_if_empty(workspace: Workspace, cache: Cache) -> bool:
    """Forget a workspace whose folder is gone, unless something of it is set aside and not pushed. Return whether it is forgotten."""
    if kept_of(workspace, cache):
        _drop_pushed(workspace, cache)
        if kept_of(workspace, cache):
            return False
    _drop_start(workspace, cache)
    workspace.forget()
    return True


def _drop_pushed(workspace: Workspace, cache: Cache) -> None:
    """Remove those refs of an attempt whose commits another one has, or the remote."""
    kept = cache.repo.refs(workspace.kept_refs.rstrip("/"))
    unpushed = cache.unpushed([*{*kept.values()}])
    gone = [ref for ref, oid in kept.items() if oid not in unpushed]
    lost = {ref: oid for ref, oid in kept.items() if "/detached/" in ref or "-detached/" in ref}
    others = [oid for ref, oid in kept.items() if ref not in lost and "uncommitted" not in ref]
    if lost and others:
        lines = "".join(f"{line}\n" for line in (*lost.values(), *(f"^{oid}" for oid in others))).encode()
        alone = {*cache.run("rev-list", "--stdin", data=lines)[1].split()}
        gone += [ref for ref, oid in lost.items() if oid not in alone and ref not in gone]
    cache.repo.update_refs([(ref, None, kept[ref]) for ref in gone])


def _drop_start(workspace: Workspace, cache: Cache) -> None:
    """Forget the merge with which an attempt began."""
    start = cache.repo.ref(workspace.start_ref)
    cache.repo.update_refs([(workspace.start_ref, None, start)] if start else [])
