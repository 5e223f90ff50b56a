"""bd config."""

from __future__ import annotations

import os
import re

from bd import TYPE_CHECKING
from bd.cli.columns import GAP, cells, cut
from bd.cli.spec import Argument, Command, Flag, Group
from bd.core.errors import BadInput
from bd.core.ids import check_agent, check_prefix
from bd.core.schema import CONFIG_PATH
from bd.core.settings import KEYS, PLACE_KEYS, is_duration, may_set
from bd.core.settings import stored as stored_value
from bd.core.times import duration_text
from bd.operations.beads import Write
from bd.operations.settings import SetSetting
from bd.policy.hub_settings import SETTINGS, find_setting, in_the_way, is_set, leaves, setting_of, with_value
from bd.policy.url_access import allow_list
from bd.setup.hub import set_clone_setting, set_user_setting
from bd.store.hub_location import forget

if TYPE_CHECKING:
    from collections.abc import Mapping
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
# If a row is wider than the terminal, its value is cut here; `config get` prints all of it.
_WIDEST_VALUE = 28
# Fewer columns than this are no room for words.
_LEAST_WORDS = 24
_SOURCES = {
    "--agent": "flag",
    "--actor": "flag",
    "BD_AGENT": "environment",
    "BEADS_ACTOR": "environment",
    "BD_ACTOR": "environment",
    "clone configuration": "clone",
    "user configuration": "user",
}


def _checked(name: str, value: str) -> str:
    """Return the value as it is kept, checked for what is made with this setting. Raises BadInput."""
    if value and name == "prefix":
        check_prefix(value)
    elif value and name == "agent":
        return check_agent(value)
    elif value and name == "domain" and not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9.-]*", value):
        raise BadInput(f"{value!r} can't be a domain", hint="letters, digits, dots and -, such as b4mad")
    elif value and name in ("max_attempts", "stall_factor") and not KEYS[name].read(value) > 0:
        raise BadInput(f"must be more than 0, not {value!r}")
    elif name == "url_allow":
        allow_list(KEYS[name].read(value))
    return value


def _entry(name: str, part: str) -> str:
    """An entry of a list as it is kept; the Go tool's have a category behind a colon."""
    return part.partition(":")[0] if name in ("types", "statuses") else part


def _agent(app: App) -> tuple[str, str]:
    """Return the agent that the next command acts as, and the layer that names it. `bd whoami` shows more."""
    who = app.identity
    return (who.agent, _SOURCES[who.source]) if who.agent and who.source in _SOURCES else ("", "default")


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
    below = _below_keys(app)
    return below[name][0] if name in below else app.snapshot().config().get(name, "")


def _layers(app: App) -> dict[str, Mapping[str, Any]]:
    """Return the layers with settings, the strongest first."""
    return {"clone": app.hub.place.clone_layer, "user": app.hub.place.user_layer, "hub": app.snapshot().config()}


def _below_keys(app: App) -> dict[str, tuple[Any, str, str]]:
    """Return value, source and purpose of the settings with dotted names. Those whose names are free are there only if set."""
    types = app.settings().types
    found = {one.key: (one.default_value, "default", one.help) for one in SETTINGS if not one.is_open}
    for source, layer in reversed(_layers(app).items()):
        for path, value in leaves(layer):
            known = find_setting(path, types)
            if known is not None and source in known.layers:
                found[known.key] = (value, source, known.help)
    if isinstance(app.snapshot().config().get("friction"), dict):  # its figures say yes as well
        found["friction"] = (True, "hub", found["friction"][2])
    return dict(sorted(found.items()))


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
        ["branch", app.hub.branch_name, _place_source(app, "branch"), "the hub's branch"],
        ["remote", app.hub.remote_name or "(none)", _place_source(app, "remote"), "the remote it is shared through"],
    ]
    below = _below_keys(app)
    if app.out.is_json:
        document = {row[0]: {"value": _value(app, row[0]), "source": row[2]} for row in rows}
        app.out.object({**document, **{key: {"value": value, "source": source} for key, (value, source, _) in below.items()}})
        return
    rows += [[key, _text(value), source, words] for key, (value, source, words) in below.items()]
    _show_table(app, rows)


def _show_table(app: App, rows: list[list[str]]) -> None:
    """Print the rows; on a narrow terminal without the column `what for`, so that the values have room."""
    columns = ["setting", "value", "from", "what for"]
    width = app.out.width()
    if sum(_widths(columns, rows)) > width:
        rows = [[row[0], cut(row[1], _WIDEST_VALUE), *row[2:]] for row in rows]
        if width - sum(_widths(columns, rows)[:3]) < _LEAST_WORDS:
            columns, rows = columns[:3], [row[:3] for row in rows]
    app.out.table(columns, rows)


def _widths(columns: list[str], rows: list[list[str]]) -> list[int]:
    """Return the width of each column with the gap behind it."""
    return [max(map(cells, column)) + GAP for column in zip(columns, *rows, strict=True)]


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


_LAYERS = (
    Flag("--hub", name="layer", value="hub", default="hub", help="For the whole hub (default)."),
    Flag("--clone", name="layer", value="clone", help="For this clone only."),
    Flag("--user", name="layer", value="user", help="For you, in all clones on this machine."),
)


SET_VALUE = Command(
    "set",
    Argument("key"),
    Argument("value"),
    *_LAYERS,
    help="Change a setting; an empty value unsets it.",
    examples=[
        "bd config set claim_ttl 30m",
        "bd config set agent codemonkey --clone",
        "bd config set defaults.expected.code 3h",
        "bd config set validators.tests 'make test' --clone",
    ],
)


def set_value(app: App, key: str, value: str, layer: str) -> None:
    """Change a setting; an empty value unsets it."""
    app.refuse_past()
    name = _ALIASES.get(key, key)
    if name in KEYS or name in PLACE_KEYS:
        published = _write(app, (name,), _stored(name, value, layer), layer)
    else:
        published = _write(app, *_below(app, name, value, layer), layer)
    if app.out.is_json:
        app.out.object({"key": key, "value": value, "location": layer, "published": published})
    else:
        app.out.said(f"✓ {name} = {value or '(unset)'} ({layer})")


def _stored(name: str, value: str, layer: str) -> Any:
    """Return the value to store for a setting with a plain name; None unsets it. Raises BadInput."""
    if name in PLACE_KEYS and layer != "clone":
        raise BadInput(f"{name} is set per clone", hint=f"bd config set {name} {value} --clone")
    if name in KEYS and not may_set(name, layer) and may_set(name, "hub"):
        raise BadInput(f"{name} is set for the whole hub", hint=f"bd config set {name} {value}")
    if name in KEYS and not may_set(name, layer) and value:
        raise BadInput(f"{name} is a matter of each machine", hint=f"bd config set {name} {value} --clone, or --user")
    value = _checked(name, value)
    if not value or name in PLACE_KEYS:
        return value or None
    found = stored_value(name, value)
    return [_entry(name, part) for part in found] if isinstance(found, list) else found


def _below(app: App, name: str, value: str, layer: str) -> tuple[tuple[str, ...], Any]:
    """Return path and value of a setting with a dotted name. Unsetting works for every key that is in the file. Raises BadInput."""
    path = tuple(name.split("."))
    there = _layers(app)[layer]
    if not value and (name in there or is_set(there, path)):
        return ((name,) if name in there else path), None
    setting = setting_of(name, app.settings().types)
    if len(path) == 2 and path[0] == "defaults" and path[1] in KEYS:
        stored = _stored(path[1], value, layer)
    elif layer not in setting.layers:
        raise BadInput(f"{name} is set for the whole hub", hint=f"bd config set {name} {value}")
    else:
        stored = setting.read(value) if value else None
    above = there.get(path[0])
    if value and len(path) == 1 and isinstance(above, dict):
        raise BadInput(f"{name} has settings below it: {', '.join(f'{name}.{one}' for one in above)}", hint="unset them first")
    lost = in_the_way(there, path) if value else None
    if lost:
        raise BadInput(lost, hint=f"`bd config unset {path[0]}` first")
    return path, stored


def _write(app: App, path: tuple[str, ...], stored: Any, layer: str) -> bool:
    """Put a value into its file. Return whether the hub has it."""
    published = True
    if layer == "hub" and len(path) > 1:
        published = app.publish(SetSetting(**app.asked(path=list(path), value=stored))).published
    elif layer == "hub":
        published = app.publish(Write(**app.asked(records={CONFIG_PATH: {path[0]: stored}}, words=path[0]))).published
    else:
        top = with_value(_layers(app)[layer], path, stored).get(path[0])
        if layer == "clone":
            set_clone_setting(app.hub.repo, path[0], top)
        else:
            set_user_setting(path[0], top)
    forget(app.hub.repo)
    return published


UNSET = Command(
    "unset",
    Argument("key"),
    *_LAYERS,
    help="Remove a setting from its file, so that the next weaker one applies. Also removes keys that nothing reads.",
    examples=["bd config unset claim_ttl", "bd config unset validators.tests --clone"],
)


def unset(app: App, key: str, layer: str) -> None:
    """Remove a setting from its file, so that the next weaker one applies."""
    set_value(app, key, value="", layer=layer)


def _shown(name: str, value: Any) -> Any:
    """Return a setting as a person would type it: durations with their unit."""
    return duration_text(value) if name in KEYS and is_duration(name) and float(value).is_integer() else value


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


SPEC = Group(
    "config",
    {
        "show": (SHOW, show),
        "list": (SHOW, show),
        "get": (GET, get),
        "set": (SET_VALUE, set_value),
        "unset": (UNSET, unset),
    },
    help="Show and change settings, each with its source.",
)
