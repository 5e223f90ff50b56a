"""Where each millisecond of one claim goes: run as a script it is `bd` with a watch in it (breakdown.py runs it).

The time of a process is divided without rest: every moment belongs to the innermost of the functions below that
is running, to imports, or to the rest of bd. A row whose function an older bd does not have is left out; the tests hold the rows to this one.
"""

from __future__ import annotations

import builtins
import sys
import time

# (module, class or nothing, function): what it is called in the table.
WATCHED = {
    ("bd.store.hub_location", "", "locate"): "find the hub (place)",
    ("bd.store.replica", "Replica", "begin_write"): "take the lock",
    ("bd.store.cache.cache", "Cache", "__init__"): "open the cache",
    ("bd.store.cache.cache", "Cache", "move_to"): "bring the cache to the base",
    ("bd.operations.claims", "Claim", "decide"): "decide",
    ("bd.store.transaction.drafts", "Chain", "add"): "encode files and message",
    ("bd.store.git.repository", "GitRepo", "write_commits"): "write the objects",
    ("bd.store.local.journal", "Entry", "write"): "journal, synced to disk",
    ("bd.store.git.repository", "GitRepo", "spawn"): "start git",
    ("bd.store.git.repository", "GitRepo", "finish"): "wait for git",
    ("bd.store.worktree.checkout", "", "bring_along"): "move index and files",
    ("bd.store.cache.cache", "Cache", "advance"): "write the change into the cache",
    ("bd.store.replica", "Replica", "note_json"): "notes of the clone",
    ("bd.cli.commands.claim", "", "_tell"): "tell",
    ("bd.cli.app", "App", "close"): "close",
}
IMPORTS, REST = "imports", "the rest of bd"


class Watch:
    """Divides the time among labels: each moment to the one begun last and not yet ended."""

    def __init__(self) -> None:
        self.spent: dict[str, float] = {}
        self.stack = [REST]
        self.since = time.perf_counter()

    def _charge(self) -> None:
        now = time.perf_counter()
        self.spent[self.stack[-1]] = self.spent.get(self.stack[-1], 0.0) + now - self.since
        self.since = now

    def begin(self, label: str) -> None:
        self._charge()
        self.stack.append(label)

    def end(self) -> None:
        self._charge()
        self.stack.pop()

    def around(self, label, function):  # type: ignore[no-untyped-def]
        """The function with its time charged to a label; git's with the git command behind it."""

        def timed(*args, **named):  # type: ignore[no-untyped-def]
            git = next((words for words in args if isinstance(words, (list, tuple)) and words), None)
            verb = next((word for word in git if not word.startswith("-")), "") if git and label.endswith("git") else ""
            self.begin(f"{label} {verb}".strip())
            try:
                return function(*args, **named)
            finally:
                self.end()

        return timed

    def put_in(self, module: object, name: str) -> None:
        """Watch the functions of a module that was just imported."""
        for (where, inside, function), label in WATCHED.items():
            holder = getattr(module, inside, None) if inside else module
            found = holder.__dict__.get(function) if where == name and holder is not None else None
            if found is not None and not hasattr(found, "watched"):
                timed = self.around(label, found)
                timed.watched = True
                setattr(holder, function, timed)


def main() -> None:
    """`timeline.py FILE WORDS...`: run `bd WORDS...`, write what it spent where, in seconds, as JSON."""
    began = time.perf_counter()
    path, words = sys.argv[1], sys.argv[2:]
    sys.argv[0] = "bd"
    watch = Watch()
    plain = builtins.__import__
    wanted = {where for where, _, _ in WATCHED}

    def timed_import(name, *args, **named):  # type: ignore[no-untyped-def]
        if watch.stack[-1] == IMPORTS:
            return plain(name, *args, **named)
        watch.begin(IMPORTS)
        try:
            return plain(name, *args, **named)
        finally:
            watch.end()
            for module in wanted & sys.modules.keys():
                watch.put_in(sys.modules[module], module)

    builtins.__import__ = timed_import
    import gc

    gc.disable()
    from bd.cli.main import main as run

    code = run(words)
    sys.stdout.flush()
    watch.begin("")
    builtins.__import__ = plain
    import json
    import os

    with open(path, "w") as file:
        json.dump({"began": began, "ended": watch.since, "spent": watch.spent}, file)
    os._exit(code)


if __name__ == "__main__":
    main()
