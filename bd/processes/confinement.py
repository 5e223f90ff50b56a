"""How a command that works for the hub is confined: what it inherits of the environment, the sandbox it runs in, and what that hides.

Agents are confined, and so is what prepares and checks their work, because that runs files which agents have written.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.processes.environment import passed_on
from bd.processes.sandbox import mounted, wrapped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bd.core.settings import Settings

    Mounts = tuple[Sequence[str], Sequence[str]]

_NOTHING: Mounts = ((), ())


class Confinement(NamedTuple):
    """`environment` and `sandbox` are the settings of the clone or user.

    `hidden`: the command is isolated from the hub, and these are the folders that it must not see; None if it is not isolated.
    """

    environment: Sequence[str] = ()
    sandbox: Sequence[str] = ()
    hidden: Sequence[str] | None = None

    @classmethod
    def of(cls, settings: Settings) -> Confinement:
        """Return what the settings of a clone or user ask for."""
        return cls(settings.environment, settings.sandbox)

    @property
    def is_isolated(self) -> bool:
        return self.hidden is not None

    def inherited(self) -> dict[str, str]:
        """Return what the command gets of this process's environment."""
        return passed_on(os.environ, self.environment, isolated=self.is_isolated)

    def wrapped(self, words: Sequence[str], folder: str, files: str = "", mounts: Mounts = _NOTHING) -> list[str]:
        """Return the words that start the command in its sandbox. `mounts` are more folders that it reads, and writes."""
        return wrapped(words, mounted(self.sandbox, *mounts), folder, files, self.hidden or ())

    def shell(self, text: str, folder: str, mounts: Mounts = _NOTHING) -> Sequence[str] | str:
        """Return what starts a shell command: the text itself if there is no sandbox."""
        return self.wrapped(["sh", "-c", text], folder, mounts=mounts) if self.sandbox else text
