"""Hooks of coding agents: what calls `bd prime --hook` when a session starts or is compacted, and when the agent wants to stop.

Pure. `HOOK_FILES` has the tools whose hooks are commands in a JSON file, `PLUGIN_FILES` those that load code, which is a file
of bd's own. In a JSON file only the entries whose command is bd's are touched.
"""

from __future__ import annotations

import json
from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.core.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

# Whatever else is behind it: an exit of 2 would keep the agent from stopping, so a failure becomes 1, which is a warning.
COMMAND = "bd prime --hook"
_TIMEOUT_S = 30


class HookFile(NamedTuple):
    """A JSON file with hooks: its path, and the matcher of each event, if it has one. A timeout there is in `unit_s` seconds."""

    path: str
    events: Mapping[str, str]
    unit_s: float = 1.0


_STARTS = "startup|resume|clear|compact"
HOOK_FILES = {
    "claude": HookFile(".claude/settings.json", {"SessionStart": _STARTS, "Stop": ""}),
    "codex": HookFile(".codex/hooks.json", {"SessionStart": _STARTS, "Stop": ""}),
    "gemini": HookFile(".gemini/settings.json", {"SessionStart": "", "AfterAgent": ""}, unit_s=0.001),
}
# The events at which an agent wants to stop, so that a reminder makes it go on.
STOPS = frozenset({"Stop", "AfterAgent"})

_OPENCODE = """\
// Written by `bd setup opencode`: bd's page at the start of a session and after a compaction, and a reminder when it is idle.
export const Bd = async ({ client, $ }) => {
  const asked = async (event) => {
    const said = await $`echo ${JSON.stringify({ hook_event_name: event })} | bd prime --hook`.quiet().nothrow().text()
    return said.trim() ? JSON.parse(said) : {}
  }
  const started = async () => (await asked("SessionStart")).hookSpecificOutput?.additionalContext
  const reminded = new Set()
  const tell = (id, text, noReply) =>
    client.session.prompt({ path: { id }, body: { noReply, parts: [{ type: "text", text }] } })
  return {
    event: async ({ event }) => {
      const id = event.properties?.sessionID ?? event.properties?.info?.id
      if (event.type === "session.created" && !event.properties?.info?.parentID) {
        const text = await started()
        if (text) await tell(id, text, true)
      }
      if (event.type === "session.idle" && !reminded.has(id)) {
        const { reason } = await asked("Stop")
        if (reason) {
          reminded.add(id)
          await tell(id, reason, false)
        }
      }
    },
    "experimental.session.compacting": async (_, output) => {
      const text = await started()
      if (text) output.context.push(text)
    },
  }
}
"""
_OPENCLAW_PAGE = """\
---
name: bd
description: "bd's page for each session, and a reminder of beads that are still held"
metadata: { "openclaw": { "emoji": "📿", "events": ["agent:bootstrap", "command:new", "command:reset", "command:stop"], "requires": { "bins": ["bd"] } } }
---

# bd

Written by `bd setup openclaw`. `openclaw hooks enable bd` switches it on.
"""
_OPENCLAW_CODE = """\
// Written by `bd setup openclaw`.
import { execFileSync } from "node:child_process"

const asked = (event, cwd) => {
  try {
    const said = execFileSync("bd", ["prime", "--hook"], { cwd, input: JSON.stringify({ hook_event_name: event }) }).toString()
    return said.trim() ? JSON.parse(said) : {}
  } catch {
    return {}
  }
}

const handler = async (event) => {
  const cwd = event.context?.workspaceDir
  if (event.type === "agent" && event.action === "bootstrap") {
    const content = asked("SessionStart", cwd).hookSpecificOutput?.additionalContext
    if (content) event.context.bootstrapFiles?.push({ name: "BD.md", path: "BD.md", content, missing: false })
  } else if (event.type === "command") {
    const { reason } = asked("Stop", cwd)
    if (reason) event.messages.push(reason)
  }
}

export default handler
"""
PLUGIN_FILES: dict[str, Mapping[str, str]] = {
    "opencode": {".opencode/plugins/bd.js": _OPENCODE},
    "openclaw": {"hooks/bd/HOOK.md": _OPENCLAW_PAGE, "hooks/bd/handler.ts": _OPENCLAW_CODE},
}


def with_hooks(text: str, file: HookFile) -> str:
    """Return the JSON text with bd's hooks in it, and everything else as it was. Raises BadInput if it can't be read."""
    now = _read(text, file.path)
    told = _without(now)
    hooks = told.setdefault("hooks", {})
    for event, matcher in file.events.items():
        command = {"type": "command", "command": f"{COMMAND} || exit 1", "timeout": round(_TIMEOUT_S / file.unit_s)}
        entry = {**({"matcher": matcher} if matcher else {}), "hooks": [command]}
        others, present = hooks.get(event, []), (now.get("hooks") or {}).get(event, [])
        is_there = present.count(entry) == 1 and [one for one in present if one != entry] == others  # wherever it stands
        hooks[event] = present if is_there else [*others, entry]
    return text if told == now else _written(told)


def without_hooks(text: str, file: HookFile) -> str:
    """Return the JSON text without bd's hooks; empty if nothing else was in it. Raises BadInput if it can't be read."""
    told = _read(text, file.path)
    rest = _without(told)
    return text if rest == told else _written(rest) if rest else ""


def answer(event: Mapping[str, Any], text: str, held: Sequence[str]) -> dict[str, Any]:
    """Return what a hook prints as JSON: `text` for a session that starts, a reminder if it would stop with beads in hand.

    The reminder comes once for a stop: the agent may have a reason to keep them.
    """
    name = str(event.get("hook_event_name") or "")
    if name == "SessionStart":
        return {"hookSpecificOutput": {"hookEventName": name, "additionalContext": text}}
    if name in STOPS and held and not event.get("stop_hook_active"):
        what = f"{', '.join(held[:5])}{' and more' if len(held) > 5 else ''}"
        words = (
            f"You still hold {what}. Finish it, or close, fail or release it (`bd show ID`); ask a person with `bd wait-human`."
        )
        return {"decision": "block", "reason": words}
    return {}


def _read(text: str, path: str) -> dict[str, Any]:
    try:
        found = json.loads(text) if text.strip() else {}
    except (ValueError, RecursionError) as error:
        raise BadInput(
            f"{path} is not plain JSON: {error}", hint="bd changes only what it can read; add the hooks by hand"
        ) from error
    hooks = found.get("hooks", {}) if isinstance(found, dict) else None
    if not isinstance(hooks, dict) or not all(isinstance(entries, list) for entries in hooks.values()):
        raise BadInput(f"{path} has hooks of another form", hint="bd changes only what it can read; add the hooks by hand")
    return dict(found)


def _without(told: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings without bd's entries, and without what is empty then."""
    hooks: dict[str, Any] = {}
    for event, entries in (told.get("hooks") or {}).items():
        kept = [one for one in map(_rest_of, entries) if one is not None]
        if kept or not entries:
            hooks[event] = kept
    rest = {key: value for key, value in told.items() if key != "hooks"}
    return {**rest, **({"hooks": hooks} if hooks else {})}


def _rest_of(entry: Any) -> Any:
    """Return an entry of an event without bd's command; None if nothing else was in it."""
    commands = entry.get("hooks") if isinstance(entry, dict) else None
    if not isinstance(commands, list):
        return entry
    kept = [one for one in commands if not (isinstance(one, dict) and str(one.get("command", "")).startswith(COMMAND))]
    return entry if len(kept) == len(commands) else {**entry, "hooks": kept} if kept else None


def _written(told: Mapping[str, Any]) -> str:
    return json.dumps(told, ensure_ascii=False, indent=2) + "\n"
