"""A machine on which no time passes by itself, and a connection whose faults a test chooses."""

from __future__ import annotations

import random
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from bd.core import ids
from bd.core.errors import RemoteUnreachable
from bd.store.contract import PushAnswer, PushLine
from tests.clocks import START

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from bd.store.contract import Fetched, Remote, SideRef

AT = "2026-02-21T15:00:00Z"
BRANCH = "refs/heads/main"
# A remote may have any name: it is no word of a server's.
_SILENCE = "the remote permission-denied does not answer: git push took longer than 60 s"


class VirtualRuntime:
    """A machine on which sleeping takes no time, and all chance comes from a seed."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)
        self._passed_s = 0.0

    def now(self) -> datetime:
        return START + timedelta(seconds=self._passed_s)

    def monotonic(self) -> float:
        self._passed_s += 0.001  # whatever is done takes a moment
        return self._passed_s

    def uptime(self) -> float:
        return self._passed_s

    def boot_id(self) -> str:
        return "boot"

    def sleep(self, seconds: float) -> None:
        self._passed_s += max(0.0, seconds)

    def random(self) -> float:
        return self._rng.random()

    def new_id(self) -> str:
        return ids.ulid(int(self.now().timestamp() * 1000), self._rng.randbytes(10))

    def on_step(self, name: str) -> None:
        """Nobody follows the writes that the checker makes."""


class Faults(NamedTuple):
    """What goes wrong with one write: at which step its process is killed, or overtaken, and what happens to its pushes."""

    killed_at: str = ""
    overtaken_at: str = ""
    # For each push of the branch: `cut` (it did not arrive, no answer), `lost` (it landed, no answer), `declined`, `unsided`, `stuck`, and
    # `silent` and `silent-lost`: no answer in time, whatever bd says of that.
    pushes: tuple[str, ...] = ()
    is_away: bool = False


class FaultyRemote:
    """A clone's connection of which the faults of one write are true."""

    def __init__(self, real: Remote, faults: Faults) -> None:
        self._real = real
        self._faults = faults
        self._pushes = list(faults.pushes)

    def begin_fetch(self) -> None:
        self._real.begin_fetch()

    def drop_fetch(self) -> None:
        self._real.drop_fetch()

    def _refuse_away(self) -> None:
        if self._faults.is_away:
            raise RemoteUnreachable("the server is away")

    def fetch(self) -> Fetched:
        self._refuse_away()
        return self._real.fetch()

    def fetch_objects(self, refs: Sequence[str]) -> None:
        if not self._faults.is_away:
            self._real.fetch_objects(refs)

    def list(self, *prefixes: str) -> dict[str, str]:
        self._refuse_away()
        return self._real.list(*prefixes)

    def push(self, commit: str | None, base: str | None, sides: Sequence[SideRef] = (), **more: Any) -> PushAnswer:
        self._refuse_away()
        fault = self._pushes.pop(0) if commit and self._pushes else ""
        names = [*([BRANCH] if commit else []), *(side.ref for side in sides)]
        if fault == "cut":
            return PushAnswer({}, "fatal: the remote end hung up unexpectedly")
        if fault == "declined":
            return PushAnswer(dict.fromkeys(names, PushLine("!", "[remote rejected] (pre-receive hook declined)")), "no")
        if fault == "stuck":
            return PushAnswer(dict.fromkeys(names, PushLine("!", "[remote rejected] (failed to update ref)")), "")
        if fault == "unsided" and sides:
            lines = {name: PushLine("!", "[remote rejected] (atomic push failed)") for name in names}
            return PushAnswer({**lines, sides[0].ref: PushLine("!", "[remote rejected] (deny updating a hidden ref)")}, "no")
        if fault == "silent":
            raise RemoteUnreachable(_SILENCE)
        answer = self._real.push(commit, base, sides, **more)
        if fault == "silent-lost":
            raise RemoteUnreachable(_SILENCE)
        return PushAnswer({}, "fatal: the remote end hung up unexpectedly") if fault == "lost" else answer
