"""The context of a bead: resolves its context_refs as far as the hub has them.

A reference is another bead's output (`task:ID:output`), a file of the hub, or something elsewhere (a URL, a path in a commit, an
absolute path). The last kind is only listed and never read, because a bead may name anything.
"""

from __future__ import annotations

import json
import re

from bd import TYPE_CHECKING
from bd.core import ids, urls
from bd.core.errors import NoSuchBead
from bd.operations.handoff import parse_artifact

if TYPE_CHECKING:
    from typing import Any

    from bd.core.model import Bead, Snapshot
    from bd.store import Clone

_OUTPUT = re.compile(r"(?:task|bead):(?P<id>[^:\s]+)(?::output)?\Z")
LIMIT = 1_000_000


def context_of(bead: Bead, snapshot: Snapshot, hub: Clone) -> list[dict[str, Any]]:
    """Return an entry per reference, in order: `name`, `ref`, and `data`, `text`, or the reason why they are `missing`."""
    refs = (bead.get("spec") or {}).get("context_refs") or []
    found: list[dict[str, Any]] = []
    for ref in refs if isinstance(refs, list) else [refs]:
        found += _of(str(ref), snapshot, hub)
    return found


def _of(text: str, snapshot: Snapshot, hub: Clone) -> list[dict[str, Any]]:
    if not text.strip():
        return []
    output = _OUTPUT.match(text.strip())
    if not output:
        name, ref = parse_artifact(text)
        return [_file(name, ref, snapshot, hub)]
    shown = {"name": output["id"], "ref": text.strip()}
    try:
        other = snapshot.bead(ids.resolve(output["id"], snapshot.starting, snapshot.exists))
    except NoSuchBead:
        other = None
    if other is None:
        return [{**shown, "missing": "there is no such bead"}]
    shown.update(name=other.id, title=other.title)
    yielded = other.get("output") or {}
    found: list[dict[str, Any]] = []
    if yielded.get("data") is not None:
        found.append({**shown, "data": yielded["data"]})
    artifacts = yielded.get("artifacts")
    named = [one for one in artifacts if isinstance(one, dict) and one.get("ref")] if isinstance(artifacts, list) else []
    found += [_file(f"{other.id}/{one.get('name') or one['ref']}", str(one["ref"]), snapshot, hub) for one in named]
    words = {"closed": f"it was closed without an output: {other.get('close_reason') or 'Closed'}"}
    return found or [{**shown, "missing": words.get(other.status, f"it is {other.status} and has no output")}]


def _file(name: str, ref: str, snapshot: Snapshot, hub: Clone) -> dict[str, Any]:
    """Return a file of the hub with its text; for anything else only the reference."""
    shown = {"name": name, "ref": ref}
    if urls.is_url(ref) or re.match(r"[^\s@:]+@[0-9a-fA-F]{7,64}:", ref) or ref.startswith(("/", "~", "\\")) or ref[1:2] == ":":
        return {**shown, "missing": "it is elsewhere"}
    data = hub.repo.objects.read(f"{snapshot.commit}:{ref}") if ".." not in ref.split("/") else None
    if data is None:
        return {**shown, "missing": "the hub has no such file"}
    if len(data) > LIMIT:
        return {**shown, "missing": f"it has {len(data)} bytes, too many to print"}
    try:
        return {**shown, "text": data.decode("utf-8")}
    except UnicodeDecodeError:
        return {**shown, "missing": f"it is not text ({len(data)} bytes)"}


def printed(entry: dict[str, Any]) -> str:
    """Return an entry as text for people and prompts: a heading and the content."""
    title = f": {entry['title']}" if entry.get("title") else ""
    head = f"== {entry['name']}{title} ({entry['ref']})"
    if "missing" in entry:
        return f"{head}\n({entry['missing']})"
    data = entry.get("data")
    text = entry["text"] if "text" in entry else data if isinstance(data, str) else json.dumps(data, indent=2, ensure_ascii=False)
    return f"{head}\n{text.rstrip()}"
