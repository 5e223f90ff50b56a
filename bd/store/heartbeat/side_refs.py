"""Side refs: the heartbeats of claims and the agents' records (docs/protocol.md, "Heartbeats").

They are claims to be checked, never the truth: the branch alone decides. They are used on a remote only after one probe, whose
result the clone remembers. No clone keeps local copies: refs are listed, and their objects fetched when needed. In a hub without
a remote they are refs of the hub itself.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress

from bd import TYPE_CHECKING
from bd.core import versions
from bd.core.errors import RemoteUnreachable
from bd.core.json_shapes import MAYBE_NUMBER, MAYBE_TEXT, fits, json_value
from bd.store.contract import PushLine, SideRef
from bd.store.git import server_words
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
# Exists once any clone's probe has succeeded: a clone that fetches it needs no probe of its own.
_PROBED_MARK = "refs/bd/probed"
_PROBED = "siderefs.json"
_HEARD = "heard.json"
_BEATS = "beats/"
# When a server that refuses side refs is probed again: a week later, or sooner if it had accepted them before.
_ASK_AGAIN_S, _ASK_SOON_S = 7 * 86400, 3600
_RECORD_LIMIT = 1_000_000
# A clone listens to this many agents' records; of further agents it reads what the hub branch says.
MOST_AGENTS = 1_000
# And fetches this many records in a look; the next one brings others.
FETCHED_AT_ONCE = 200
_PROBE_SHAPE = {"works": bool, "at_s": MAYBE_NUMBER, "why": MAYBE_TEXT}
_HEARD_SHAPE = {"oid": str, "record": dict}


class SideRefs:
    """The side refs as one clone uses them."""

    def __init__(self, repo: Repository, remote: Remote, local: LocalState, url: str | None, runtime: Runtime) -> None:
        """`url` identifies the server in the notes; None for a hub that is not shared."""
        self._repo = repo
        self._runtime = runtime
        self._remote = remote
        self._local = local
        self._is_shared = url is not None
        self._url = url or ""
        self._usable: bool | None = None

    # --- may they be used? ---

    def usable(self) -> bool:
        """Return whether the probe has succeeded; False before any probe. Does not contact the server."""
        if not self._is_shared:
            return True
        if self._usable is None:
            self._usable = bool(self._noted(_PROBED).get(self._url, {}).get("works"))
        return self._usable

    def may_list(self) -> bool:
        """Return whether listing is worthwhile: unless a probe has failed. Listing changes nothing."""
        return self.verdict() in (None, "works")

    def _probe_noted(self) -> dict[str, Any]:
        """Return the noted result of this remote's probe; empty if there was none."""
        found: Any = self._noted(_PROBED).get(self._url)
        return found if fits(found, _PROBE_SHAPE) else {}

    def verdict(self) -> str | None:
        """Return "works" or the reason why the probe failed; None if there was none."""
        if not self._is_shared:
            return "works"
        found = self._probe_noted()
        return None if not found else "works" if found.get("works") else str(found.get("why") or "refused")

    def probe(self, at: datetime) -> bool:
        """Test, once per clone and remote, whether the server lets side refs be created, listed, replaced and deleted.

        Raises RemoteUnreachable. A server that refused is probed again after a week.
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
            answer = self._push([SideRef(ref, new, old), SideRef(f"{ref}-2", new, old)])
            if not answer.landed or len(answer.lines) != 2:
                why = next((line.summary for line in answer.lines.values() if not line.landed), answer.words.strip()[-200:])
                break
            listed = self.listing(PROBES).get(ref)
            if listed != new:
                why = "the server accepts them but does not list them"
                self._push([SideRef(ref, None, new), SideRef(f"{ref}-2", None, new)])
                break
        self._note_probe(at, works=not why, why=why)
        if not why:
            self._push([SideRef(_PROBED_MARK, first, None)])  # it may exist already; that makes no difference
        return not why

    def take_word(self, at: datetime) -> None:
        """Accept the hub's word that another clone's probe succeeded, if this clone has no result yet."""
        if self.verdict() is None:
            self._note_probe(at, works=True, why="")

    def _is_probed(self, at: datetime) -> bool:
        found = self._probe_noted()
        if not found:
            return False
        again_s = _ASK_SOON_S if found.get("had_worked") else _ASK_AGAIN_S
        return bool(found.get("works")) or abs(at.timestamp() - float(found.get("at_s") or 0)) < again_s

    def give_up(self, why: str, at: datetime) -> None:
        """Stop using side refs for now: the server has refused them after all."""
        if self._is_shared:
            self._note_probe(at, works=False, why=why)

    def _note_probe(self, at: datetime, *, works: bool, why: str) -> None:
        before = self._probe_noted()
        found = {"works": works, "at_s": int(at.timestamp()), **({"why": why} if why else {})}
        if not works and (before.get("works") or before.get("had_worked")):  # a passing fault, or a different server now
            found["had_worked"] = True
        self._note(_PROBED, {**self._noted(_PROBED), self._url: found})
        self._usable = works

    # --- listing ---

    def listing(self, *prefixes: str) -> dict[str, str]:
        """Return the refs below these prefixes as they are now. Raises RemoteUnreachable; a failed listing counts for nothing."""
        return self._remote.list(*prefixes)

    def beats(self) -> dict[str, str]:
        """Return the heartbeats of all claims that send them, by token."""
        return {ref.removeprefix(CLAIMS): oid for ref, oid in self.listing(CLAIMS).items()}

    def listen(self, refs: Mapping[str, str], at: str) -> dict[str, dict[str, Any]]:
        """Return the agents' records behind a listing of `AGENTS`; keep them in this clone with the time `at` of the listing."""
        known = self._noted(_HEARD).get("agents")
        known = {name: kept for name, kept in known.items() if fits(kept, _HEARD_SHAPE)} if isinstance(known, dict) else {}
        there = {ref.removeprefix(AGENTS): oid for ref, oid in refs.items() if ref.startswith(AGENTS)}
        # Anybody who may push can make any number of them. Those that are known go first, so that a flood hides no one.
        names = {name: there[name] for name in sorted(there, key=lambda name: (name not in known, name))[:MOST_AGENTS]}
        missing = {oid: AGENTS + name for name, oid in names.items() if known.get(name, {}).get("oid") != oid}
        fetched = dict([*missing.items()][:FETCHED_AT_ONCE])
        if fetched:
            self._remote.fetch_objects([*fetched.values()])
        heard: dict[str, Any] = {}
        for name, oid in names.items():
            if oid not in fetched:
                heard.update({name: known[name]} if name in known else {})
                continue
            record = self._record(oid)
            if record is not None:
                heard[name] = {"oid": oid, "record": record}
        self._note(_HEARD, {"at": at, "agents": heard})
        return {name: entry["record"] for name, entry in heard.items()}

    def _record(self, oid: str) -> dict[str, Any] | None:
        """Read the record in the message of a side ref's commit; None if its version is unknown."""
        data = self._repo.objects.read(oid, at_most=_RECORD_LIMIT)
        try:
            record = json_value((data or b"").partition(b"\n\n")[2].decode())
        except (ValueError, RecursionError):
            return None
        is_read = isinstance(record, dict) and versions.is_known(record.get("v", 1), versions.AGENT_RECORD)
        return record if is_read else None

    # --- moving ---

    def beat(self, at: datetime, interval_s: float) -> str:
        """Store the heartbeat object for an instant. Return its name."""
        return beat_at(self._repo, at, interval_s, self._name_length())

    def record_commit(self, record: Mapping[str, Any], agent: str, at: datetime) -> str:
        """Store a commit with an agent's record. Return its name."""
        return self.commit(json.dumps(record, ensure_ascii=True, sort_keys=True), f"{agent} <{agent}@bd>", at)

    def commit(self, text: str, author: str, at: datetime) -> str:
        """Store a commit without files and parents that carries a text. Return its name. Raises OSError."""
        length = self._name_length()
        tree = self._repo.write_object("tree", b"", length)
        stamp = f"{author} {int(at.timestamp())} +0000"
        return self._repo.write_object("commit", f"tree {tree}\nauthor {stamp}\ncommitter {stamp}\n\n{text}\n".encode(), length)

    def create(self, sides: Sequence[SideRef]) -> str:
        """Create side refs, all or none. Returns `made`, `refused`, or `unknown` if there was no answer."""
        try:
            answer = self._push(sides)
        except RemoteUnreachable:
            return "unknown"
        if not answer.lines:
            return "unknown"
        if answer.landed:
            return "made"
        if not moved(answer.lines):
            self._note_probe(self._runtime.now(), works=False, why=answer.words.strip()[-200:])
        return "refused"

    def move(self, sides: Sequence[SideRef]) -> bool:
        """Move side refs alone, all or none. False if one is not where it was expected.

        Raises ServerRefused if the hub refuses this clone, and RemoteUnreachable for any other answer or none.
        """
        answer = self._push(sides)
        if answer.landed:
            return True
        if moved(answer.lines):
            return False
        told = f"the remote {self._remote.name} did not accept the heartbeat: {server_words.reason(answer.words)}"
        found = server_words.meaning(answer.words)
        if not answer.lines and found.kind == server_words.CLOSED:  # else it may only refuse side refs
            raise server_words.closed(told, found.hint)
        raise server_words.busy(told) if found.kind == server_words.BUSY else RemoteUnreachable(told)

    def _push(self, sides: Sequence[SideRef]) -> PushAnswer:
        return self._remote.push(None, None, sides)

    def _name_length(self) -> int:
        tip = self._repo.ref("refs/bd/published") or self._repo.ref("HEAD") or ""
        return len(tip) or len(name_of(b"blob", b"", 40))

    # --- the last heartbeats of this clone's own claims ---

    def last_beat(self, token: str) -> str | None:
        """Return the value that this clone last gave a claim's ref."""
        text = (self._local.read(_BEATS + token) or "").strip()
        return text if is_oid(text) else None

    def note_beat(self, token: str, oid: str | None) -> None:
        """Record a claim's heartbeat; None once the claim has ended."""
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
    """Return whether a push was refused because a side ref is not where it was expected."""
    told: Iterable[str] = (line.summary for ref, line in lines.items() if ref.startswith("refs/bd/") and not line.landed)
    return any(sign in summary.lower() for summary in told for sign in MOVED)
