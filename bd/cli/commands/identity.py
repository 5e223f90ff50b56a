"""bd identity."""

from __future__ import annotations

import json
import os

from bd import TYPE_CHECKING
from bd.cli.output import escaped
from bd.cli.spec import Argument, Command, Group, Option, list_option
from bd.cli.values import flat
from bd.core import signers
from bd.core.errors import BadInput, NoKey
from bd.core.identity import identify
from bd.core.ids import check_agent
from bd.core.schema import agent_path, capacity_path
from bd.operations.signers import Allow, Revoke, lines_of
from bd.store.trust import agent_cards, signing

if TYPE_CHECKING:
    from typing import Any

    from bd.cli.app import App


def _own(app: App) -> str:
    """Return the name that the caller signs under. Raises BadInput."""
    who = app.identity if app.has_hub() else identify(app.flags.agent, {}, {}, "", actor=app.flags.actor)
    name = signers.name_of(who.by.split(":", 1)[-1])
    if not name:
        raise BadInput(f"{who.by} can't be the name of a signer", hint="give --agent NAME")
    return name


def _shown(name: str, app: App) -> dict[str, Any]:
    """Return a name's key on this machine, what it declares, and whether this hub trusts and knows it."""
    key, told = signing.public_key(name), agent_cards.read(name)
    own = {"key": key, "path": signing.path_of(name)} if key else {}
    found: dict[str, Any] = {"name": name, **own}
    hub: dict[str, Any] = {}
    if app.has_hub():
        snapshot = app.snapshot()
        agent, said = snapshot.record(agent_path(name)) or {}, snapshot.record(capacity_path(name)) or {}
        hub = {field: agent[field] for field in agent_cards.KEYS.values() if agent.get(field)}
        found["allowed"] = bool(key) and snapshot.cache.standing().allows(name, key or "")
        if said.get("version"):
            found["bd"] = said["version"]
    found.update(
        {word: told.get(field) or hub[field] for word, field in agent_cards.KEYS.items() if told.get(field) or field in hub}
    )
    unlike = [word for word, field in agent_cards.KEYS.items() if told.get(field) and told[field] != hub.get(field)]
    return {**found, **({"unlike": unlike} if unlike and "allowed" in found else {})}


def _say(app: App, shown: dict[str, Any]) -> None:
    if app.out.is_json:
        app.out.object(shown)
        return
    if "key" not in shown:
        app.out.line(f"{shown['name']} has no key on this machine; `bd identity init --agent {shown['name']}` makes one")
    else:
        app.out.line(f"{shown['name']}: {shown['key']}")
        trusts = f"; this hub {'trusts' if shown['allowed'] else 'does not trust'} it" if "allowed" in shown else ""
        app.out.line(f"  in {escaped(shown['path'])}{trusts}")
    for word in agent_cards.KEYS:
        if word in shown:
            app.out.line(f"  {word}: {escaped(shown[word] if isinstance(shown[word], str) else ', '.join(shown[word]))}")
    if shown.get("unlike"):
        app.out.line(f"  Its agent file here differs in: {', '.join(shown['unlike'])}")


INIT = Command(
    "init",
    list_option("--model", name="models", help="Models it can use."),
    list_option("--capability", name="capabilities", help="Capabilities that it has."),
    Option("--agent-version", name="version", help="Its version."),
    help="""Create an SSH key for your identity; an existing one is kept.

    It is kept in your configuration folder, outside of every hub, and used for all of them, together with what you declare:
    models, capabilities, version (default: those of the agent file here). Someone who may sign then lets it in:
    bd identity allow NAME KEY.
    """,
    examples=["bd identity init --agent codemonkey", "bd identity init --model opus --capability git,python"],
)


def init(app: App, **said: Any) -> None:
    """Make an SSH key for the caller; an existing one is kept."""
    app.refuse_past()
    name = _own(app)
    is_new = signing.make(name)
    told, fresh = agent_cards.read(name), _told(said)
    if not told and app.has_hub():
        agent = app.snapshot().record(agent_path(name)) or {}
        told = {field: agent[field] for field in agent_cards.KEYS.values() if agent.get(field)}
    if fresh or (told and is_new):
        agent_cards.write(name, {**told, **fresh})
    if not app.out.is_json:
        app.out.said(f"✓ Made a key for {name}" if is_new else f"{name} already has a key, which is kept")
    _say(app, _shown(name, app))


def _told(said: dict[str, Any]) -> dict[str, Any]:
    """Return the typed declarations, by the keys of an agent file. Raises BadInput."""
    typed = {"version": said["version"], **{word: flat(said[word]) for word in ("models", "capabilities")}}
    return agent_cards.told_in(json.dumps({word: value for word, value in typed.items() if value}), "what was typed")


SHOW = Command(
    "show",
    help="""Show your key, what you declare, and whether this hub trusts it.

    With --json, a file that `bd identity allow NAME FILE` takes: key and words together.
    """,
    examples=["bd identity show --agent codemonkey"],
)


def show(app: App) -> None:
    """Show the caller's key, what it declares, and whether this hub trusts it."""
    _say(app, _shown(_own(app), app))


LISTED = Command(
    "list",
    help="List whose keys this hub trusts, and when others were revoked.",
    examples=["bd identity list"],
)


def listed(app: App) -> None:
    """List whose keys this hub trusts, and when others were revoked."""
    snapshot = app.snapshot()
    believed = {signer.line for signer in signers.read(snapshot.cache.standing().signers)}
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
        what = "not added by an allowed signer" if not one["believed"] else "revoked" if one["revoked"] else "allowed"
        app.out.line(f"{one['name']}  {what}  {str(one['key'])[:60]}")
    if not found:
        app.out.line("Nobody may sign here yet; `bd identity allow` lets you in as the first.")


def _key(typed: str | None, name: str) -> tuple[str, dict[str, Any]]:
    """Return a public key that was typed, is in a file, or is this name's on this machine; and what it declares.

    Raises BadInput, NoKey.
    """
    if typed is None:
        key = signing.public_key(name)
        if key is None:
            raise NoKey(name)
        return key, agent_cards.read(name)
    is_file = not typed.lstrip().startswith(("ssh-", "ecdsa-", "sk-")) or os.path.isfile(typed)
    key, told = agent_cards.key_in(typed) if is_file else (typed, {})
    return signers.key_of(key), told


ALLOW = Command(
    "allow",
    Argument("name", required=False),
    Argument("key", required=False),
    help="""Let somebody sign here, by a public key or a file with one. Without arguments: you.

    Only allowed signers may let others in; the first one lets in their own key. What an identity declares (on this
    machine, or in a file of `bd identity show --json`) fills gaps in its agent file.
    """,
    examples=["bd identity allow", "bd identity allow codemonkey codemonkey.pub"],
)


def allow(app: App, name: str | None, key: str | None) -> None:
    """Let somebody sign here, by a public key or a file with one. Without arguments: the caller."""
    app.refuse_past()
    own = _own(app)
    name = check_agent(name or own)
    wanted, told = _key(key, name)
    standing = app.snapshot().cache.standing()
    if not standing.signers and (name != own or wanted != signing.public_key(own)):
        raise BadInput(
            "nobody may sign here yet", hint="let yourself in first: `bd identity allow`, with the key of `bd identity init`"
        )
    app.publish(Allow(**app.asked(agent=name, key=wanted, **({"fields": told} if told else {}))))
    if app.out.is_json:
        app.out.object({"name": name, "key": wanted})
    else:
        app.out.said(f"✓ {name} may sign")


REVOKE = Command(
    "revoke",
    Argument("name"),
    help="Revoke somebody's keys. Earlier signatures stay valid.",
    examples=["bd identity revoke codemonkey"],
)


def revoke(app: App, name: str) -> None:
    """Revoke somebody's keys. What was signed until now stays valid."""
    app.publish(Revoke(**app.asked(agent=check_agent(name))))
    if app.out.is_json:
        app.out.object({"name": name, "revoked": True})
    else:
        app.out.said(f"✓ {name} may no longer sign")


SPEC = Group(
    "identity",
    {
        "init": (INIT, init),
        "show": (SHOW, show),
        "list": (LISTED, listed),
        "allow": (ALLOW, allow),
        "revoke": (REVOKE, revoke),
    },
    help="Create signing keys, and decide whose keys a hub trusts.",
)
