"""What a reader can't see is removed from the texts of a brief: invisible characters, and comments of HTML.

Either can carry orders to a model that the people who read the bead never saw.
"""

from __future__ import annotations

import re
import unicodedata

_COMMENT = re.compile(r"<!--.*?(?:--!?>|\Z)", re.DOTALL)
# They join letters in several scripts, and the parts of an emoji; between two ASCII characters they only hide.
_JOINERS = frozenset("\u200c\u200d")
# Every character that may not be kept: a quick search passes over the others.
_QUESTIONABLE = re.compile(r"[^\n\t -~]")
# Selectors of variants that no script needs, and the blank letters that are in none of the classes below.
_BLANK = re.compile("[\U000e0100-\U000e01ef\u115f\u1160\u3164\uffa0\u2800]")
_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})


def cleaned(text: str) -> tuple[str, str]:
    """Return a text without invisible characters and HTML comments, and what was removed, in words ("" for nothing).

    Line breaks become plain ones. An HTML comment without an end reaches to the end of the text, as in a browser.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    seen = _visible(text)
    characters, comments = len(text) - len(seen), 0
    while True:  # what is left of two comments may be a third
        seen, found = _COMMENT.subn("", seen)
        comments += found
        if not found:
            break
    parts = [(characters, "invisible character"), (comments, "HTML comment")]
    return seen, " and ".join(f"{number} {word}{'s' if number > 1 else ''}" for number, word in parts if number)


def _visible(text: str) -> str:
    text = _BLANK.sub("", text)
    return _QUESTIONABLE.sub(lambda found: found[0] if _is_visible(found[0], found.start(), text) else "", text)


def _is_visible(one: str, place: int, text: str) -> bool:
    if one.isprintable():
        return True
    if one in _JOINERS:
        return not (text[place - 1 : place].isascii() or text[place + 1 : place + 2].isascii())
    return unicodedata.category(one) not in _INVISIBLE
