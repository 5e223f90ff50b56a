"""The hub as one clone holds it: its view, its snapshots, its lock. Only driver.py moves the hub branch.

The view is a private ref: the last published tip plus what this clone has not published yet. Without a remote it is the hub
branch itself. Reads never use the checked-out branch or the working tree.

Many imports are in functions: a claim starts its fetch first, and imports the rest while that runs.
"""

from __future__ import annotations

import json
import os
from contextlib import ExitStack, suppress
from functools import cached_property

from bd import TYPE_CHECKING
from bd.core import times
from bd.core.errors import NoHub, NotFound, TryAgain
from bd.core.json_shapes import MAYBE_TEXT, fits, json_value
from bd.core.schema import CONFIG_PATH
from bd.core.settings import early, from_environment, merge
from bd.store import format_version
from bd.store.cache.cache import Cache
from bd.store.contract import PUBLISHED, VIEW, ZERO
from bd.store.git import commit_message
from bd.store.hub_location import Place
from bd.store.local.last_fetch import LastFetch
from bd.store.snapshot import CachedSnapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from datetime import datetime
    from typing import Any

    from bd.core.operation import Operation
    from bd.core.queries import Derivation
    from bd.core.runtime import Runtime
    from bd.core.settings import Settings
    from bd.store.contract import Journal, Lock, Remote
    from bd.store.heartbeat.side_refs import SideRefs
    from bd.store.worktree.worktree import Worktree

_TRACKED = "tracked"
_EARLY = "early-settings.json"
HEARD = "heard.json"
NEVER = "1970-01-01T00:00:00Z"


class Replica:
    """An opened hub on one machine (`runtime`).

    `flags` is the top layer of settings; `on_progress(done, of, what)` reports long work. `cache` is a `SharedCache`, where many
    clones of one process share what they have read.
    """

    def __init__(
        self,
        place: Place,
        runtime: Runtime,
        flags: Mapping[str, Any] | None = None,
        *,
        on_progress: Callable[[int, int, str], None] | None = None,
        on_wait: Callable[[], None] | None = None,
        on_note: Callable[[str], None] | None = None,
        derivations: Sequence[Derivation] = (),
        cache: Any = None,
    ) -> None:
        self.place = place
        self.runtime = runtime
        self.derivations = derivations
        self.repo = place.repo
        self.local = place.local_state(runtime)
        self.flags = dict(flags or {})
        self.on_progress = on_progress
        self.on_wait = on_wait
        self.on_note = on_note  # called with notes that must be shown even if the command ends with an error
        self.on_state: Callable[[str], None] | None = None  # called with each state of a write, for `bd -v`
        self.on_written: Callable[[], None] | None = None  # called after every write and every sync of this process
        self.on_tried: Callable[[], None] | None = None  # called after every attempt to write or sync
        self._cache: Cache | None = cache
        self._memory: list[Cache] = []
        self._held: Lock | None = None
        # True if the last fetch was a moment ago when the lock was taken: then a write may push before it fetches.
        self.was_fresh = False
        # True if the last fetch showed an older tip than this clone had seen there.
        self.lags = False
        # The requests of other clones at the last fetch, by uid.
        self.requests: Mapping[str, str] = {}
        self.looked = LastFetch(self.local, runtime)
        # The last known tip of the hub when the lock was taken.
        self.published_before: str | None = None
        self._said: dict[str, Any] | None = None
        self._early: dict[str, Any] | None = None
        # The layers that were merged last without a snapshot (True) and with one, and their settings: a command asks several times.
        self._merged: dict[bool, tuple[list[dict[str, Any]], Settings]] = {}

    def close(self) -> None:
        """End helper processes, release the lock and close the cache."""
        self.end_write()
        for cache in [self._cache, *self._memory]:
            if cache is not None:
                cache.close()
        self.repo.close()

    @cached_property
    def remote(self) -> Remote:
        """The server that the hub is shared through."""
        return self.place.connect(self.runtime)

    @cached_property
    def sides(self) -> SideRefs:
        """The side refs."""
        from bd.store.heartbeat.side_refs import SideRefs  # noqa: PLC0415  most commands need none of it

        self.repo.timeout_s = self.settings().git_timeout  # a heartbeat takes no lock, which would set this
        return SideRefs(self.repo, self.remote, self.local, self.place.url or self.remote_name, self.runtime)

    @cached_property
    def worktree(self) -> Worktree | None:
        """The hub branch's files; None if there can be none."""
        return self.place.worktree(self.runtime)

    @property
    def journal(self) -> Journal:
        """The operations that this clone has begun and not yet settled."""
        return self.local.journal

    # --- where things are ---

    @property
    def checkout(self) -> str:
        """The folder of this clone's files; git's own where it has none."""
        return self.repo.work_tree or self.repo.common_dir

    @property
    def branch(self) -> str:
        return self.place.branch

    @property
    def branch_name(self) -> str:
        return self.branch.removeprefix("refs/heads/")

    @property
    def remote_name(self) -> str | None:
        """The git remote that the hub is shared through; None if the hub is in this repository alone."""
        return self.place.remote

    @property
    def published_ref(self) -> str:
        return PUBLISHED if self.remote_name else self.branch

    def published(self) -> str | None:
        """Return the last tip known to be on the hub."""
        return self.repo.ref(self.published_ref) or self.repo.ref(f"refs/remotes/{self.remote_name}/{self.branch_name}")

    def view(self) -> str:
        """Return the commit that reads answer from. Raises NoHub if there is none."""
        if not self.remote_name:
            tip = self.repo.ref(self.branch)
        else:
            tip = self.repo.ref(VIEW) or self.repo.ref(PUBLISHED)
            tip = self._with_tracked(tip)
        if tip is None:
            hint = "`bd init` makes one; `bd sync` fetches one"
            raise NoHub(f"the branch {self.branch_name} holds no hub yet", hint=hint)
        return tip

    def newest(self, view: str, published: str | None) -> tuple[str, str]:
        """Return the newest commit that this clone can read, and the newest of the hub in it, for these `view()` and `published()`.

        While this clone fetches or writes, its view is older than what it knows of the hub; with unpublished writes, newer.
        """
        if not published or published == view:
            return view, view
        if self.repo.is_ancestor(view, published):
            return published, published
        return view, published if self.repo.is_ancestor(published, view) else view

    def _with_tracked(self, view: str | None) -> str | None:
        """Return the view, moved forward to what a plain `git pull` or `git fetch` has brought in."""
        name = self.branch_name
        tracked = self.repo.ref(f"refs/remotes/{self.remote_name}/{name}")
        if tracked is None:
            return view or self.repo.ref(self.branch)
        if tracked == view or tracked == self.local.read(_TRACKED):
            return view or tracked
        if self._held is not None:  # a fetch is under way, and sets the same refs
            return view or tracked
        published = self.repo.ref(PUBLISHED)
        moved = view is None or (view == published and self.repo.is_ancestor(view, tracked))
        if moved:
            lock = self.local.lock(0)
            try:
                if not lock.try_enter():  # another process writes, and is about to set them
                    return view or tracked
                with ExitStack() as held:
                    held.push(lock)
                    self.repo.update_refs([(PUBLISHED, tracked, published or ZERO), (VIEW, tracked, view or ZERO)])
            except TryAgain:  # another writer of this clone was faster, or this clone can only be read
                return self.repo.ref(VIEW) or tracked
            view = tracked
        self._note_tracked(tracked)
        return view

    def ignore_tracked(self) -> None:
        """Treat git's remote-tracking branch as known, so that `view` does not follow it."""
        self._note_tracked(self.repo.ref(f"refs/remotes/{self.remote_name}/{self.branch_name}") or "")

    def _note_tracked(self, tip: str) -> None:
        with suppress(OSError):
            self.local.write(_TRACKED, tip)

    def lock(self) -> Lock:
        """Return this clone's writer lock; `on_wait` is called if it has to be waited for."""
        settings = self.settings()
        self.repo.timeout_s = settings.git_timeout
        return self.local.lock(settings.lock_timeout, self.on_wait)

    def has_beaten(self) -> bool:
        """Return whether this clone has ever sent heartbeats through side refs."""
        return self.local.has_any("beats")

    def begin_write(self, *, fetch: bool = True) -> None:
        """Take the writer lock, then start the fetch, so that it runs while the rest is imported.

        A clone that fetched less than `fresh_time` ago starts none (`was_fresh`). Without `fetch` it starts only when it is
        waited for: something else has to be listed first.
        """
        if self._held is None:
            self._begin(self.lock().__enter__(), fetch=fetch)

    def try_write(self, lock: Lock | None = None, *, fetch: bool = True) -> bool:
        """Take the writer lock only if it is free. Return whether this process has it.

        `lock` is the result of `lock()`, for a caller that tries again and again.
        """
        if self._held is None:
            lock = lock or self.lock()
            if not lock.try_enter():
                return False
            self._begin(lock, fetch=fetch)
        return True

    def _begin(self, lock: Lock, *, fetch: bool) -> None:
        self._held = lock
        self.published_before = self.published()
        self.was_fresh = bool(self.remote_name) and self.looked.is_fresh(self.settings().fresh_time)
        if fetch and not self.was_fresh:
            self.begin_fetch()

    def end_write(self) -> None:
        """Release the writer lock, after waiting for a fetch that was started and not used."""
        if self._held is None:
            return
        if "remote" in self.__dict__:
            self.remote.drop_fetch()
        held, self._held = self._held, None
        held.__exit__()

    # --- snapshots ---

    @property
    def cache(self) -> Cache:
        if self._cache is None:
            self._cache = Cache(
                self.place.cache_path(self.derivations, self.runtime.now()), self.repo, self.runtime, self.derivations
            )
        return self._cache

    def snapshot(self, commit: str | None = None) -> CachedSnapshot:
        """Return the hub at a commit, by default the view. The snapshot is readable until the next call."""
        wanted = commit or self.view()
        self.cache.move_to(wanted, self._parse_progress)
        snapshot = CachedSnapshot(self.cache, wanted)
        snapshot.listened_at, snapshot.heard = self._heard()
        return snapshot

    def _heard(self) -> tuple[str, dict[str, Any]]:
        """Return the agents' records as this clone last fetched them; the note is read once a command."""
        if self._said is None:
            self._said = self.noted_json(HEARD, {"at": MAYBE_TEXT}) or {}
        if not self._said:
            return NEVER, {}
        from bd.store.heartbeat.agent_records import records_of  # noqa: PLC0415

        return self._said.get("at") or NEVER, records_of(self._said.get("agents", {}))

    def hear(self, refs: Mapping[str, str]) -> dict[str, dict[str, Any]]:
        """Read the agents' records behind a listing of refs, and keep them for this clone's next snapshots."""
        from bd.store.heartbeat.agent_records import record_of, refs_of  # noqa: PLC0415  most commands hear nothing new

        self._said = None
        heard = self.sides.listen(refs_of(refs), times.time_text(self.runtime.now()))
        return {name: record_of(record) for name, record in heard.items()}

    def listen(self) -> dict[str, str]:
        """Fetch the side refs: return heartbeats by token, and keep the agents' records for the next snapshots.

        Raises RemoteUnreachable; a failed fetch counts for nothing.
        """
        from bd.store.heartbeat.side_refs import AGENTS, CLAIMS  # noqa: PLC0415  most reads do not listen

        refs = self.sides.listing(CLAIMS, AGENTS) if self.sides.may_list() else {}
        self.hear(refs)
        return {ref.removeprefix(CLAIMS): oid for ref, oid in refs.items() if ref.startswith(CLAIMS)}

    def snapshot_aside(self, commit: str) -> CachedSnapshot:
        """Return the hub at another commit, in memory, without moving the cache (`--at`, checks)."""
        cache = Cache(None, self.repo, self.runtime)
        self._memory.append(cache)
        cache.move_to(commit, self._parse_progress)
        return CachedSnapshot(cache, commit)

    def plain_files(self, commit: str, *paths: str) -> dict[str, str]:
        """The files of a commit, or those below these paths, by their blobs' names; links and submodules are none."""
        return {one.path: one.oid for one in self.repo.diff(None, commit, *paths) if one.is_file and one.oid}

    def top_level(self, commit: str, *, without: Collection[str]) -> list[str]:
        """What lies in the root of a commit, without these names."""
        names = self.repo.objects.tree_of(commit).names()
        return [name for name in (os.fsdecode(one) for one in names) if name not in without]

    def _parse_progress(self, done: int, of: int) -> None:
        if self.on_progress and of > 500:
            self.on_progress(done, of, "reading beads")

    def settings(self, snapshot: CachedSnapshot | None = None) -> Settings:
        """Return the settings in force on a snapshot of this clone.

        Without one, before anything is read, `EARLY_KEYS` have the hub's last known values.
        """
        config = snapshot.config() if snapshot is not None else self._early_settings()
        place = self.place
        given = [self.flags, self._environment, place.clone_layer, place.user_layer, place.git_layer, config]
        known, merged = self._merged.get(snapshot is None, (None, None))
        if merged is None or known != given:
            merged = merge(list(zip(("flag", "environment", "clone", "user", "git", "hub"), given, strict=True)))
            self._merged[snapshot is None] = [dict(layer) for layer in given], merged
        if snapshot is not None and isinstance(snapshot, CachedSnapshot) and snapshot.cache is self._cache:
            self._note_early_settings(early(config))
        return merged

    @cached_property
    def _environment(self) -> dict[str, str]:
        return from_environment(os.environ)

    def _early_settings(self) -> dict[str, Any]:
        if self._early is None:
            self._early = self.noted_json(_EARLY) or {}
        return self._early

    def _note_early_settings(self, said: dict[str, Any]) -> None:
        if said == self._early_settings():
            return
        self._early = said
        with suppress(OSError):
            self.note_json(_EARLY, said)

    def check_format(self, snapshot: CachedSnapshot, operation: Operation | None = None) -> None:
        """Refuse to write if there is no hub that this bd can write; see format_version.py for the errors."""
        format_version.check(
            self.repo, snapshot, self.branch_name, brings_forward=operation is not None and operation.brings_forward
        )

    # --- the remote ---

    def begin_fetch(self) -> None:
        """Start the fetch of the hub branch; `finish_fetch` waits for it. Only under the lock."""
        self.remote.begin_fetch()

    def finish_fetch(self) -> str | None:
        """Wait for the fetch; return the remote's tip, which is then in the published ref. See git/fetch.py for the errors.

        If the remote `lags`, the tip is the one seen before.
        """
        found = self.remote.fetch()
        self.requests, self.lags = found.requests, found.lags
        if found.is_probed:
            self.sides.take_word(self.runtime.now())
        if found.tip and self.remote_name and not found.lags:
            self.looked.now()
        return found.tip

    def fetch(self) -> str:
        """Fetch for a read that asks for it, and return the view, which moves if nothing is unpublished here.

        If the remote `lags`, the view is the newer state.
        """
        if not self.remote_name:
            return self.view()
        with self.lock():
            before, view = self.repo.ref(PUBLISHED), self.repo.ref(VIEW)
            tip = self.finish_fetch()
            # A write that was refused for the hub's format has moved the published tip, and not the view.
            if tip and tip != view and (view in (None, before) or self.repo.is_ancestor(str(view), tip)):
                self.repo.update_refs([(VIEW, tip, view)])
                self.stamp()
        if self.lags and self.on_note:
            self.on_note(
                f"warning: {self.remote_name} shows an older state of the hub than this clone has; answering from this clone"
            )
        return self.view()

    def fetched_s(self) -> float | None:
        """Return how many seconds ago this clone last fetched, by bd or by plain git; None if that is unknown."""
        by_git_s = self.repo.fetched_at_s(self.remote_name or "")
        ages = [self.looked.age_s(), None if by_git_s is None else max(0.0, self.runtime.now().timestamp() - by_git_s)]
        return min((age_s for age_s in ages if age_s is not None), default=None)

    # --- notes of this clone ---

    def stamp(self) -> None:
        """Touch the file by which existing clients notice writes; never through a link, which a hub could contain."""
        if self.worktree is None:
            return
        folder = self.client_folder()
        flags = os.O_WRONLY | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        with suppress(OSError):
            if os.path.isdir(folder) and not os.path.islink(folder):
                with open(os.open(os.path.join(folder, ".stamp"), flags, 0o666), "wb", buffering=0) as file:
                    # Opened with O_TRUNC, the file would be flushed to disk immediately.
                    file.truncate(file.write(f"{self.runtime.monotonic():.6f}\n".encode()))

    def client_folder(self) -> str:
        """Return the `.beads` folder that clients watch: in the checkout, or below bd's own folder."""
        if self.repo.work_tree and self.repo.head_branch() == self.branch:
            return os.path.join(self.repo.work_tree, ".beads")
        return os.path.join(self.place.folder, "ws", ".beads")

    def note_json(self, name: str, value: Any) -> None:
        """Write a small JSON note of this clone, whole or not at all."""
        self.local.write(name, json.dumps(value))

    def noted_json(self, name: str, shape: Any = dict) -> Any:
        """Read a note of this clone; None if there is none, it can't be read, or it does not fit the shape.

        It is then written again.
        """
        text = self.local.read(name)
        try:
            found = json_value(text) if text else None
        except ValueError:
            return None
        return found if fits(found, shape) else None

    def drop_note(self, name: str) -> None:
        """Remove a note of this clone."""
        self.local.drop(name)

    def commit_at(self, text: str) -> str:
        """Return the hub's commit that `--at` refers to: a commit, a time, or a duration ago. Raises NotFound and BadInput."""
        named = self.repo.commit_of(text)
        if named:
            if self.repo.objects.read(f"{named}:{CONFIG_PATH}") is None:
                hint = f"the hub's are on {self.branch_name}"
                raise NotFound(f"{text} is not a commit of the hub", hint=hint)
            return named
        instant = times.past_instant(text, self.runtime.now())
        _, out, _ = self.repo.run("rev-list", "-1", f"--before={int(instant.timestamp())}", self.view())
        if not out.strip():
            raise NotFound(
                f"the hub has no commit as old as {text}", hint="`git log --reverse --format=%cI` begins with its first"
            )
        return out.decode().strip()

    def instant_at(self, text: str) -> datetime:
        """Return the instant that `--at` refers to; for a commit, the end of the second in which it was made. Raises BadInput."""
        named = self.repo.commit_of(text)
        if named is None:
            return times.past_instant(text, self.runtime.now())
        headers, _ = commit_message.split_commit(self.repo.objects.read(named) or b"")
        return times.instant_of(times.time_of_seconds(commit_message.signed_by(headers)[1])).replace(microsecond=999_999)
