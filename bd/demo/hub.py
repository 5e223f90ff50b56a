"""The demo's hub: a temporary hub with the example fleet, and a clone for each agent.

It creates everything and cleans up. race.py runs the race, example.py reads the files.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import sys
import tempfile
from pathlib import Path

from bd import TYPE_CHECKING
from bd.core.errors import BadInput
from bd.core.identity import identify
from bd.core.schema import agent_path
from bd.demo.board import Board
from bd.demo.coding import HEARTBEAT, Coding
from bd.demo.factory import Factory, apply_plan
from bd.demo.processes import done
from bd.demo.race import Race
from bd.operations.base import asked
from bd.operations.beads import Write
from bd.operations.create import Create
from bd.setup.hub import join_hub, make_hub, set_clone_setting
from bd.store import locate
from bd.store.git.repository import GitRepo

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import TracebackType
    from typing import Any

    from bd.core.runtime import Runtime
    from bd.demo.coding import Kill
    from bd.demo.example import Example
    from bd.demo.watch import Story
    from bd.store import Clone, Place

PREFIX = "hub"
DOMAIN = "b4mad"
BRANCH = "refs/heads/main"
# Who makes the first commit of the code repository.
_BEGINNER = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "Demo"), ("EMAIL", "demo@example.org"))
}


class Demo:
    """A folder with the bare hub in `hub.git`, the reader's clone in `clone`, and a clone per agent.

    As a context manager it hides the caller's BD_* and BEADS_* variables, and deletes the folder at the end, unless it is to be
    kept or something failed that the user will want to look at.
    """

    def __init__(
        self,
        folder: Path | None,
        example: Example,
        seed: str,
        open_clone: Callable[[Place], Clone],
        runtime: Runtime,
        *,
        keep: bool = True,
    ) -> None:
        self.folder = folder.absolute() if folder else Path(tempfile.gettempdir())
        self.keep = keep
        self._is_temporary = folder is None
        self._example = example
        self._seed = seed
        self._open_clone = open_clone
        self._runtime = runtime
        self._after = contextlib.ExitStack()

    def __enter__(self) -> Demo:
        """Take the folder. Raises BadInput if it is in use."""
        if self._is_temporary:
            self.folder = Path(tempfile.mkdtemp(prefix="bd-demo-"))
        elif self.folder.exists() and not (self.folder.is_dir() and not any(self.folder.iterdir())):
            raise BadInput(f"{self.folder} exists and is not an empty folder", hint="name another one: bd demo --dir DIR")
        self._after.enter_context(undisturbed())
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._after.close()
        if not self.keep and (error is None or isinstance(error, KeyboardInterrupt)):
            shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def hub_path(self) -> Path:
        return self.folder / "hub.git"

    @property
    def clone_path(self) -> Path:
        return self.folder / "clone"

    @property
    def agent_paths(self) -> dict[str, Path]:
        return {name: self.folder / name for name in self._example.agents}

    def prepare(self) -> Board:
        """Create the hub and all clones, and put the fleet and its work on it in two commits."""
        self.hub_path.mkdir(parents=True)
        self.bare.run("init", "--quiet", "--bare", "--initial-branch=main")
        _, hub = make_hub(str(self.clone_path), PREFIX, self._open_clone, remote=str(self.hub_path), domain=DOMAIN)
        with contextlib.closing(hub):
            titles = self._fill(hub)
        for name, path in self.agent_paths.items():
            joined = join_hub(str(self.hub_path), str(path), None, self._open_clone).hub
            set_clone_setting(joined.repo, "agent", name)
            joined.close()
        roles = {name: str(agent.get("role", "")) for name, agent in self._example.agents.items()}
        return Board(roles, titles)

    def _fill(self, hub: Clone) -> dict[str, str]:
        """Put agents and beads on the hub; return the beads' titles by id."""
        agents = {agent_path(name): dict(fields) for name, fields in self._example.agents.items()}
        hub.publish(Write(**asked(hub.runtime, _person(hub), records=agents, words="the example fleet")))
        if not self._example.beads:
            return {}
        outcome = hub.publish(Create(**asked(hub.runtime, _person(hub), beads=self._example.beads)))
        made = outcome.change.touched if outcome.change else ()
        return {bead_id: bead["title"] for bead_id, bead in zip(made, self._example.beads, strict=True)}

    @property
    def bare(self) -> GitRepo:
        """The bare repository of the hub."""
        return GitRepo(str(self.hub_path), str(self.hub_path), None)

    def race(self, board: Board, show: Callable[[Board, float], None]) -> float:
        """Let the agents race until the work is done; return the seconds it took. Raises Damaged."""
        with contextlib.closing(self.bare) as hub, Race(self.agent_paths, self.folder / "logs", self._seed) as race:
            return race.run(hub, BRANCH, board, show, self._runtime)

    def factory(self, beads: list[dict[str, Any]], story: Story) -> tuple[str, float]:
        """Let the agents work through a plan; return its root and the seconds it took. Raises Damaged."""
        tell = {"desk": f"cat >> {shlex.quote(str(self.folder / 'told'))}"}
        for path in self.agent_paths.values():
            with contextlib.closing(self._open_clone(locate(str(path)))) as clone:
                set_clone_setting(clone.repo, "notify", tell)
        with contextlib.closing(self._open_clone(locate(str(self.clone_path)))) as hub, contextlib.closing(self.bare) as bare:
            root_id = apply_plan(hub, beads, _person(hub))
            with Factory(self.agent_paths, self.folder / "logs") as factory:
                return root_id, factory.run(hub, lambda: bare.ref(BRANCH), root_id, story)

    def coding(self, beads: list[dict[str, Any]], kill: Kill, story: Story) -> tuple[str, float]:
        """Let coding agents work through a plan about a code repository; return its root and the seconds it took. Raises Damaged."""
        self.code_path.mkdir()
        with contextlib.closing(self.code) as code:
            code.run("init", "--quiet", "--bare", "--initial-branch=main")
            start = code.run("commit-tree", "-m", "Begin", code.run("mktree", data=b"")[1].decode().strip(), env=_BEGINNER)[1]
            code.run("update-ref", "refs/heads/main", start.decode().strip())
        done(self.clone_path, "repo", "add", "app", str(self.code_path), "--base", "main")
        for path in self.agent_paths.values():
            done(path, "sync")
            done(path, "trust", "--yes")
            with contextlib.closing(self._open_clone(locate(str(path)))) as clone:
                set_clone_setting(clone.repo, "heartbeat_interval", HEARTBEAT)
        with contextlib.closing(self._open_clone(locate(str(self.clone_path)))) as hub, contextlib.closing(self.bare) as bare:
            hub.fetch()
            root_id = apply_plan(hub, beads, _person(hub))
            with Coding(self.agent_paths, self.folder, kill) as coding:
                return root_id, coding.run(hub, lambda: bare.ref(BRANCH), root_id, story)

    @property
    def code_path(self) -> Path:
        return self.folder / "app.git"

    @property
    def code(self) -> GitRepo:
        """The code repository that agents deliver to."""
        return GitRepo(str(self.code_path), str(self.code_path), None)

    def next_commands(self, bead_id: str) -> list[str]:
        """Return commands for looking around. Includes the path of bd if the shell would not find it."""
        bd = "bd" if shutil.which("bd") else shlex.quote(str(Path(sys.executable).with_name("bd")))
        return [f"cd {shlex.quote(str(self.clone_path))} && {bd} list --all", f"{bd} history {bead_id}", "git log --oneline"]

    def bring_along(self) -> None:
        """Update the reader's clone and its files to the hub's current state."""
        with contextlib.closing(self._open_clone(locate(str(self.clone_path)))) as hub:
            hub.sync(_person(hub))


def _person(hub: Clone) -> str:
    """Return the person who runs the demo, under their name in git."""
    return identify(None, {}, {}, hub.place.user_name).by


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Hide the caller's BD_* and BEADS_* variables, which would change the agents' names or hub."""
    taken = {name: os.environ.pop(name) for name in list(os.environ) if name.startswith(("BD_", "BEADS_"))}
    try:
        yield
    finally:
        os.environ.update(taken)
