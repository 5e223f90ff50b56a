"""Creating and joining a hub: repository, place, first commit."""

from __future__ import annotations

import contextlib
import os
import shutil
from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.core import files
from bd.core.errors import BadInput, Damaged, NoHub, RemoteUnreachable, ServerRefused, TryAgain
from bd.core.identity import identify
from bd.core.redaction import shown_url
from bd.core.schema import CONFIG_FIELDS, CONFIG_PATH, IGNORE_PATH, METADATA_PATH
from bd.operations.base import asked
from bd.operations.init import Init
from bd.store import Clone, Place, locate
from bd.store.git.create import (
    add_remote,
    check_url,
    clone_repo,
    make_repo,
    remove_remote,
    show_branch,
    take_default_branch,
)
from bd.store.git.discovery import find_repo
from bd.store.hub_location import check_branch, clone_config_path, forget, read_layer, user_config_path
from bd.store.worktree.checkout import edited_files
from bd.store.worktree.sparse import write_out
from bd.store.yaml import codec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from bd.store.git.repository import GitRepo


def make_hub(
    folder: str,
    prefix: str,
    open_clone: Callable[[Place], Clone],
    *,
    remote: str | None = None,
    branch: str | None = None,
    domain: str | None = None,
    own: bool = False,
) -> tuple[bool, Clone]:
    """Create a hub in a folder; return whether it is new, and the hub. Idempotent.

    `own`: the user named the folder; if it is new or empty, it gets its own repository. Raises BadInput, ServerRefused or
    RemoteUnreachable (a shared hub must be created on its remote).
    """
    if remote is not None:
        check_url(remote)
    if branch:
        check_branch(branch)
    with _undone_if_new(folder):
        repo = make_repo(folder, own=own)
        before = read_layer(clone_config_path(repo)).get("branch")
        added = remote is not None and add_remote(repo, os.path.abspath(remote) if os.path.isdir(remote) else remote)
        try:
            set_clone_setting(repo, "branch", branch or before or branch_for(repo, folder, is_shared=bool(remote)))
            forget(repo)
            return _made(open_clone(locate(folder)), prefix, domain)
        except BaseException as error:
            set_clone_setting(repo, "branch", before)
            if added and isinstance(error, (TryAgain, ServerRefused)):  # no hub there; the next try may use another remote
                remove_remote(repo)
            forget(repo)
            raise


@contextlib.contextmanager
def _undone_if_new(folder: str) -> Iterator[None]:
    """Remove the repository and folders that were created here, if creating the hub fails.

    They stay if the result of the push is unknown: the next command there finds out.
    """
    folder = os.path.abspath(folder)
    dot_git = os.path.join(folder, ".git")
    was_repository = os.path.lexists(dot_git)
    missing = [folder]
    while not os.path.exists(missing[-1]) and os.path.dirname(missing[-1]) != missing[-1]:
        missing.append(os.path.dirname(missing[-1]))
    try:
        yield
    except BaseException as error:
        if not was_repository and os.path.isdir(dot_git) and getattr(error, "data", {}).get("written") != "unknown":
            shutil.rmtree(dot_git, ignore_errors=True)
        with contextlib.suppress(OSError):  # the folder is not empty
            for made in missing[:-1]:
                os.rmdir(made)
        raise


@contextlib.contextmanager
def moved_aside(folder: str) -> Iterator[None]:
    """Move untracked settings of another tool out of the way of a new hub's own; restore them if the hub is not created."""
    repo = find_repo(folder)
    moved: list[tuple[str, str]] = []
    if repo is not None and repo.work_tree:
        kept = os.path.join(repo.common_dir, "bd", "before-migration")
        for status, name in edited_files(repo, ".beads"):
            if status == "??" and name in (CONFIG_PATH, METADATA_PATH, IGNORE_PATH):
                moved.append((os.path.join(repo.work_tree, name), os.path.join(kept, os.path.basename(name))))
        for here, there in moved:
            os.makedirs(kept, exist_ok=True)
            os.replace(here, there)
    try:
        yield
    except BaseException:
        for here, there in moved:
            if not os.path.exists(here):
                os.replace(there, here)
        raise


def branch_for(repo: GitRepo, folder: str, *, is_shared: bool) -> str:
    """Return the default branch for a new hub: that of an existing hub, else the checked-out branch. Raises BadInput."""
    if is_shared:
        take_default_branch(repo)
    try:
        return locate(folder).branch.removeprefix("refs/heads/")
    except NoHub:
        head = repo.head_branch()
    if head is None:
        raise BadInput("no branch is checked out here", hint="`git switch main` first, or --branch beads")
    return head.removeprefix("refs/heads/")


def _made(hub: Clone, prefix: str, domain: str | None) -> tuple[bool, Clone]:
    try:
        return _published(hub, prefix, domain), hub
    except BaseException:
        hub.close()
        raise


def _published(hub: Clone, prefix: str, domain: str | None) -> bool:
    place = hub.place
    refuse_unpushed(hub)
    operation = init_of(hub, place.repo.ref(place.branch), prefix, domain)
    with told_at_birth(place):
        outcome = hub.create_hub(operation)
    made = outcome.change is not None and not outcome.change.is_empty
    if not outcome.published:
        raise RemoteUnreachable(
            "the remote can't be reached", hint="a hub is created on its remote; try again when it is reachable"
        )
    write_client_folder(hub)
    if hub.remote_name:
        with contextlib.suppress(TryAgain, ServerRefused):  # probed again when the result is needed
            hub.sides.probe(hub.runtime.now())
    return made


def init_of(hub: Clone, tip: str | None, prefix: str, domain: str | None = None) -> Init:
    """Return the operation that creates a hub on a branch with the given tip."""
    place = hub.place
    by = identify(None, place.clone_layer, place.user_layer, place.user_name).by
    fields = {"domain": domain} if domain else {}
    ignored = place.repo.objects.read(f"{tip}:{IGNORE_PATH}") if tip else None
    lines = (ignored or b"").decode("utf-8", "replace").splitlines()
    return Init(**asked(hub.runtime, by, prefix=prefix, fields=fields, ignored=lines))


@contextlib.contextmanager
def told_at_birth(place: Place) -> Iterator[None]:
    """Give Damaged a suitable hint: there is no hub yet that `bd doctor` could check."""
    try:
        yield
    except Damaged as error:
        name = place.branch.removeprefix("refs/heads/")
        hint = f"fix or remove it, and commit that on {name}"
        if place.remote:
            hint += f"; then `git push {place.remote} {name}`: {place.remote}'s version of the branch counts"
        raise Damaged(error.message, hint=hint) from error


def refuse_unpushed(hub: Clone) -> None:
    """Refuse a branch with commits that were never pushed to a new remote: it can't become a hub by itself."""
    place, repo = hub.place, hub.repo
    local = repo.ref(place.branch)
    if not place.remote or local is None or repo.ref("refs/bd/published"):
        return
    name = hub.branch_name
    with hub.lock():
        tip = hub.finish_fetch()
    if tip is None:
        raise BadInput(
            f"the branch {name} is not on {place.remote} yet",
            hint=f"git push -u {place.remote} {name} first, or keep the hub on its own branch: bd init --branch beads",
        )


class Joined(NamedTuple):
    """A new clone, and the number of archive files that it does not check out."""

    hub: Clone
    left_out: int


def join_hub(
    url: str,
    folder: str,
    branch: str | None,
    open_clone: Callable[[Place], Clone],
    on_progress: Callable[[int, int, str], None] | None = None,
) -> Joined:
    """Clone a hub. Raises NoHub if the repository contains none, Damaged if git refuses to write its files."""
    repo = clone_repo(url, folder, on_progress)
    left_out = write_out(repo)
    if branch:
        set_clone_setting(repo, "branch", check_branch(branch))
        forget(repo)
    try:
        place = locate(folder)
    except NoHub as error:
        raise NoHub(f"{shown_url(url)} is cloned to {folder}, and holds no hub", hint=f"cd {folder} && bd init") from error
    hub = open_clone(place)
    hub.fetch()
    show_branch(repo, place.branch, f"refs/remotes/{place.remote}/{hub.branch_name}")
    write_client_folder(hub)
    return Joined(hub, left_out)


def set_clone_setting(repo: GitRepo, key: str, value: Any) -> None:
    """Write one setting into the clone's own file, keeping the rest."""
    _set_in_layer(clone_config_path(repo), key, value)


def write_client_folder(hub: Clone) -> None:
    """Write the `.beads` folder that existing clients look for, if the hub branch is not checked out."""
    folder = hub.client_folder()
    if hub.repo.work_tree and folder.startswith(os.path.join(hub.repo.work_tree, ".beads")):
        return
    os.makedirs(folder, exist_ok=True)
    commit = hub.view()
    for path in (METADATA_PATH, CONFIG_PATH, IGNORE_PATH):
        data = hub.repo.objects.read(f"{commit}:{path}")
        if data is not None:
            with open(os.path.join(folder, os.path.basename(path)), "wb") as file:
                file.write(data)
    hub.stamp()


def set_user_setting(key: str, value: Any) -> None:
    """Write one setting into the user's own file, keeping the rest."""
    _set_in_layer(user_config_path(), key, value)


def _set_in_layer(path: str, key: str, value: Any) -> None:
    """Set or remove (None) one key of a settings file, keeping comments and all other bytes. Raises BadInput."""
    old = read_layer(path)
    new = {name: setting for name, setting in {**old, key: value}.items() if setting is not None}
    if new == old and (new or not os.path.exists(path)):
        return
    data = b""
    with contextlib.suppress(FileNotFoundError), open(path, "rb") as file:
        data = file.read()
    files.replace(os.path.realpath(path), codec.rewrite(data, old, new, CONFIG_FIELDS, is_simple=False), only_mine=True)
