"""bd config."""

from __future__ import annotations

import os
import re
from difflib import get_close_matches
from typing import TYPE_CHECKING

from bd.cli.spec import Argument, Command, Flag, Group
from bd.core.errors import BadInput
from bd.core.ids import check_agent, check_prefix
from bd.core.schema import CONFIG_PATH
from bd.core.settings import HUB_KEYS, KEYS, PERSONAL_KEYS, PLACE_KEYS, is_duration
from bd.core.times import duration_text
from bd.operations.beads import Write
from bd.setup.hub import set_clone_setting, set_user_setting
from bd.store.hub_location import forget

if TYPE_CHECKING:
    from typing import Any

    from bd.cli.app import App


# The Go tool's names for settings that exist here.
_ALIASES = {
    "issue_prefix": "prefix",
    "issue-prefix": "prefix",
    "types.custom": "types",
    "status.custom": "statuses",
    "actor": "agent",
    "export.auto": "export_auto",
}
_LAYERS = {
    "--agent": "flag",
    "--actor": "flag",
    "BD_AGENT": "environment",
    "BEADS_ACTOR": "environment",
    "BD_ACTOR": "environment",
    "clone configuration": "clone",
    "user configuration": "user",
}
_LISTS = frozenset({"types", "statuses"})


def _check(name: str, value: str) -> None:
    """Check what is made with this setting. Raises BadInput."""
    if value and name == "prefix":
        check_prefix(value)
    elif value and name == "agent":
        check_agent(value)
    elif value and name == "domain" and not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9.-]*", value):
        raise BadInput(f"{value!r} can't be a domain", hint="letters, digits, dots and -, such as b4mad")


def _agent(app: App) -> tuple[str, str]:
    """Return the agent that the next command acts as, and the layer that names it. `bd whoami` shows more."""
    who = app.identity
    return (who.agent, _LAYERS[who.source]) if who.agent and who.source in _LAYERS else ("", "default")


def _place_source(app: App, name: str) -> str:
    """Return the layer that says where the hub is kept; the clone's if bd found it."""
    if os.environ.get(f"BD_{name.upper()}"):
        return "environment"
    place = app.hub.place
    return "user" if name == "branch" and not place.clone_layer.get(name) and place.user_layer.get(name) else "clone"


def _value(app: App, key: str) -> Any:
    name = _ALIASES.get(key, key)
    if name == "agent":
        return _agent(app)[0]
    if name in KEYS:
        return getattr(app.settings(), name)
    if name == "branch":
        return app.hub.branch_name
    if name == "remote":
        return app.hub.remote_name or ""
    return app.snapshot().config().get(name, "")


SHOW = Command(
    "show",
    help="Show every setting, its value and where it comes from.",
    examples=["bd config show"],
)


def show(app: App) -> None:
    """Show every setting, its value and its source."""
    settings = app.settings()
    sources = {**settings.sources, "agent": _agent(app)[1]}
    rows = [[name, _text(_shown(name, _value(app, name))), sources[name], key.help] for name, key in KEYS.items()]
    rows += [
        ["branch", app.hub.branch_name, _place_source(app, "branch"), "the branch the hub is on"],
        ["remote", app.hub.remote_name or "(none)", _place_source(app, "remote"), "what it is shared through"],
    ]
    if app.out.is_json:
        app.out.object({row[0]: {"value": _value(app, row[0]), "source": row[2]} for row in rows})
        return
    app.out.table(["setting", "value", "from", "what for"], rows)


GET = Command(
    "get",
    Argument("key"),
    help="Print one setting.",
    examples=["bd config get prefix"],
)


def get(app: App, key: str) -> None:
    """Print one setting."""
    value = _value(app, key)
    if app.out.is_json:
        app.out.object({"key": key, "value": value if isinstance(value, (int, float)) else _text(value)})
    else:
        app.out.line(_text(_shown(_ALIASES.get(key, key), value)))


SET_VALUE = Command(
    "set",
    Argument("key"),
    Argument("value"),
    Flag("--hub", name="layer", value="hub", default="hub", help="For everybody, in the hub (default)."),
    Flag("--clone", name="layer", value="clone", help="For this clone only."),
    Flag("--user", name="layer", value="user", help="For you, on this machine."),
    help="Change a setting; an empty value unsets it.",
    examples=["bd config set claim_ttl 30m", "bd config set agent codemonkey --clone"],
)


def set_value(app: App, key: str, value: str, layer: str) -> None:
    """Change a setting; an empty value unsets it."""
    app.refuse_past()
    name = _ALIASES.get(key, key)
    if name in PLACE_KEYS and layer != "clone":
        raise BadInput(f"{name} is a matter of the clone", hint=f"bd config set {name} {value} --clone")
    if name in HUB_KEYS and layer != "hub":
        raise BadInput(f"{name} is a matter of the hub, the same for everybody", hint=f"bd config set {name} {value}")
    if name in PERSONAL_KEYS and layer == "hub" and value:
        raise BadInput(f"{name} is a matter of each machine", hint=f"bd config set {name} {value} --clone, or --user")
    if name not in KEYS and name not in PLACE_KEYS and "." not in name:
        raise BadInput(f"no setting {key!r}", hint=_nearest(key))
    _check(name, value)
    stored: Any = [part.partition(":")[0] for part in KEYS[name].read(value)] if name in _LISTS else value
    if name in KEYS and value:
        read = KEYS[name].read(value)
        stored = read if name == "commit_trailers" else stored
    stored = stored or None
    published = True
    if layer == "hub":
        published = app.publish(Write(**app.asked(records={CONFIG_PATH: {name: stored}}, words=name))).published
    elif layer == "clone":
        set_clone_setting(app.hub.repo, name, stored)
    else:
        set_user_setting(name, stored)
    forget(app.hub.repo)
    if app.out.is_json:
        app.out.object({"key": key, "value": value, "location": layer, "published": published})
    else:
        app.out.said(f"✓ {name} = {value or '(unset)'} ({layer})")


UNSET = Command(
    "unset",
    Argument("key"),
    help="Take a setting out of the hub's file, so that its default holds.",
    examples=["bd config unset claim_ttl"],
)


def unset(app: App, key: str) -> None:
    """Remove a setting from the hub's file, so that its default applies."""
    set_value(app, key, value="", layer="hub")


def _shown(name: str, value: Any) -> Any:
    """Return a setting as a person would type it: durations with their unit."""
    return duration_text(value) if name in KEYS and is_duration(name) and float(value).is_integer() else value


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _nearest(key: str) -> str:
    names = [*KEYS, *PLACE_KEYS]
    close = get_close_matches(key, names, n=1)
    return f"did you mean {close[0]}?" if close else f"one of {', '.join(names)}"


SPEC = Group(
    "config",
    {
        "show": (SHOW, show),
        "list": (SHOW, show),
        "get": (GET, get),
        "set": (SET_VALUE, set_value),
        "unset": (UNSET, unset),
    },
    help="Read and change settings, and see where each comes from.",
)
