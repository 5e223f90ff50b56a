"""The style sheet, the script and the icon of the pages. They are read once, and their names contain a hash of their content."""

from __future__ import annotations

import hashlib
from importlib.resources import files

from bd.report import html_page

_KINDS = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml"}


def _read(name: str) -> bytes:
    data = files(__package__).joinpath(name).read_bytes()
    return html_page.STYLE.encode() + data if name == "bd.css" else data


_CONTENTS = {name: _read(name) for name in ("bd.css", "bd.js", "icon.svg")}
_NAMES = {name: f"{hashlib.sha256(data).hexdigest()[:12]}-{name}" for name, data in _CONTENTS.items()}
_BY_NAME = {_NAMES[name]: (data, _KINDS[name.rpartition(".")[2]]) for name, data in _CONTENTS.items()}


def path_of(name: str) -> str:
    """Return the URL path of an asset."""
    return f"/assets/{_NAMES[name]}"


def content_of(name: str) -> tuple[bytes, str] | None:
    """Return the content and the media type of an asset by its hashed name, or None."""
    return _BY_NAME.get(name)
