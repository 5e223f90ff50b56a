"""bd identity."""

from __future__ import annotations

import os
from typing import Any

import click

from bd import signers
from bd.cli.context import App
from bd.cli.options import pass_app
from bd.errors import BadInput, NoKey
from bd.fields import agent_path, capacity_path
from bd.ids import check_agent
from bd.operations.signers import Allow, Revoke, lines_of
from bd.store import signing
from bd.store.hub import Hub


@click.group("identity", no_args_is_help=False)
def command() -> None:
    """Make the key an agent signs with, and say whose keys a hub believes."""


def _own(app: App) -> str:
    """The name that whoever runs this signs under. Raises BadInput."""
    name = signers.name_of(app.identity.by.split(":", 1)[-1])
    if not name:
        raise BadInput(f"nobody can sign as {app.identity.by}", hint="give --agent NAME")
    return name


def _shown(name: str, hub: Hub, app: App) -> dict[str, Any]:
    """A name with its key on this machine, whether this hub believes it, and what its files say of it."""
    key = signing.public_key(name)
    snapshot = app.snapshot()
    agent, said = snapshot.record(agent_path(name)) or {}, snapshot.record(capacity_path(name)) or {}
    told = {
        "version": said.get("version"),
        "models": agent.get("models_available"),
        "capabilities": agent.get("capabilities"),
    }
    own = {"key": key, "path": signing.path_of(name)} if key else {}
    is_allowed = bool(key) and hub.cache.standing().allows(name, key or "")
    return {"name": name, **own, "allowed": is_allowed, **{word: value for word, value in told.items() if value}}


def _say(app: App, shown: dict[str, Any]) -> None:
    if app.out.is_json:
        app.out.object(shown)
        return
    if "key" not in shown:
        app.out.line(f"{shown['name']} has no key on this machine; `bd identity init --agent {shown['name']}` makes one")
        return
    app.out.line(f"{shown['name']}: {shown['key']}")
    app.out.line(f"  in {shown['path']}; this hub {'believes' if shown['allowed'] else 'does not believe'} it")
    for word in ("version", "models", "capabilities"):
        if word in shown:
            app.out.line(f"  {word}: {shown[word] if isinstance(shown[word], str) else ', '.join(shown[word])}")


@command.command("init", epilog="\b\nExample:\n  bd identity init --agent codemonkey")
@pass_app
def init(app: App) -> None:
    """Make an SSH key for who you are; one that is there stays as it is.

    It lies in your configuration folder, outside of every hub, and serves them all. Somebody who is allowed then
    lets it in: bd identity allow NAME KEY.
    """
    name = _own(app)
    is_new = signing.make(name)
    if not app.out.is_json:
        app.out.said(f"✓ Made a key for {name}" if is_new else f"{name} has a key; it stays")
    _say(app, _shown(name, app.hub, app))


@command.command("show", epilog="\b\nExample:\n  bd identity show --agent codemonkey")
@pass_app
def show(app: App) -> None:
    """Show your key, and whether this hub believes it."""
    _say(app, _shown(_own(app), app.hub, app))


@command.command("list", epilog="\b\nExample:\n  bd identity list")
@pass_app
def listed(app: App) -> None:
    """List whose keys this hub believes, and since it stopped to."""
    snapshot = app.snapshot()
    believed = {signer.line for signer in signers.read(app.hub.cache.standing().signers)}
    found = [
        {
            "name": name,
            "key": signer.key,
            "revoked": signer.is_revoked,
            "until": signer.until if signer.is_revoked else None,
            "believed": signer.line in believed,
        }
        for signer in signers.read(lines_of(snapshot))
        for name in signer.names
    ]
    if app.out.is_json:
        app.out.json([{key: value for key, value in one.items() if value is not None} for one in found])
        return
    for one in found:
        what = "added by nobody who may" if not one["believed"] else "revoked" if one["revoked"] else "allowed"
        app.out.line(f"{one['name']}  {what}  {str(one['key'])[:60]}")
    if not found:
        app.out.line("Nobody may sign here yet; `bd identity allow` lets you in, as the first.")


def _key(typed: str | None, name: str) -> str:
    """The public key that was typed, stands in a file, or is this name's on this machine. Raises BadInput, NoKey."""
    if typed is None:
        key = signing.public_key(name)
        if key is None:
            raise NoKey(name)
        return key
    if not typed.lstrip().startswith(("ssh-", "ecdsa-", "sk-")) or os.path.isfile(typed):
        try:
            with open(typed, encoding="utf-8", errors="replace") as file:
                typed = file.read(20_000).strip()
        except OSError as error:
            raise BadInput(
                f"can't read {typed}: {error.strerror}", hint="give the key, or the .pub file that holds it"
            ) from error
    return signers.key_of(typed)


@command.command("allow", epilog="\b\nExamples:\n  bd identity allow\n  bd identity allow codemonkey codemonkey.pub")
@click.argument("name", required=False)
@click.argument("key", required=False)
@pass_app
def allow(app: App, name: str | None, key: str | None) -> None:
    """Let somebody sign here: a public key, or a file that holds it. Without words: you.

    Only who may sign may let others in. The first one is whoever lets in the own key.
    """
    own = _own(app)
    name = check_agent(name or own)
    wanted = _key(key, name)
    standing = app.hub.cache.standing() if app.snapshot() else None
    if not (standing and standing.signers) and (name != own or wanted != signing.public_key(own)):
        raise BadInput(
            "nobody may sign here yet", hint="let yourself in first: `bd identity allow`, with the key of `bd identity init`"
        )
    app.publish(Allow(**app.asked(agent=name, key=wanted)))
    if app.out.is_json:
        app.out.object({"name": name, "key": wanted})
    else:
        app.out.said(f"✓ {name} may sign")


@command.command("revoke", epilog="\b\nExample:\n  bd identity revoke codemonkey")
@click.argument("name")
@pass_app
def revoke(app: App, name: str) -> None:
    """Let somebody sign no more. What was signed until now stays valid."""
    app.publish(Revoke(**app.asked(agent=check_agent(name))))
    if app.out.is_json:
        app.out.object({"name": name, "revoked": True})
    else:
        app.out.said(f"✓ {name} may sign no more")
