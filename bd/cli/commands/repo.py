"""bd repo: add, list, show, remove, check."""

from __future__ import annotations

import os

from bd import TYPE_CHECKING
from bd.cli.output import escaped
from bd.cli.spec import Argument, Command, Flag, Group, Option, list_option, one_of
from bd.cli.values import flat
from bd.core import urls
from bd.core.code_repos import DELIVERIES, NONE, PULL_REQUEST, PUSH, check_name, check_url, read_repo, repos_of
from bd.core.errors import BadInput, NotFound
from bd.core.nearest import nearest
from bd.core.redaction import shown_url
from bd.core.schema import REPOS
from bd.notify.command_pins import pin_one, repo_asked, repos_asked_for
from bd.operations.settings import SetSetting
from bd.repos.branch_names import PREFIX, is_in_the_way
from bd.repos.cache import branches_at, cache_for, hub_branch_in, tip_at
from bd.repos.delivery import may_push
from bd.repos.standing import setup_worked, stopped_repos, why_stopped

if TYPE_CHECKING:
    from typing import Any

    from bd.cli.app import App
    from bd.core.code_repos import Repo


_NO_PULL_REQUESTS = "bd does not open pull requests yet: until then it only pushes the branches"


ADD = Command(
    "add",
    Argument("name"),
    Argument("url"),
    Option("--base", help="The branch that work begins from; default: the repository's own."),
    Option("--deliver", kind=one_of(*DELIVERIES), help=f"What bd does with commits; default: {PUSH}."),
    Option("--setup", help="A command to run in each new workspace."),
    Option("--teardown", help="A command to run in it when an attempt has ended."),
    list_option("--copy", help="Local files to copy into each workspace, from bd/repos/NAME of your configuration folder."),
    list_option("--cache", help="Folders that all workspaces share, as VARIABLE=NAME, such as PIP_CACHE_DIR=pip."),
    Option("--filter", help="git's filter of objects to fetch, such as blob:none."),
    list_option("--sparse", help="The folders to check out."),
    Flag("--submodules", default=None, help="Check out submodules."),
    Flag("--lfs", default=None, help="Fetch the contents of LFS files."),
    Option("--min-free", help="Make no workspace on a disk with less room, such as 5GB."),
    help="""Add a code repository to the hub, or change what is given of one, and trust it in this clone.

    Beads name it with --repo. `bd work` then runs each of them in a workspace of its own, and pushes what was committed to the
    branch agents/ID. Other clones work on it once they trust the entry, too: `bd trust` shows it there.
    """,
    examples=[
        "bd repo add relay https://git.example.org/b4mad/relay.git",
        'bd repo add relay git@git.example.org:b4mad/relay.git --base develop --setup "make deps"',
        'bd create "Fix the CORS headers" --repo relay --type bug',
    ],
)


def add(app: App, name: str, url: str, **flags: Any) -> None:
    """Add a code repository to the hub, or change what is given of one, and trust it in this clone."""
    app.refuse_past()
    check_name(name)
    if urls.parsed(url) is None and not urls.names_helper(url) and os.path.exists(url):
        url = os.path.abspath(url)
    check_url(url)
    before = app.snapshot().config().get(REPOS, {})
    fields = _fields(before.get(name) if isinstance(before, dict) else None, url, flags)
    fields["base"] = flags["base"] or fields.get("base") or _default_base(url)
    entry = read_repo(name, fields)
    _check_branches(app, entry)
    written = app.publish(SetSetting(**app.asked(path=[REPOS, name], value=fields)))
    pin_one(app.hub, repo_asked(name, fields))  # as typed, whatever somebody else has written meanwhile
    if app.out.is_json:
        app.out.object({**_object(entry), "trusted": True, "published": written.published})
        return
    app.out.said(f"✓ {name} is {shown_url(entry.url)}, from {entry.base}; trusted in this clone")
    if entry.deliver == PULL_REQUEST:
        app.out.note(_NO_PULL_REQUESTS)


def _fields(before: Any, url: str, flags: dict[str, Any]) -> dict[str, Any]:
    """Return the entry to write: the one before, with what was typed; an empty text takes a key away. Raises BadInput."""
    found = dict(before) if isinstance(before, dict) else {}
    clone = dict(found.get("clone") or {}) if isinstance(found.get("clone"), dict) else {}
    typed = {"url": url, **{key: flags[key] for key in ("deliver", "setup", "teardown") if flags[key] is not None}}
    typed |= {"copy": flat(flags["copy"])} if flags["copy"] else {}
    typed |= {"cache": dict(_pair(word) for word in flat(flags["cache"]))} if flags["cache"] else {}
    given = {"filter": flags["filter"], "submodules": flags["submodules"], "lfs": flags["lfs"], "min_free": flags["min_free"]}
    given["sparse"] = flat(flags["sparse"]) if flags["sparse"] else None
    clone.update({key: value for key, value in given.items() if value is not None})
    found.update(typed, clone={key: value for key, value in clone.items() if value not in ("", [])})
    return {key: value for key, value in found.items() if value not in ("", [], {})}


def _pair(word: str) -> tuple[str, str]:
    variable, sign, name = word.partition("=")
    if not sign:
        raise BadInput(f"{word!r} is not VARIABLE=NAME", hint="such as --cache PIP_CACHE_DIR=pip")
    return variable, name


def _default_base(url: str) -> str:
    """Return the branch that a repository's HEAD names. Raises BadInput if there is none."""
    ref, _ = tip_at(url, "HEAD")
    if not ref.startswith("refs/heads/"):
        raise BadInput(f"{shown_url(url)} has no default branch", hint="name one with --base")
    return ref.removeprefix("refs/heads/")


def _check_branches(app: App, entry: Repo) -> None:
    """Check that the base is there, and that nothing is in the way of the beads' branches. Raises BadInput."""
    there = branches_at(entry.url)
    if entry.base not in there:
        close = nearest(entry.base, there)
        hint = f"did you mean {close}?" if close else f"it has {', '.join(sorted(there)[:8]) or 'no branches'}"
        raise BadInput(f"{shown_url(entry.url)} has no branch {entry.base}", hint=hint)
    if entry.base == hub_branch_in(entry, app.hub):
        raise BadInput(f"{entry.base} is the branch of the hub, not of code", hint="name another with --base")
    clash = next(filter(is_in_the_way, there), None)
    if clash:
        words = f"{shown_url(entry.url)} has a branch {clash}, so there can be none below {PREFIX}"
        raise BadInput(words, hint="rename that branch first")


def _object(entry: Repo) -> dict[str, Any]:
    shown = {**entry._asdict(), "clone": {key: value for key, value in entry.clone._asdict().items() if value}}
    return {key: value for key, value in shown.items() if value not in ("", (), {}, None)}


LIST_REPOS = Command("list", help="List the code repositories, and whether this clone works on them.", examples=["bd repo list"])


def list_repos(app: App) -> None:
    """List the code repositories, and whether this clone works on them."""
    entries, wrong = repos_of(app.snapshot().config())
    stopped = {one.name: one for one in stopped_repos(app.hub, app.snapshot(), app.now)}
    if app.out.is_json:
        found = [
            {**_object(one), **({"stopped": stopped[one.name].why} if one.name in stopped else {})} for one in entries.values()
        ]
        app.out.json([*found, *({"name": name, "stopped": why} for name, why in wrong.items())])
        return
    rows = [(one.name, shown_url(one.url), one.base, one.deliver, _state(stopped, one.name)) for one in entries.values()]
    rows += [(name, "", "", "", why) for name, why in wrong.items()]
    if rows:
        app.out.table(["repository", "url", "base", "deliver", "here"], [[escaped(cell) for cell in row] for row in rows])
    else:
        app.out.line("No code repositories yet. `bd repo add NAME URL` adds one.")


def _state(stopped: dict[str, Any], name: str) -> str:
    return stopped[name].why if name in stopped else "trusted"


SHOW = Command("show", Argument("name"), help="Show one code repository: its whole entry.", examples=["bd repo show relay"])


def show(app: App, name: str) -> None:
    """Show one code repository."""
    entry = _entry(app, name)
    stopped = why_stopped(app.hub, app.snapshot(), app.now, name)
    if app.out.is_json:
        app.out.object({**_object(entry), **({"stopped": stopped.why} if stopped else {})})
        return
    asked = next(one for one in repos_asked_for(app.snapshot()) if one.repo == name)
    for line in asked.text.split("\n"):
        app.out.line(escaped(line))
    app.out.line(f"here: {stopped.why if stopped else 'trusted'}")


def _entry(app: App, name: str) -> Repo:
    """Return an entry. Raises NotFound and BadInput."""
    entries, wrong = repos_of(app.snapshot().config())
    if name in wrong:
        raise BadInput(wrong[name], hint="`bd repo add` writes it again")
    if name not in entries:
        close = nearest(name, entries)
        raise NotFound(f"no repository {name!r}", hint=f"did you mean {close}?" if close else "`bd repo list` shows all")
    return entries[name]


REMOVE = Command(
    "remove",
    Argument("name"),
    help="""Remove a code repository from the hub.

    Its workspaces and what is set aside stay on each machine: `bd workspace list` shows them.
    """,
    examples=["bd repo remove relay"],
)


def remove(app: App, name: str) -> None:
    """Remove a code repository from the hub."""
    app.refuse_past()
    there = app.snapshot().config().get(REPOS)
    if not isinstance(there, dict) or name not in there:
        _entry(app, name)
    written = app.publish(SetSetting(**app.asked(path=[REPOS, name], value=None)))
    if app.out.is_json:
        app.out.object({"name": name, "removed": True, "published": written.published})
    else:
        app.out.said(f"✓ Removed {name}; its workspaces stay")


CHECK = Command(
    "check",
    Argument("name"),
    help="""Fetch a code repository, ask whether bd may push to it, and end its rest.

    Exit 0 if work on it can begin. A repository rests when its setup has failed twice in a row.
    """,
    examples=["bd repo check relay"],
)


def check(app: App, name: str) -> None:
    """Fetch a code repository, ask whether bd may push to it, and end its rest."""
    entry = _entry(app, name)
    stopped = why_stopped(app.hub, app.snapshot(), app.now, name)
    if stopped is not None and not stopped.is_rest:  # nobody here has agreed to that URL
        raise BadInput(f"{name} gets no work here: {stopped.why}", hint="`bd trust --yes` pins what it shows")
    _check_branches(app, entry)
    setup_worked(app.hub, name)
    cache = cache_for(entry, app.hub)
    cache.fetch()
    if entry.deliver != NONE:
        may_push(entry, cache)
    pushes = "nothing is pushed" if entry.deliver == NONE else "bd may push"
    if app.out.is_json:
        app.out.object({"name": name, "base": entry.base, "tip": cache.tip(entry.base), "may_push": entry.deliver != NONE})
    else:
        app.out.said(f"✓ {name}: {entry.base} is at {str(cache.tip(entry.base))[:12]}; {pushes}")


SPEC = Group(
    "repo",
    {
        "add": (ADD, add),
        "list": (LIST_REPOS, list_repos),
        "show": (SHOW, show),
        "remove": (REMOVE, remove),
        "check": (CHECK, check),
    },
    help="Add and show the code repositories that beads are about.",
)
