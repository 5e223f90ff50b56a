"""Refs beside the hub branch: the beats of claims and the agents' own records (docs/protocol.md, "Signs of life").

They are requests to be believed, never the truth: the branch alone decides. They are used on a remote only after
one probe, remembered in the clone. No clone keeps local copies of them: they are listed, and what they name is
fetched by ref. In a hub without a remote they are refs of the hub itself.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from typing import TYPE_CHECKING

from bd.core import versions
from bd.core.errors import RemoteUnreachable
from bd.core.json_shapes import MAYBE_NUMBER, MAYBE_TEXT, fits, json_value
from bd.store.contract import PushLine, SideRef
from bd.store.git.push import MOVED
from bd.store.heartbeat.objects import beat_at
from bd.store.object_names import is_oid, name_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime
    from typing import Any

    from bd.core.runtime import Runtime
    from bd.store.contract import LocalState, PushAnswer, Remote, Repository

CLAIMS = "refs/bd/claims/"
AGENTS = "refs/bd/agents/"
PROBES = "refs/bd/probe/"
# There once somebody's probe has succeeded: a clone that sees it in its first look needs none of its own.
_PROBED_MARK = "refs/bd/probed"
_PROBED = "siderefs.json"
_HEARD = "heard.json"
_BEATS = "beats/"
# When a server that refuses such refs is asked again: a week after its probe, sooner where it had taken them before.
_ASK_AGAIN_S, _ASK_SOON_S = 7 * 86400, 3600
_RECORD_LIMIT = 1_000_000
_PROBE_SHAPE = {"works": bool, "at_s": MAYBE_NUMBER, "why": MAYBE_TEXT}
_HEARD_SHAPE = {"oid": str, "record": dict}


class SideRefs:
    """The refs beside the branch as one clone uses them."""

    def __init__(self, repo: Repository, remote: Remote, local: LocalState, url: str | None, runtime: Runtime) -> None:
        """`url` is where the server is, for what is noted of it; None for a hub that is shared through none."""
        self._repo = repo
        self._runtime = runtime
        self._remote = remote
        self._local = local
        self._is_shared = url is not None
        self._url = url or ""
        self._usable: bool | None = None

    # --- may they be used? ---

    def usable(self) -> bool:
        """Whether the probe has succeeded here; False as long as nobody has probed. Asks nobody."""
        if not self._is_shared:
            return True
        if self._usable is None:
            self._usable = bool(self._noted(_PROBED).get(self._url, {}).get("works"))
        return self._usable

    def may_list(self) -> bool:
        """Whether looking at them is worth it: always, but where the probe has failed. Looking changes nothing."""
        return self.verdict() in (None, "works")

    def _probe_noted(self) -> dict[str, Any]:
        """What is noted of the probe of this remote; empty where there was none."""
        found: Any = self._noted(_PROBED).get(self._url)
        return found if fits(found, _PROBE_SHAPE) else {}

    def verdict(self) -> str | None:
        """What the probe found, in words; None when there was none."""
        if not self._is_shared:
            return "works"
        found = self._probe_noted()
        return None if not found else "works" if found.get("works") else str(found.get("why") or "refused")

    def probe(self, at: datetime) -> bool:
        """Find out, once per clone and remote, whether the server lets side refs be made, listed, replaced and deleted.

        Raises RemoteUnreachable. A server that refused is asked again after a week.
        """
        if not self._is_shared or self._is_probed(at):
            return self.usable()
        ref = f"{PROBES}{os.getpid()}-{os.urandom(4).hex()}"
        length = self._name_length()
        first, second = beat_at(self._repo, at, 1, length), beat_at(self._repo, at, 3600, length)
        if first == second:
            second = beat_at(self._repo, at, 7200, length)
        steps = [(None, first), (first, second), (second, None)]
        why = ""
        for old, new in steps:
            lines, words = self._push([SideRef(ref, new, old), SideRef(f"{ref}-2", new, old)])
            if not all(line.landed for line in lines.values()) or len(lines) != 2:
                why = next((line.summary for line in lines.values() if not line.landed), words.strip()[-200:])
                break
            listed = self.listing(PROBES).get(ref)
            if listed != new:
                why = "the server takes them and does not list them"
                self._push([SideRef(ref, None, new), SideRef(f"{ref}-2", None, new)])
                break
        self._note_probe(at, works=not why, why=why)
        if not why:
            self._push([SideRef(_PROBED_MARK, first, None)])  # whether it was there already does not matter
        return not why

    def take_word(self, at: datetime) -> None:
        """Another clone's probe has succeeded, as the hub says: that will do where this clone knows nothing yet."""
        if self.verdict() is None:
            self._note_probe(at, works=True, why="")

    def _is_probed(self, at: datetime) -> bool:
        found = self._probe_noted()
        if not found:
            return False
        again_s = _ASK_SOON_S if found.get("had_worked") else _ASK_AGAIN_S
        return bool(found.get("works")) or abs(at.timestamp() - float(found.get("at_s") or 0)) < again_s

    def give_up(self, why: str, at: datetime) -> None:
        """The server has refused them after all: this clone does without for now."""
        if self._is_shared:
            self._note_probe(at, works=False, why=why)

    def _note_probe(self, at: datetime, *, works: bool, why: str) -> None:
        before = self._probe_noted()
        found = {"works": works, "at_s": int(at.timestamp()), **({"why": why} if why else {})}
        if not works and (before.get("works") or before.get("had_worked")):  # a passing trouble, or another server now
            found["had_worked"] = True
        self._note(_PROBED, {**self._noted(_PROBED), self._url: found})
        self._usable = works

    # --- looking ---

    def listing(self, *prefixes: str) -> dict[str, str]:
        """The refs below these prefixes as they now are. Raises RemoteUnreachable: a look that failed is no look."""
        return self._remote.list(*prefixes)

    def beats(self) -> dict[str, str]:
        """The beat of each claim that gives signs of life, by token."""
        return {ref.removeprefix(CLAIMS): oid for ref, oid in self.listing(CLAIMS).items()}

    def listen(self, refs: Mapping[str, str], at: str) -> dict[str, dict[str, Any]]:
        """The agents' records behind a listing of `AGENTS`, kept in this clone with the time `at` of the look."""
        known = self._noted(_HEARD).get("agents")
        known = {name: kept for name, kept in known.items() if fits(kept, _HEARD_SHAPE)} if isinstance(known, dict) else {}
        names = {ref.removeprefix(AGENTS): oid for ref, oid in refs.items() if ref.startswith(AGENTS)}
        missing = [AGENTS + name for name, oid in names.items() if known.get(name, {}).get("oid") != oid]
        if missing:
            self._remote.fetch_objects(missing)
        heard: dict[str, Any] = {}
        for name, oid in names.items():
            kept = known.get(name, {})
            record = kept.get("record") if kept.get("oid") == oid else self._record(oid)
            if record is not None:
                heard[name] = {"oid": oid, "record": record}
        self._note(_HEARD, {"at": at, "agents": heard})
        return {name: entry["record"] for name, entry in heard.items()}

    def _record(self, oid: str) -> dict[str, Any] | None:
        """The record that a commit beside the branch carries in its message; None for one of an unknown version."""
        data = self._repo.objects.read(oid, at_most=_RECORD_LIMIT)
        try:
            record = json_value((data or b"").partition(b"\n\n")[2].decode())
        except (ValueError, RecursionError):
            return None
        is_read = isinstance(record, dict) and versions.is_known(record.get("v", 1), versions.AGENT_RECORD)
        return record if is_read else None

    # --- moving ---

    def beat(self, at: datetime, interval_s: float) -> str:
        """The name of the beat for now, in this clone's objects."""
        return beat_at(self._repo, at, interval_s, self._name_length())

    def record_commit(self, record: Mapping[str, Any], agent: str, at: datetime) -> str:
        """A commit beside the branch that carries an agent's record."""
        return self.commit(json.dumps(record, ensure_ascii=True, sort_keys=True), f"{agent} <{agent}@bd>", at)

    def commit(self, text: str, author: str, at: datetime) -> str:
        """A commit without files and parents that carries a text. Raises OSError."""
        length = self._name_length()
        tree = self._repo.write_object("tree", b"", length)
        stamp = f"{author} {int(at.timestamp())} +0000"
        return self._repo.write_object("commit", f"tree {tree}\nauthor {stamp}\ncommitter {stamp}\n\n{text}\n".encode(), length)

    def create(self, sides: Sequence[SideRef]) -> str:
        """Make side refs, all or none: `made`, `refused`, or `unknown` where there was no answer."""
        try:
            lines, words = self._push(sides)
        except RemoteUnreachable:
            return "unknown"
        if not lines:
            return "unknown"
        if all(line.landed for line in lines.values()):
            return "made"
        if not moved(lines):
            self._note_probe(self._runtime.now(), works=False, why=words.strip()[-200:])
        return "refused"

    def move(self, sides: Sequence[SideRef]) -> bool:
        """Move side refs alone, all or none. False when one is not what was expected.

        Raises RemoteUnreachable, also where the server said anything else than that.
        """
        lines, words = self._push(sides)
        if lines and all(line.landed for line in lines.values()):
            return True
        if moved(lines):
            return False
        raise RemoteUnreachable(f"the remote {self._remote.name} did not take the sign of life: {words.strip()[-300:]}")

    def _push(self, sides: Sequence[SideRef]) -> PushAnswer:
        return self._remote.push(None, None, sides)

    def _name_length(self) -> int:
        tip = self._repo.ref("refs/bd/published") or self._repo.ref("HEAD") or ""
        return len(tip) or len(name_of(b"blob", b"", 40))

    # --- what this clone's own claims last said ---

    def last_beat(self, token: str) -> str | None:
        """The value that this clone last gave a claim's ref."""
        text = (self._local.read(_BEATS + token) or "").strip()
        return text if is_oid(text) else None

    def note_beat(self, token: str, oid: str | None) -> None:
        """Remember a claim's beat; None when the claim has ended."""
        if oid is None:
            self._local.drop(_BEATS + token)
            return
        with suppress(OSError):
            self._local.write(_BEATS + token, f"{oid}\n")

    # --- this clone's notes ---

    def _noted(self, name: str) -> dict[str, Any]:
        text = self._local.read(name)
        try:
            found = json_value(text) if text else None
        except (ValueError, RecursionError):
            return {}
        return found if isinstance(found, dict) else {}

    def _note(self, name: str, value: Any) -> None:
        with suppress(OSError):
            self._local.write(name, json.dumps(value))


def moved(lines: Mapping[str, PushLine]) -> bool:
    """Whether a push was refused because a side ref is not what was expected."""
    told: Iterable[str] = (line.summary for ref, line in lines.items() if ref.startswith("refs/bd/") and not line.landed)
    return any(sign in summary.lower() for summary in told for sign in MOVED)
