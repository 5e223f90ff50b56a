"""What is posted to a gateway: bd's own message, or a JSON document of the operator's with templates for strings.

The templates are those of prompts (brief/template.py). They are filled after the document is parsed, so a title can't add a key
to it.
"""

from __future__ import annotations

import json
from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.brief.template import rendered
from bd.core.errors import BadInput
from bd.core.json_shapes import no_constant

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from bd.core.model import Bead

# What a template may name, as in {{.Id}}.
NAMES = ("Agent", "Id", "Title", "Type", "Priority", "Key")


class Message(NamedTuple):
    """A bead that became ready for an agent; `key` is the same for each try."""

    agent: str
    bead: Bead
    key: str

    @property
    def own(self) -> dict[str, Any]:
        """The message as bd writes it."""
        bead = self.bead
        shown = {"id": bead.id, "title": bead.title, "type": bead.type, "priority": bead.priority}
        return {"event": "ready", "key": self.key, "agent": self.agent, "bead": shown}

    @property
    def values(self) -> dict[str, str | bool]:
        """What a template may name."""
        bead = self.bead
        values = (self.agent, bead.id, bead.title, bead.type, str(bead.priority), self.key)
        return dict(zip(NAMES, values, strict=True))


def template_of(text: str) -> Any:
    """Parse a document for gateways. Raises BadInput if it isn't JSON, or a template in it names a value that does not exist."""
    try:
        template = json.loads(text, parse_constant=no_constant)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"the body for gateways is not JSON: {error}", hint="`bd serve --help` shows what it may name") from None
    _filled(template, dict.fromkeys(NAMES, ""))
    return template


def body_of(message: Message, template: Any = None) -> bytes:
    """Return what to post: the template with its values, or bd's own message without one."""
    told = message.own if template is None else _filled(template, message.values)
    return json.dumps(told).encode()


def _filled(part: Any, values: Mapping[str, str | bool]) -> Any:
    if isinstance(part, str):
        return rendered(part, values)
    if isinstance(part, list):
        return [_filled(one, values) for one in part]
    if isinstance(part, dict):
        return {key: _filled(one, values) for key, one in part.items()}
    return part
