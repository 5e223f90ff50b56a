"""The known word that a mistyped one most likely stands for.

Belongs here: the likeness of words. Does not belong here: which words are known, and what becomes of the others.
"""

from __future__ import annotations

from functools import lru_cache

from bd import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

# Alike enough to be proposed, and so alike that nothing else is likely.
SIMILAR, SURE = 0.7, 0.8


def nearest(word: str, known: Iterable[str], likeness: float = SIMILAR) -> str | None:
    """The most similar known word; one that differs in case and marks alone (`maxConcurrent`, `max-concurrent`) goes first."""
    return _nearest(word, tuple(known), likeness)


@lru_cache(maxsize=1024)
def _nearest(word: str, known: tuple[str, ...], likeness: float) -> str | None:
    from difflib import get_close_matches  # noqa: PLC0415  only for a mistake

    folded = _folded(word)
    same = next((name for name in known if _folded(name) == folded), None)
    close = get_close_matches(word.lower(), known, n=1, cutoff=likeness)
    return same or (close[0] if close else None)


def _folded(word: str) -> str:
    return word.lower().replace("_", "").replace("-", "").replace(".", "").replace(" ", "")
