"""What commands run in that work for the hub: a program in front of them, as the settings of a clone or a user say.

Presets are data: a name, the words before what the user adds, and the words after it. Placeholders are {folder}, in which the
command works, {files}, the folder of its attempt, and {home}. The word {hidden} stands for the words that hide folders.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from bd import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


HIDDEN = "{hidden}"


class Preset(NamedTuple):
    """Words before and after what is added to a preset, such as the image of a container.

    `reads` and `writes` let it see one more {path}; `hides` shows an empty folder in its place.
    """

    before: tuple[str, ...]
    after: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    hides: tuple[str, ...] = ()


PRESETS: dict[str, Preset] = {
    # Reads the system, writes its folder alone, and sees nothing of the home folder but the agents' own programs and logins.
    "bwrap": Preset(
        (
            *("bwrap", "--die-with-parent", "--unshare-pid", "--unshare-ipc", "--ro-bind", "/", "/", "--dev", "/dev"),
            *("--proc", "/proc", "--tmpfs", "/tmp", "--tmpfs", "/run"),
            *("--ro-bind-try", "/run/systemd/resolve", "/run/systemd/resolve", HIDDEN, "--tmpfs", "{home}"),
            *(
                "--ro-bind-try",
                "{home}/.local/bin",
                "{home}/.local/bin",
                "--ro-bind-try",
                "{home}/.local/lib",
                "{home}/.local/lib",
            ),
            *("--bind-try", "{home}/.claude", "{home}/.claude", "--bind-try", "{home}/.claude.json", "{home}/.claude.json"),
            *("--bind-try", "{home}/.codex", "{home}/.codex", "--bind-try", "{home}/.gemini", "{home}/.gemini"),
            *("--bind", "{folder}", "{folder}", "--bind", "{files}", "{files}", "--chdir", "{folder}"),
        ),
        ("--",),
        ("--ro-bind-try", "{path}", "{path}"),
        ("--bind-try", "{path}", "{path}"),
        ("--tmpfs", "{path}"),
    ),
    # `[podman, IMAGE]`: the image has the agent's program.
    "podman": Preset(
        (
            *("podman", "run", "--rm", "--interactive", "--userns=keep-id", "--env-host", "--env", "HOME={folder}"),
            *("--volume", "{folder}:{folder}", "--volume", "{files}:{files}", "--workdir", "{folder}"),
        ),
        (),
        ("--volume", "{path}:{path}:ro"),
        ("--volume", "{path}:{path}"),
    ),
}


def mounted(sandbox: Sequence[str], reads: Sequence[str], writes: Sequence[str]) -> list[str]:
    """Return a sandbox that also sees these folders, if it is a preset. One that is a command of its own has to know them."""
    preset = PRESETS.get(sandbox[0]) if sandbox else None
    if preset is None:
        return list(sandbox)
    more = [*_for_each(preset.reads, reads), *_for_each(preset.writes, writes)]
    return [sandbox[0], *more, *sandbox[1:]]


def wrapped(words: Sequence[str], sandbox: Sequence[str], folder: str, files: str = "", hidden: Sequence[str] = ()) -> list[str]:
    """Return the words of a command in its sandbox; unchanged without one. `files` is its folder if it has no files of its own.

    A preset shows nothing of the `hidden` folders but `folder`, `files` and what is mounted.
    """
    if not sandbox:
        return list(words)
    preset = PRESETS.get(sandbox[0])
    around = [*preset.before, *sandbox[1:], *preset.after] if preset else list(sandbox)
    if preset is not None and HIDDEN in around:
        place = around.index(HIDDEN)
        around[place : place + 1] = _for_each(preset.hides, hidden)
    values = {"{folder}": folder, "{files}": files or folder, "{home}": os.path.expanduser("~")}
    return [*(_filled(word, values) for word in around), *words]


def _for_each(words: Sequence[str], paths: Sequence[str]) -> list[str]:
    return [word.replace("{path}", path) for path in paths for word in words]


def _filled(word: str, values: dict[str, str]) -> str:
    for name, value in values.items():
        word = word.replace(name, value)
    return word
