"""People who edit files and use plain git."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.torture.calls import Call
from tests.torture.faults.registry import of_a_round
from tests.torture.yard import git

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.torture.yard import Yard


@of_a_round("commit -a on a dirty bead", first=True)
def commit_all(yard: Yard) -> Iterator[None]:
    """A person has a bead open in an editor while agents work in the clone, then commits everything and syncs."""
    name = yard.rng.choice(yard.clones)
    path = yard.path(name)
    files = sorted((path / "beads").glob("hub-*.yaml"))
    mark = yard.mark()
    file = yard.rng.choice(files) if files else None
    text = file.read_text() if file else ""
    is_edited = file is not None and "external_ref:" not in text
    if file is not None and is_edited:
        file.write_text(f"{text.rstrip()}\nexternal_ref: {mark}\n")
    yield
    if is_edited and not (path / ".git" / "index.lock").exists():
        git(path, "commit", "--quiet", "--all", "-m", f"by hand {mark}", env=yard.env, check=False)
        yard.run(Call(name, "", "sync", ["sync", "--json"], mark=mark))
