"""The texts that tell an agent about bd: its identity, the loop, the rules. They are short, because every line costs tokens."""

from __future__ import annotations

from bd import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_LOOP = """\
Work is kept as beads in a shared git hub. Do not keep to-do lists of your own.

Loop:
  bd ready --json{mine}
  bd claim --next --json               take the best one; it is then yours alone
  bd show ID --json                    what is to be done
  bd progress ID "half way"            while you work
  bd close ID --reason "the result" --next
Otherwise:
  bd fail ID --reason crash --error "what happened"      it is tried again
  bd release ID --reason "why"                           give it back
  bd wait-human ID --reason "a question"                 a person has to decide
  bd create "TITLE" -t bug --deps discovered-from:ID     what you found on the way

Rules:
- Only work on what you have claimed. If a claim is refused, take another bead.
- Exit codes: 0 done; 2 fix the call; 3 no work now; 4 no such bead; 5 refused, take other work; 6 try again.
- Every write is published at once; there is nothing to push or sync at the end.
- stdout is the result, with --json one JSON document; notes are on stderr.
- bd CMD --help has an example; bd help --json lists every command and flag.
"""
_SECTION = """\
## Work: bd

This repository's work is kept as beads, with `bd`. Run `bd prime` at the start of a session: it tells you who you
are, what to do, and the rules. In short: `bd ready --json`, `bd claim --next --json`, work,
`bd close ID --reason "the result"`. Record what you find on the way with
`bd create "TITLE" --deps discovered-from:ID`. Do not keep to-do lists in files.
"""
LIMIT = 2000


def prime(who: str, held: Sequence[str], ready: int, agent: str | None = None) -> str:
    """Compose the page that an agent starts with: its identity, what it holds, the loop and the rules."""
    holds = f"You hold {', '.join(held[:5])}{' and more' if len(held) > 5 else ''}: finish that first." if held else ""
    lines = [f"You are {who}. {ready} {'bead is' if ready == 1 else 'beads are'} ready for you."] + ([holds] if holds else [])
    mine = f" --agent {agent}" if agent else ""
    ready_line = f"{mine}{' ' * max(1, 22 - len(mine))}{'what you may take' if agent else 'what is ready'}, best first"
    return "\n".join(lines) + "\n" + _LOOP.replace("{mine}", ready_line)


def section() -> str:
    """Return the section about bd for a repository's AGENTS.md."""
    return _SECTION
