"""The workspace of one attempt, as a worker uses it: reserved with the claim, prepared, used by a command, finished.

`workspace_for` is where to begin. `prepare` may take long and runs beside heartbeats, `finish` before the claim is ended.
"""

from __future__ import annotations

import os
import shutil

from bd import TYPE_CHECKING
from bd.core import times
from bd.core.code_repos import PULL_REQUEST, repos_of
from bd.core.errors import BdError, Refused, TryAgain
from bd.notify import trusted_commands
from bd.policy import lifecycle
from bd.processes.confinement import Confinement
from bd.repos import leftovers
from bd.repos.branch_names import branch_of
from bd.repos.cache import cache_for, refuse_full
from bd.repos.delivery import Delivery, commits_of, deliver, in_words
from bd.repos.folders import made, state_folder
from bd.repos.slots import take_slot
from bd.repos.standing import setup_failed, setup_worked, why_stopped
from bd.repos.workspace import free_bytes, known_workspaces, make, record_at, workspace_of, workspaces_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from bd.core.code_repos import Repo
    from bd.core.model import Bead, Snapshot
    from bd.processes.run import Ran
    from bd.processes.tree import ProcessTree
    from bd.repos.cache import Cache
    from bd.repos.delivery import Commits
    from bd.repos.leftovers import Kept
    from bd.repos.workspace import Workspace
    from bd.store import Clone

SETUP_LIMIT_S, TEARDOWN_LIMIT_S = 1800.0, 120.0
_SAID = 500


class SetupFailed(TryAgain):
    """The repository's setup failed, which says nothing about the bead."""


def workspace_for(hub: Clone, bead: Bead, snapshot: Snapshot, *, wanted: bool = False) -> Attempt | None:
    """Reserve the workspace of a claimed bead. None: the bead is about no repository of the hub, and none is `wanted` all the same.

    Raises Refused if this clone may not work on its repository, and TryAgain.
    """
    name = bead.get("repo") or ""
    stopped = why_stopped(hub, snapshot, hub.runtime.now(), name)
    if stopped is not None:
        raise Refused(f"{name} gets no work here: {stopped.why}", hint="`bd repo list` shows all", id=bead.id)
    entry = repos_of(snapshot.config())[0].get(name)
    if entry is None and not wanted:
        return None
    return Attempt(hub, bead, snapshot, entry)


class Attempt:
    """One attempt in a workspace. Nobody else may use the folder until `finish` or `abandon`."""

    def __init__(self, hub: Clone, bead: Bead, snapshot: Snapshot, entry: Repo | None) -> None:
        self.entry = entry
        self.workspace: Workspace = workspace_of(hub, bead, entry)
        self.confinement = Confinement.of(hub.settings())  # of what is run there
        self.is_prepared = False
        self.base_commit = ""  # of the branch that the work begins from, once it is prepared
        self._rescued = ""
        self.earlier = 0  # commits with which it begins, once it is prepared
        self._bead = bead
        self._cache: Cache = cache_for(entry, hub)
        self._dependencies = _delivered_dependencies(bead, snapshot) if entry else []
        self._lock = self.workspace.lock(hub.runtime)
        if not self._lock.try_enter():
            raise TryAgain(f"another attempt uses {self.workspace.folder}", hint="`bd workspace list` shows it")
        try:
            self._slot = take_slot(hub.runtime)
        except BdError:
            self._lock.__exit__()
            raise
        self._client_folder = hub.client_folder()

    @property
    def folder(self) -> str:
        return self.workspace.folder

    @property
    def environment(self) -> Mapping[str, str]:
        """The variables that the command gets, besides those of its claim."""
        above = [workspaces_folder(), *filter(None, [os.environ.get("GIT_CEILING_DIRECTORIES")])]
        found = {
            "BEADS_DIR": self._client_folder,
            "BD_SLOT": str(self._slot.number),
            "BD_WORKSPACE": self.folder,
            "GIT_CEILING_DIRECTORIES": os.pathsep.join(above),
        }
        if self.entry is None:
            return found
        caches = state_folder("caches", os.path.basename(self._cache.git_dir).removesuffix(".git"))
        shared = {variable: made(os.path.join(caches, name)) for variable, name in self.entry.cache.items()}
        return {**found, **shared, "BD_REPO": self.entry.name}

    # --- before ---

    def prepare(
        self,
        hub: Clone,
        environment: Mapping[str, str],
        started: Callable[[ProcessTree], None],
        rescued: Callable[[str], None] = lambda _: None,
    ) -> str:
        """Set aside what an earlier attempt left, make the workspace, and run the setup. Return what the agent has to know.

        `started` gets the setup's process, `rescued` the branch of the commits of a worker that was killed. Raises SetupFailed,
        Conflict, and others for which the bead is given back.
        """
        refuse_full(free_bytes(), self.entry.clone.min_free if self.entry else 0)
        if self.entry is not None:
            self._cache.fetch()
        self._set_former_aside(hub, rescued)
        self.workspace = self.workspace.write()
        try:
            notes = self._make()
        except BaseException:
            shutil.rmtree(self.folder, ignore_errors=True)  # nobody has worked in it yet
            raise
        self.workspace.write()
        self.base_commit = (self._cache.tip(self.entry.base) or "") if self.entry else ""
        self.earlier = self._earlier()
        self.is_prepared = True
        if self.entry is not None and self.entry.setup:
            self._set_up(hub, self.entry, environment, started)
        return "\n".join(self._words(notes, self._left_before()))

    def _make(self) -> list[str]:
        if self.entry is None:
            made(self.folder)
            return []
        self.workspace, notes = make(self.workspace, self.entry, self._cache, self._dependencies)
        return notes

    def _earlier(self) -> int:
        """Count the commits that earlier attempts have left on the bead's branch, where they wait for the end of the bead.

        What people push before the first attempt is not the work of any, and a bead that is opened again needs new commits.
        """
        begun = self.workspace.begun
        if begun is None or self._bead.attempts < 2:
            return 0
        others = filter(None, (self._cache.tip(branch) for branch in self._dependencies))
        since = lifecycle.more_wanted_since(self._bead)
        after_s = times.unix_seconds(since) if since else None
        return self._cache.count(begun, self.base_commit, *others, after_s=after_s)

    def _set_former_aside(self, hub: Clone, rescued: Callable[[str], None]) -> None:
        former = record_at(self.folder)
        if not os.path.lexists(self.folder):  # removed, and the record stays as long as there is something of it
            if former is not None and not leftovers.forget_if_empty(former, self._cache):
                former.moved_aside()
            return
        former = former or self.workspace._replace(attempt=max(0, self.workspace.attempt - 1))
        leftovers.keep(former, self._cache, hub.runtime)
        if former.ended_at is None:  # its worker was killed
            self._rescued = self._delivered_late(former, hub).branch
            if self._rescued:
                rescued(self._rescued)  # a worker that is killed before the next line does all of this again
            former = former._replace(ended_at=times.time_text(hub.runtime.now()))
        former.moved_aside()

    def _delivered_late(self, former: Workspace, hub: Clone) -> Delivery:
        """Push the commits of an attempt whose worker was killed to a branch of their own. What fails stays set aside."""
        if self.entry is None or former.start is None:
            return Delivery()
        try:
            return deliver(former, self.entry, self._cache, hub, is_current=False)
        except BdError:
            return Delivery()

    def _set_up(self, hub: Clone, entry: Repo, environment: Mapping[str, str], started: Callable[[ProcessTree], None]) -> None:
        ran = self._run(entry.setup, environment, SETUP_LIMIT_S, started)
        if ran.code == 0:
            setup_worked(hub, entry.name)
            return
        said = (ran.err or ran.out).strip()[-_SAID:]
        words = said if ran.code is None else f"exit {ran.code}{f': {said}' if said else ''}"
        rests = setup_failed(hub, entry.name, words)
        more = "; the repository rests" if rests else ""
        raise SetupFailed(f"the setup of {entry.name} failed: {words}{more}", hint=f"`bd repo check {entry.name}` ends the rest")

    def _run(
        self,
        text: str,
        environment: Mapping[str, str],
        limit_s: float,
        started: Callable[[ProcessTree], None] = lambda _: None,
    ) -> Ran:
        """Run a command of the repository as the agent is run: without bd's secrets, and in its sandbox."""
        return trusted_commands.run(
            text,
            environment,
            limit_s,
            folder=self.folder,
            started=started,
            confinement=self.confinement,
            mounts=self.workspace.mounts,
        )

    def _left_before(self) -> list[Kept]:
        """Return what earlier attempts on the bead have left unpushed."""
        mine = [one for one in known_workspaces(self.workspace.hub) if one.bead == self.workspace.bead and one != self.workspace]
        return [kept for one in mine if one.attempt != self.workspace.attempt for kept in leftovers.kept_of(one, self._cache)]

    def _words(self, notes: Sequence[str], left: Sequence[Kept]) -> list[str]:
        if self.entry is None:
            lines = [f"You work in {self.folder}, an empty folder for this bead."]
        else:
            lines = [f"You work in {self.folder}, a clone of {self.entry.name} on the branch {self.workspace.branch}."]
            lines.append(f"It begins at {str(self.workspace.start)[:12]}, from the branch {self.entry.base}.")
            then = "pushes them when you end" if self.entry.is_delivered else "keeps them on this machine"
            if self.earlier:
                lines.append(f"It has {in_words(self.earlier)} of earlier attempts. If nothing is missing, you need not commit.")
            lines.append(f"Commit your work to this branch. Don't push: bd {then}.")
        lines += [f"{note}." for note in notes]
        if self._rescued:
            lines.append(f"The worker of an earlier attempt was killed: its commits are on {self._rescued}.")
        for kept in left:
            lines.append(f"An earlier attempt left {leftovers.KINDS[kept.kind]}: `git show {kept.oid[:16]}`")
        if left:
            lines.append("Take over what is of use, such as with `git cherry-pick COMMIT` or `git checkout COMMIT -- PATH`.")
        return lines

    # --- after ---

    def commits(self) -> Commits | None:
        """Count its commits; None where none are asked for, or they can't be counted."""
        if self.entry is None or not self.entry.is_delivered or not self.is_prepared:
            return None
        try:
            return commits_of(self.workspace, self._cache, self.earlier)
        except (BdError, OSError):
            return None

    def finish(self, hub: Clone, environment: Mapping[str, str], *, is_current: bool) -> Delivery:
        """Run the teardown, push the commits, and set aside what else is unpushed.

        Raises NotReadable, RemoteUnreachable, ServerRefused and TryAgain if the commits could not be pushed; they stay.
        """
        notes: list[str] = []
        try:
            if not self.is_prepared:
                return Delivery()
            if self.entry is not None and self.entry.teardown:
                ran = self._run(self.entry.teardown, environment, TEARDOWN_LIMIT_S)
                notes += [] if ran.code == 0 else [f"the teardown of {self.entry.name} failed: {ran.err or f'exit {ran.code}'}"]
            if self.entry is None:
                return Delivery(notes=tuple(notes))
            found = deliver(self.workspace, self.entry, self._cache, hub, is_current=is_current)
            if found.branch and self.entry.deliver == PULL_REQUEST:
                notes.append(f"{found.branch} is pushed; bd does not open pull requests yet")
            return found._replace(notes=(*notes, *found.notes))
        finally:
            self._end(hub)

    def _end(self, hub: Clone) -> None:
        """Set aside what is unpushed, as far as that goes now; `bd workspace list` does it again."""
        try:
            if os.path.isdir(self.folder) and self.is_prepared:
                self.workspace = self.workspace._replace(ended_at=times.time_text(hub.runtime.now())).write()
                leftovers.keep(self.workspace, self._cache, hub.runtime)
            elif not os.path.lexists(self.folder) and self._has_record:
                self.workspace.forget()
        except (BdError, OSError):
            pass  # the folder stays as it is until this has worked
        finally:
            self.abandon()

    @property
    def _has_record(self) -> bool:
        """Whether the record is its own: until the workspace is made, it may be an earlier attempt's."""
        found = record_at(self.folder)
        return found is not None and found.token == self.workspace.token

    def abandon(self) -> None:
        """Let others use the folder and the slot."""
        self._lock.__exit__()
        self._slot.free()


def _delivered_dependencies(bead: Bead, snapshot: Snapshot) -> list[str]:
    """Return the branches of the closed dependencies in the same repository."""
    found = []
    for name in bead.get("depends_on") or []:
        other = snapshot.bead(name)
        if other is not None and other.status == "closed" and other.get("repo") == bead.get("repo"):
            found.append(branch_of(other.id, other.get("uid")))
    return found
