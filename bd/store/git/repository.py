"""Git commands as typed methods, and the translation of every git error. It starts git; apart from it only discovery.py does.

Reads and claims use git's plumbing: `cat-file --batch`, `fast-import`, `diff-tree -z` and `push --porcelain` each do in one
process what porcelain does in five, and cost less than importing GitPython, which only create.py uses.

Settings and variables are in environment.py, running a process in process.py. Every process has a time-out.
"""

from __future__ import annotations

import os

from bd import TYPE_CHECKING
from bd.core import files
from bd.core.errors import BadInput, BdError, Damaged, NoHub, TryAgain
from bd.store.contract import ZERO, Entry
from bd.store.git.environment import NO_WATCHER, QUIET, UPDATES_CHECKOUT, environment
from bd.store.git.objects import LooseWriter, ObjectReader
from bd.store.git.porcelain import difference, is_ref, local_refs, tree_entries
from bd.store.git.process import start
from bd.store.object_names import is_oid

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from bd.store.contract import Draft
    from bd.store.git.process import Process

FETCH_FLAGS = ("--no-tags", "--refmap=", "--no-write-fetch-head", "--no-recurse-submodules")
GITLINK = "160000"  # the mode of a submodule
# A change of more files than this goes through fast-import.
LOOSE_LIMIT = 40
# Limit for a listing of a hub's files, in bytes: a few trees that contain each other many times could be endless.
_LISTING_LIMIT = 256_000_000


class GitFailed(TryAgain):
    """A git process that failed. The store handles it where it knows the meaning; elsewhere it is exit 6."""

    def __init__(self, args: Sequence[str], status: int, stderr: str) -> None:
        super().__init__(f"git {args[0] if args else ''}: {stderr.strip() or _ended(status)}", hint="git's own words say why")
        self.status = status
        self.stderr = stderr


def _ended(status: int) -> str:
    return f"exit {status}" if status >= 0 else f"ended by signal {-status}"


class GitTimeout(TryAgain):
    """A git process that was silent for too long, and was killed."""


def refspec(source: str, target: str) -> str:
    """Return `source:target`. All refspecs are made here: an empty object name, which would delete, is refused."""
    if not is_oid(source) and not is_ref(source):
        raise BadInput(f"{source!r} is not an object or ref")
    if not is_ref(target):
        raise BadInput(f"{target!r} is not a ref")
    return f"{source}:{target}"


def every_ref(source: str, target: str) -> str:
    """Return the refspec that fetches all refs starting with `source` to the same names below `target`; both are bd's own."""
    if not all(start.startswith("refs/bd/") and is_ref(f"{start}x") for start in (source, target)):
        raise BadInput(f"{source!r} is not bd's to fetch")
    return f"{source}*:{target}*"


def deletion(target: str) -> str:
    """Return the refspec that deletes a side ref. Only bd's own refs may ever be deleted."""
    if not target.startswith("refs/bd/") or not is_ref(target):
        raise BadInput(f"{target!r} is not bd's to delete")
    return f":{target}"


class GitRepo:
    """One repository: its git folder, its common folder and its work tree."""

    def __init__(self, git_dir: str, common_dir: str, work_tree: str | None, *, timeout_s: float = 60.0) -> None:
        self.git_dir = git_dir
        self.common_dir = common_dir
        self.work_tree = work_tree
        self.timeout_s = timeout_s
        self._objects: ObjectReader | None = None
        self._env: dict[str, str] | None = None
        self.ssh_command = ""

    @property
    def env(self) -> dict[str, str]:
        if self._env is None:
            self._env = environment(self.ssh_command)
        return self._env

    # --- running ---

    def command(self, args: Sequence[str]) -> list[str]:
        place = ["-C", self.work_tree or self.git_dir, "--git-dir", self.git_dir]
        if self.work_tree:
            place += ["--work-tree", self.work_tree]
        return ["git", *place, *QUIET, *(() if args[0] in UPDATES_CHECKOUT else NO_WATCHER), *args]

    def spawn(self, args: Sequence[str], *, stdin: bool = False, env: Mapping[str, str] | None = None) -> Process:
        """Start a git process with piped streams."""
        if args[0] == "diff-tree":  # it reads the whole index first, without using it to compare trees
            env = {"GIT_INDEX_FILE": os.path.join(self.git_dir, "bd-no-index")}
        try:
            return start(self.command(args), {**self.env, **env} if env else self.env, stdin=stdin)
        except FileNotFoundError as error:
            raise NoHub(f"can't run git: {error}", hint="install git 2.31 or newer") from error

    def finish(
        self,
        process: Any,
        args: Sequence[str],
        data: bytes | None = None,
        *,
        at_most: int | None = None,
        meanwhile: Callable[[], None] | None = None,
    ) -> tuple[int, bytes, str]:
        """Wait for a process. Return its exit code, output and error text. `meanwhile` is called first, for something short.

        Raises GitTimeout, or BufferError for too much output, after killing it.
        """
        try:
            if meanwhile is not None:
                meanwhile()
            out, err = process.communicate(data, self.timeout_s, at_most)
        except TimeoutError:
            process.kill()
            process.close()
            raise GitTimeout(f"git {args[0]} made no progress for {self.timeout_s:.0f} s") from None
        except BaseException:
            process.kill()
            process.close()
            raise
        return process.wait(), out, err.decode("utf-8", "replace")

    def run(
        self, *args: str, data: bytes | None = None, check: bool = True, env: Mapping[str, str] | None = None
    ) -> tuple[int, bytes, str]:
        """Run git to its end. With `check`, raises GitFailed for any exit code but 0."""
        code, out, err = self.finish(self.spawn(args, stdin=data is not None, env=env), args, data)
        if check and code:
            raise GitFailed(args, code, err)
        return code, out, err

    # --- objects and refs ---

    @property
    def objects(self) -> ObjectReader:
        """The one object reader of this command."""
        if self._objects is None:
            self._objects = ObjectReader(self)
        return self._objects

    def close(self) -> None:
        """End helper processes."""
        if self._objects is not None:
            self._objects.close()
            self._objects = None

    def ref(self, name: str) -> str | None:
        """Return the object that a ref names, from its file or from packed-refs; None if there is no such ref."""
        for folder in dict.fromkeys((self.git_dir, self.common_dir)):
            try:
                with open(os.path.join(folder, name), encoding="utf-8") as file:
                    text = file.read().strip()
            except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
                continue
            if text.startswith("ref: "):
                return self.ref(text[5:])
            if is_oid(text):
                return text
        try:
            with open(os.path.join(self.common_dir, "packed-refs"), encoding="utf-8") as file:
                for line in file:
                    oid, _, rest = line.rstrip("\n").partition(" ")
                    if rest == name:
                        return oid
        except FileNotFoundError:
            pass
        if self.has_reftable():
            code, out, _ = self.run("rev-parse", "--verify", "--quiet", "--end-of-options", name, check=False)
            return out.decode().strip() if code == 0 else None
        return None

    def has_reftable(self) -> bool:
        """Return whether refs are kept in reftables instead of files."""
        return os.path.isdir(os.path.join(self.common_dir, "reftable"))

    def refs(self, prefix: str) -> dict[str, str]:
        """Return all refs below a prefix."""
        _, out, _ = self.run("for-each-ref", "--format=%(refname) %(objectname)", prefix)
        return local_refs(out)

    def head_branch(self) -> str | None:
        """Return the branch that is checked out here, as a full ref; None if HEAD is detached."""
        with open(os.path.join(self.git_dir, "HEAD"), encoding="utf-8") as file:
            text = file.read().strip()
        return text[5:] if text.startswith("ref: ") else None

    def update_refs(self, updates: Iterable[tuple[str, str | None, str | None]]) -> None:
        """Set refs in one transaction: (name, new, old). New None deletes; old None expects nothing, old ZERO expects no ref.

        Refs below refs/bd/ only under the clone's lock. Raises GitFailed if a ref is not what was expected; then none has changed.
        """
        lines, leftovers = [], []
        for name, new, old in updates:
            # Only bd locks these, and only while it has the clone's lock: a lock that stays was left by a dead command.
            if name.startswith("refs/bd/"):
                leftovers.append(os.path.join(self.common_dir, f"{name}.lock"))
            if new is None:
                lines.append(f"delete {name}" + (f" {old}" if old else ""))
            elif old == ZERO:  # written out, it would need the length of the repository's hash
                lines.append(f"create {name} {new}")
            else:
                lines.append(f"update {name} {new}" + (f" {old}" if old else ""))
        if not lines:
            return
        data = ("\n".join(lines) + "\n").encode()
        try:
            self.run("update-ref", "--stdin", data=data)
        except GitFailed:
            leftovers = [path for path in leftovers if os.path.exists(path)]
            if not leftovers:
                raise
            for path in leftovers:
                os.unlink(path)
            self.run("update-ref", "--stdin", data=data)

    def set_private_refs(self, values: Mapping[str, str]) -> None:
        """Set refs below refs/bd/ that only bd writes, under the clone's lock: as plain files, without a process."""
        if self.has_reftable():
            self.update_refs([(name, oid, None) for name, oid in values.items()])
            return
        for name, oid in values.items():
            files.replace(os.path.join(self.common_dir, name), f"{oid}\n", suffix=".lock")  # git ignores files with this suffix

    def commit_of(self, text: str) -> str | None:
        """Return the commit that a revision names; None if there is none."""
        args = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{text}^{{commit}}")
        code, out, _ = self.run(*args, check=False)
        return out.decode().strip() if code == 0 else None

    def is_ancestor(self, older: str, newer: str) -> bool:
        """Return whether `older` is `newer` or in its history, as far as this clone has it. Raises GitFailed."""
        if older == newer:
            return True
        args = ("merge-base", "--is-ancestor", older, newer)
        code, _, err = self.run(*args, check=False)
        # Any other status is no answer, and must not pass for "no"; unless a commit is not in this clone.
        if code not in (0, 1) and None not in self.objects.read_many([older, newer]):
            raise GitFailed(args, code, err)
        return code == 0

    def commits_between(self, older: str | None, newer: str, *, without: Iterable[str] = ()) -> list[str]:
        """Return the commits of `newer` that are in neither `older` nor `without`, oldest first."""
        args = ["rev-list", "--reverse", "--topo-order", newer]
        args += [f"^{commit}" for commit in (older, *without) if commit]
        _, out, _ = self.run(*args)
        return out.decode().split()

    def diff(self, old: str | None, new: str, *paths: str) -> list[Entry]:
        """Return the files in which two commits differ, as they are in the newer one. With `old` None, every file."""
        where = ["--", *paths] if paths else []
        if old is None:
            return tree_entries(self._listing("ls-tree", "-r", "-z", "--full-tree", new, *where))
        return difference(self._listing("diff-tree", "-r", "-z", "--no-renames", "--raw", "--full-index", old, new, *where))

    def _listing(self, *args: str) -> bytes:
        """Return the output of a listing command. Raises GitFailed, GitTimeout, and Damaged for more than any hub holds."""
        try:
            code, out, err = self.finish(self.spawn(args), args, at_most=_LISTING_LIMIT)
        except BufferError:
            hint = "look at its trees with `git ls-tree`"
            raise Damaged("the hub lists an impossible number of files", hint=hint) from None
        if code:
            raise GitFailed(args, code, err)
        return out

    def messages(self, tip: str, since: Sequence[str]) -> Iterator[tuple[str, str]]:
        """Yield (commit, message) of the commits in `tip` and not in the common history of `since`, newest first.

        As far as this clone has them: a shallow clone lacks some. Raises GitFailed.
        """
        there = [commit for commit, data in zip(since, self.objects.read_many(since), strict=True) if data is not None]
        if len(there) > 1:
            there = self.run("merge-base", "--octopus", *there, check=False)[1].decode().split()
        args = ("log", "-z", "--format=%H%n%B", tip, *(f"^{commit}" for commit in there))
        code, out, err = self.run(*args, check=False)
        if code and self.objects.read(tip) is not None:
            raise GitFailed(args, code, err)
        for record in out.decode("utf-8", "replace").split("\0"):
            commit, _, text = record.partition("\n")
            if commit:
                yield commit, text

    def ever_had(self, commit: str, path: str) -> bool:
        """Return whether the path ever existed, in all of a commit's history."""
        return bool(self.run("rev-list", "--max-count=1", "--full-history", commit, "--", path)[1])

    @property
    def is_shallow(self) -> bool:
        """Return whether history is cut off somewhere."""
        return os.path.exists(os.path.join(self.common_dir, "shallow"))

    def shallow_commits(self) -> list[str]:
        """Return the commits whose parents are cut off; none in a complete clone."""
        try:
            with open(os.path.join(self.common_dir, "shallow"), encoding="ascii") as file:
                return file.read().split()
        except FileNotFoundError:
            return []

    def fetched_at_s(self, remote: str) -> float | None:
        """Return when plain git last fetched, or cloned, in seconds since the epoch; None if that is unknown."""
        paths = [os.path.join(self.common_dir, name) for name in ("FETCH_HEAD", f"refs/remotes/{remote}/HEAD")]
        found = [os.stat(path).st_mtime for path in paths if os.path.exists(path)]
        return max(found, default=None)

    # --- writing objects ---

    def write_object(self, kind: str, data: bytes, length: int) -> str:
        """Store one object; return its name, of `length` hex digits. Raises OSError, and GitFailed if nothing can be written."""
        writer = LooseWriter(self)
        if writer.is_usable():
            return writer.write(kind.encode(), data, length)
        return self.run("hash-object", "-w", "-t", kind, "--stdin", data=data)[1].decode().strip()

    def write_commits(self, base: str | None, drafts: Sequence[Draft]) -> list[str]:
        """Store a chain of commits on top of `base`, without index or work tree. Return their names.

        Raises TryAgain (disk full, read-only clone) and Damaged.
        """
        writer = LooseWriter(self)
        if not base or sum(len(draft.files) for draft in drafts) > LOOSE_LIMIT or not writer.is_usable():
            return (self._signed_commits if any(draft.sign for draft in drafts) else self._import_commits)(base, drafts)
        made: list[str] = []
        try:
            for draft in drafts:
                made.append(writer.commit(made[-1] if made else base, draft))
        except OSError as error:
            raise disk_error(str(error)) from error
        return made

    def _signed_commits(self, base: str | None, drafts: Sequence[Draft]) -> list[str]:
        """Store commits one by one, signing each after git has made it: fast-import can't sign."""
        made: list[str] = []
        for draft in drafts:
            name = self.write_commits(made[-1] if made else base, [draft.replace(sign=None)])[0]
            if draft.sign:
                data = draft.sign(self.objects.read(name) or b"")
                name = self.run("hash-object", "-t", "commit", "-w", "--stdin", data=data)[1].decode().strip()
            made.append(name)
        return made

    def _import_commits(self, base: str | None, drafts: Sequence[Draft]) -> list[str]:
        """Store commits with one `fast-import`, through a private ref that is removed afterwards."""
        ref = f"refs/bd/pending-{os.getpid()}"
        stream: list[bytes] = []
        for number, draft in enumerate(drafts, start=1):
            message = draft.message.encode()
            stream.append(b"commit %s\nmark :%d\n" % (ref.encode(), number))
            stream.append(b"author %s %d +0000\n" % (draft.author.encode(), draft.at_s))
            stream.append(b"committer %s %d +0000\n" % (draft.author.encode(), draft.placed_s))
            stream.append(b"data %d\n%s\n" % (len(message), message))
            if number > 1:
                stream.append(b"from :%d\n" % (number - 1))
            elif base:
                stream.append(b"from %s\n" % base.encode())
            for path, content in draft.files.items():
                name = path.encode("utf-8", "surrogateescape")
                if any(char in name for char in b'\n"\\'):
                    raise BadInput(f"{path!r} can't be a file of a hub")
                if content is None:
                    stream.append(b"D %s\n" % name)
                elif (mode := draft.modes.get(path, "100644")) == GITLINK:
                    stream.append(b"M %s %s %s\n" % (mode.encode(), content, name))
                else:
                    stream.append(b"M %s inline %s\ndata %d\n%s\n" % (mode.encode(), name, len(content), content))
            stream.append(b"\nget-mark :%d\n" % number)
        # Without `from`, a first commit would continue from wherever the ref was left.
        reset = b"reset %s\n" % ref.encode() + (b"from %s\n\n" % base.encode() if base else b"\n")
        data = reset + b"".join(stream) + b"done\n"
        try:
            _, out, _ = self.run("fast-import", "--quiet", "--done", "--force", "--date-format=raw", data=data)
        except GitFailed as error:
            if error.status < 0:
                raise
            raise disk_error(error.stderr) from error
        self.update_refs([(ref, None, None)])
        return out.decode().split()

    # --- the remote ---

    def start_fetch(self, remote: str, branch: str, target: str, *more: str) -> Any:
        """Start fetching a branch into a private ref: no tags, no FETCH_HEAD, never forced. `more` are further refspecs."""
        spec = refspec(branch, target)
        # Not --quiet: then git would not report a tip that was rejected because it does not descend from the last one.
        args = ("fetch", "--progress", *FETCH_FLAGS)
        return self.spawn([*args, "--end-of-options", remote, spec, *more])

    # --- settings ---

    def settings(self) -> dict[str, list[str]]:
        """Return git's configuration for this repository: all values of every key."""
        _, out, _ = self.run("config", "--list", "-z")
        found: dict[str, list[str]] = {}
        for record in out.decode("utf-8", "replace").split("\0")[:-1]:
            key, _, value = record.partition("\n")
            found.setdefault(key, []).append(value)
        return found


def disk_error(words: str) -> BdError:
    """Translate a failed write into this clone."""
    text = words.strip()
    lowered = text.lower()
    if any(sign in lowered for sign in ("no space left", "disk quota", "file too large")):
        return TryAgain(f"this clone's disk is full: {text.splitlines()[-1]}", hint="make room, then try again")
    if "permission denied" in lowered or "read-only file system" in lowered:
        return TryAgain(f"this clone can't be written: {text.splitlines()[-1]}", hint="check the permissions of its .git folder")
    return Damaged(f"git could not write: {text.splitlines()[-1] if text else 'no words'}", hint="`git fsck` tells more")
