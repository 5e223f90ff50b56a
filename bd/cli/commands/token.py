"""bd token: the tokens that `bd serve` and `bd mcp --http` accept."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.cli import lookup
from bd.cli.output import escaped
from bd.cli.spec import Argument, Command, Group, Option
from bd.core.errors import BadInput, WrongState
from bd.core.ids import check_agent
from bd.web import authentication
from bd.web import token_file as files
from bd.web.authentication import AGENT, CLAIM, PERSON, Account

if TYPE_CHECKING:
    from bd.cli.app import App

_FILE = Option("--token-file", metavar="FILE", help="The file that `bd serve --token-file` reads; default: this clone's own.")


CREATE = Command(
    "create",
    Option("--person", metavar="NAME", help="For a person, who may also change things on the pages."),
    Option("--for-agent", metavar="NAME", help="For an agent; it claims and writes as this agent only."),
    Option("--claim", metavar="BEAD", help="For the present claim of a bead; it ends with the claim."),
    _FILE,
    help="""Make a token, and print it: it is not shown again.

    A running server accepts it at once. The file, 0600, has its digest only.
    """,
    examples=[
        "bd token create --for-agent codemonkey",
        "bd token create --claim hub-7k3q              for a child that works on this bead alone",
    ],
)


def create(app: App, person: str | None, for_agent: str | None, claim: str | None, token_file: str | None) -> None:
    """Make a token, and print it."""
    if sum(given is not None for given in (person, for_agent, claim)) != 1:
        raise BadInput("for whom?", hint="give one of --person NAME, --for-agent NAME, --claim BEAD")
    token = authentication.fresh()
    account = _account(app, person, for_agent, claim, token)
    files.add(_path(app, token_file), account, app.runtime)
    if app.out.is_json:
        app.out.object({**_shown(account), "token": token})
    else:
        app.out.line(token)
        app.out.note(f"a token for {account.kind} {escaped(account.name)}; `bd token revoke {account.id}` ends it")


def _account(app: App, person: str | None, agent: str | None, claim: str | None, token: str) -> Account:
    if agent is not None:
        return Account(check_agent(agent), token, AGENT)
    if claim is not None:
        return _of_claim(app, claim, token)
    found = authentication.account_of((person or "").strip(), token)
    if found is None or found.kind != PERSON:
        raise BadInput(f"{person!r} can't be a person's name")
    return found


def _of_claim(app: App, typed: str, token: str) -> Account:
    bead = lookup.bead_of(typed, app.snapshot())
    if len(bead.claims) != 1:
        raise WrongState(f"{bead.id} is not held by one agent", hint=f"`bd claim {bead.id}` first", id=bead.id)
    return Account(bead.id, token, CLAIM, str(bead.claims[0]["token"]))


LIST_TOKENS = Command("list", _FILE, help="List whose tokens there are, without the tokens.", examples=["bd token list"])


def list_tokens(app: App, token_file: str | None) -> None:
    """List whose tokens there are."""
    found = [_shown(account) for account in files.accounts_in(_path(app, token_file), app.out.note)]
    lookup.list_them(app, "token", found, ("kind", "for"), lambda one: [one["name"], one["kind"], escaped(one["for"])])


REVOKE = Command(
    "revoke",
    Argument("token"),
    _FILE,
    help="End a token, by its name in `bd token list`; a running server refuses it from now on.",
    examples=["bd token revoke 5b1f09ac"],
)


def revoke(app: App, token: str, token_file: str | None) -> None:
    """End a token."""
    gone = files.remove(_path(app, token_file), token, app.runtime)
    if app.out.is_json:
        app.out.object({**_shown(gone), "revoked": True})
    else:
        app.out.said(f"✓ Revoked the token of {gone.kind} {escaped(gone.name)}")


def _shown(account: Account) -> dict[str, str]:
    return {"name": account.id, "kind": account.kind, "for": account.name}


def _path(app: App, given: str | None) -> str:
    return given or files.own_file(app.hub.place.folder)


SPEC = Group(
    "token",
    {"create": (CREATE, create), "list": (LIST_TOKENS, list_tokens), "revoke": (REVOKE, revoke)},
    help="Make, list and revoke the tokens that a server accepts.",
)
