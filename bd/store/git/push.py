"""Pushes to the remote and listings of it: the hub branch, and the side refs that go with it.

The result is read from `push --porcelain`, one line per ref; the exit status is ignored.
"""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.errors import RemoteUnreachable
from bd.store.contract import PushLine
from bd.store.git import server_words
from bd.store.git.porcelain import push_lines, remote_refs
from bd.store.git.repository import GitFailed, GitTimeout, deletion, refspec

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from bd.core.errors import BdError
    from bd.store.contract import SideRef
    from bd.store.git.repository import GitRepo

# How servers and git report that a ref is not where it was expected.
MOVED = ("stale info", "fetch first", "already exists", "non-fast-forward", "cannot lock ref")
_NOT_ATOMIC = "does not support --atomic push"


def unreachable(repo: GitRepo, remote: str, words: str) -> BdError:
    """Return the error for a remote that git could not reach: ServerRefused (scope hub) or RemoteUnreachable."""
    code, out, _ = repo.run("remote", "get-url", "--", remote, check=False)
    url = "" if code else out.decode("utf-8", "replace").rstrip("\n")
    return server_words.unreachable(f"the remote {remote}", url, words, folder=repo.work_tree or repo.git_dir)


def silent(remote: str, timeout: GitTimeout) -> RemoteUnreachable:
    """Return the error for a remote that did not answer in time."""
    return RemoteUnreachable(f"the remote {remote} does not answer: {timeout}")


def push(
    repo: GitRepo,
    remote: str,
    branches: Sequence[tuple[str, str]],
    sides: Sequence[SideRef] = (),
    *,
    leases: Mapping[str, str] | None = None,
    meanwhile: Callable[[], None] | None = None,
) -> tuple[dict[str, PushLine], str]:
    """Push (object, branch) pairs as plain fast-forwards, together with side refs, all or nothing.

    Returns the result for each ref, and the server's words. Raises GitTimeout. Each side ref is moved under a lease on its old
    value, and so is a branch named in `leases`; a `+` would switch the lease off. `meanwhile` is called while git pushes.
    """
    args = ["push", "--porcelain", "--progress", "--no-follow-tags", "--no-signed", "--no-recurse-submodules", "--no-verify"]
    args += [f"--force-with-lease={ref}:{oid}" for ref, oid in (leases or {}).items()]
    args += [f"--force-with-lease={side.ref}:{side.old or ''}" for side in sides]
    specs = [refspec(oid, ref) for oid, ref in branches]
    specs += [refspec(side.new, side.ref) if side.new else deletion(side.ref) for side in sides]
    if len(specs) > 1:
        args.append("--atomic")
    args += ["--end-of-options", remote, *specs]
    _, out, err = repo.finish(repo.spawn(args), args, meanwhile=meanwhile)
    if _NOT_ATOMIC in err:  # git itself has refused all of it without a line per ref: nothing was sent
        told = {ref: PushLine("!", "[remote rejected] (atomic push failed)") for _, ref in branches}
        return {**told, **{side.ref: PushLine("!", "[remote rejected] (not together with others)") for side in sides}}, err
    return push_lines(out), err


def list_remote(repo: GitRepo, remote: str, *patterns: str) -> dict[str, str]:
    """Return the remote's refs. Raises RemoteUnreachable and ServerRefused."""
    try:
        _, out, _ = repo.run("ls-remote", "--quiet", "--end-of-options", remote, *patterns)
    except GitTimeout as error:
        raise silent(remote, error) from None
    except GitFailed as error:
        raise unreachable(repo, remote, error.stderr) from error
    return remote_refs(out)
