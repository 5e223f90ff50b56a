"""Results and errors as text or JSON. Imports rich only for what a terminal shows while it waits.

stdout has the result and nothing else; everything else goes to stderr. Control characters from beads are escaped before they
reach a terminal.
"""

from __future__ import annotations

import io
import json
import os
import re
import sys
from select import select

from bd import TYPE_CHECKING
from bd.cli.columns import cells, cut, padded, widths
from bd.core.times import age_text, instant_of
from bd.policy.readiness import status_now

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import datetime
    from typing import Any

    from bd.core.errors import BdError
    from bd.core.model import Bead
    from bd.policy.readiness import Readiness

_AT_ONCE = 500
# The width if the output is no terminal.
_NO_LIMIT = 10_000
# And of a terminal that does not know how many it has.
_USUAL_WIDTH = 80
# Of a title, and of what stands behind it, at least this much is shown however narrow the terminal is.
_LEAST_TITLE, _LEAST_TAIL = 12, 4

# One mark and one colour for each state, everywhere.
MARKS = {
    "ready": ("○", "green"),
    "pending": ("●", "red"),
    "retrying": ("◔", "yellow"),
    "claimed": ("◐", "blue"),
    "running": ("◐", "blue"),
    "validating": ("◑", "blue"),
    "parked": ("◇", "magenta"),
    "dead_lettered": ("✗", "magenta"),
    "completed": ("✓", "bright_black"),
    "cancelled": ("–", "bright_black"),
}
_ANSI = {"green": 32, "red": 31, "yellow": 33, "blue": 34, "magenta": 35, "bright_black": 90, "bold": 1, "dim": 2}
# Characters that a terminal obeys (C0 with ESC, DEL, C1), or that are invisible and change what is seen: direction marks, line
# separators, zero-width spaces, tags. Joiners are legitimate in scripts and emoji, but not next to ASCII.
_UNSEEN = (
    "\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f"
)
_JOINER = "(?<![^\x00-\x7f])[\u200c\u200d]|[\u200c\u200d](?![^\x00-\x7f])"
_CONTROL = f"[\x00-\x08\x0b-\x1f{_UNSEEN}]|{_JOINER}"
_CONTROL_LINE = f"[\x00-\x1f{_UNSEEN}]|{_JOINER}"
_UNSEEN_IN_JSON = f"[{_UNSEEN}]"


def escaped(text: str, *, one_line: bool = True) -> str:
    r"""Escape characters that could move a terminal's cursor or hide text, as `\xNN` or `\uNNNN`."""
    if text.isprintable():  # then it contains none of them
        return text
    pattern = _CONTROL_LINE if one_line else _CONTROL
    return re.sub(pattern, _escape, text)


def _escape(match: re.Match[str]) -> str:
    code = ord(match.group())
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _json_escape(match: re.Match[str]) -> str:
    units = match.group().encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[place]:02x}{units[place + 1]:02x}" for place in range(0, len(units), 2))


def json_safe(text: str) -> str:
    """Escape, in a JSON document, what a terminal would obey or could not show."""
    return text if text.isascii() and "\x7f" not in text else re.sub(_UNSEEN_IN_JSON, _json_escape, text)


def _lacking(value: Any, what: Iterable[str]) -> Any:
    """Add to a JSON object, or each one in an array, a key that says what it lacks."""
    if isinstance(value, list):
        return [_lacking(one, what) for one in value]
    return {**value, "left_out": list(what)} if isinstance(value, dict) else value


def sentence(text: str) -> str:
    """Format words of any origin as a sentence: a capital, a full stop, and no control characters."""
    return escaped(text[:1].upper() + text[1:].rstrip(".") + ".")


class Handle(io.FileIO):
    """stdout or stderr at the system level. After the first failure output is dropped, and `lost` says why.

    A command that changes something finishes without a reader. Only if `stops` is set is the first failure raised, once.
    """

    stops = False
    of_stdout: Handle | None = None

    def __init__(self, number: int, *, is_missing: bool) -> None:
        super().__init__(number, "w", closefd=False)
        self.is_missing = is_missing
        self.lost: OSError | None = None

    def write(self, data: Any) -> int:
        try:
            while self.lost is None:
                written = super().write(data)
                if written is not None:
                    return written
                select([], [self], [])
        except OSError as error:
            self.lost = error
            if self.stops and self is Handle.of_stdout:
                raise
        return len(data)


def prepare_streams() -> None:
    """Use UTF-8 whatever the locale. A closed handle becomes the null device, so that no file gets its number."""
    missing = [name for name in ("stdin", "stdout", "stderr") if getattr(sys, name) is None]
    if missing:
        while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
            os.set_inheritable(number, True)
        os.close(number)
    if "stdin" in missing:
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115  open as long as the process
    elif isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(encoding="utf-8", errors="strict")
    Handle.stops = False
    for number, name in ((1, "stdout"), (2, "stderr")):
        if getattr(sys, name) is getattr(sys, f"__{name}__"):  # else the caller has replaced it
            setattr(sys, name, _stream(number, getattr(sys, name)))


def _stream(number: int, old: io.TextIOWrapper | None) -> io.TextIOWrapper:
    """Return a stream that buffers like the interpreter's own."""
    handle = Handle(number, is_missing=old is None)
    if number == 1:
        Handle.of_stdout = handle
    stream = io.TextIOWrapper(io.BufferedWriter(handle), encoding="utf-8", errors="backslashreplace")
    if old is not None:
        stream.reconfigure(line_buffering=old.line_buffering, write_through=old.write_through)
    return stream


def lost_output() -> OSError | None:
    """Return why part of the result did not reach its reader; None if all did."""
    return Handle.of_stdout.lost if Handle.of_stdout else None


def can_be_heard() -> bool:
    """Return whether there is a stdout, and it has taken everything so far."""
    return Handle.of_stdout is None or not (Handle.of_stdout.is_missing or Handle.of_stdout.lost)


class Output:
    """The output of a command. `is_json` prints one JSON document, `quiet` only ids."""

    def __init__(self, *, is_json: bool = False, quiet: bool = False) -> None:
        self.is_json = is_json
        self.quiet = quiet
        self.exit_code = 0
        self.left_out: tuple[str, ...] = ()  # what the answer lacks; JSON includes it
        self._style = f"\x1b{os.urandom(8).hex()}"  # precedes each of bd's own styles; no text can contain it

    # --- the two streams ---

    def json(self, value: Any) -> None:
        """Print the one JSON document, indented by two spaces."""
        if self.left_out:
            value = _lacking(value, self.left_out)
        if os.environ.get("BD_JSON_ENVELOPE") == "1":
            value = {"schema_version": 1, "data": value}
        sys.stdout.write(json_safe(json.dumps(value, indent=2, ensure_ascii=False)) + "\n")

    def json_text(self, pieces: Iterable[str]) -> None:
        """Print a JSON document that is already rendered, piece by piece."""
        if os.environ.get("BD_JSON_ENVELOPE") == "1":
            self.json(json.loads("".join(pieces)))
        else:
            for piece in pieces:
                sys.stdout.write(json_safe(piece))

    def object(self, value: dict[str, Any]) -> None:
        """Print a JSON object with the schema version that the Go tool adds."""
        self.json({**value, "schema_version": 1} if os.environ.get("BD_JSON_ENVELOPE") != "1" else value)

    def line(self, text: str = "") -> None:
        """Print a line of the text result. Control characters are escaped, wherever they come from."""
        self.lines((text,))

    def lines(self, texts: Iterable[str]) -> None:
        """Print many lines, each like `line`, in batches."""
        rest = iter(texts)  # second in zip, which would otherwise drop an item when the range ends
        while some := [text for _, text in zip(range(_AT_ONCE), rest, strict=False)]:
            parts = (escaped(part, one_line=False) for part in "\n".join(some).split(self._style))
            sys.stdout.write("\x1b".join(parts) + "\n")

    def said(self, text: str) -> None:
        """Print a line that only confirms; `--quiet` leaves it out."""
        if not self.quiet:
            self.line(text)

    def note(self, text: str) -> None:
        """Print something that is not part of the result."""
        sys.stderr.write(escaped(text, one_line=False) + "\n")

    # --- style ---

    @property
    def is_terminal(self) -> bool:
        return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"

    @property
    def is_plain(self) -> bool:
        """True if lines are the same wherever they go: there is no terminal with colours and a width."""
        return not sys.stdout.isatty()

    def styled(self, text: str, *styles: str) -> str:
        if not text or not self.is_terminal or not styles:
            return text
        return f"{self._style}[{';'.join(str(_ANSI[style]) for style in styles)}m{text}{self._style}[0m"

    def width(self) -> int:
        """Return the columns to fill: the terminal's; without a terminal, no limit."""
        if not sys.stdout.isatty():
            return _NO_LIMIT
        return os.get_terminal_size(sys.stdout.fileno()).columns or _USUAL_WIDTH

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
        """Print a table with aligned columns; on a terminal, fit it to the width."""
        shown = [list(columns), *([escaped(cell) for cell in row] for row in rows)]
        fitting = widths(shown, self.width())
        for place, row in enumerate(shown):
            line = "  ".join(padded(cut(cell, width), width) for cell, width in zip(row, fitting, strict=True)).rstrip()
            self.line(line if place else self.styled(line, "dim"))

    # --- beads ---

    def bead_line(self, bead: Bead, readiness: Readiness, *, lead: str = "", with_state: bool = False, tail: str = "") -> str:
        """Format `LEAD○ ID ● P2 type TITLE   STATEtail`; the title is cut to the width, the id never.

        `lead` and `tail` are texts without styles: styles have no width, so texts are cut before they get one.
        """
        mark, colour = MARKS[readiness.phase(bead)]
        head = f"{lead}{mark} {bead.id} ● P{bead.priority} {bead.type} "
        title, state = escaped(bead.title), _state_word(bead, readiness) if with_state else ""
        tail = f"{state}{tail}"
        width = self.width()
        if width < _NO_LIMIT:
            title, tail = self._fitted(title, tail, width - cells(head))
        shown = f"{lead}{self.styled(mark, colour)} {self.styled(bead.id, 'bold')} ● P{bead.priority} {bead.type} {title}"
        after = self.styled(tail[: len(state)], colour) + self.styled(tail[len(state) :], "dim")
        return f"{shown}   {after}" if after else shown

    @staticmethod
    def _fitted(title: str, tail: str, room: int) -> tuple[str, str]:
        """Cut a title and the text after it so that both fit into `room` columns; the title is cut first."""
        title = cut(title, max(_LEAST_TITLE, room - (cells(tail) + 3 if tail else 0)))
        return title, cut(tail, max(_LEAST_TAIL, room - cells(title) - 3)) if tail else ""

    def age(self, instant: str | None, now: datetime) -> str:
        """Return how long ago that was, for people; "" without an instant."""
        return age_text((now - instant_of(instant)).total_seconds()) if instant else ""

    def state(self, bead: Bead, readiness: Readiness) -> str:
        """Return a bead's state in its colour."""
        return self.styled(_state_word(bead, readiness), MARKS[readiness.phase(bead)][1])

    # --- errors ---

    def error(self, error: BdError) -> None:
        """Show an error once: as JSON on stdout if requested, and always on stderr."""
        Handle.stops = False
        if self.is_json:
            self.object(error.as_json())
        sys.stderr.write(f"Error: {escaped(error.message, one_line=False)}\n")
        if error.hint:
            sys.stderr.write(f"Hint: {escaped(error.hint)}\n")

    def failures(self, failures: Iterable[Mapping[str, Any]]) -> None:
        """Report which of several beads failed, and end with the exit code of the first."""
        for failure in failures:
            sys.stderr.write(f"Error: {escaped(failure['id'])}: {escaped(failure['error'])}\n")
            if failure.get("hint"):
                sys.stderr.write(f"Hint: {escaped(failure['hint'])}\n")
            self.exit_code = self.exit_code or int(failure["exit_code"])


def _state_word(bead: Bead, readiness: Readiness) -> str:
    phase, status = readiness.phase(bead), status_now(bead, readiness.now)
    return escaped((status if status != "open" else {"pending": "blocked"}.get(phase, phase)).replace("_", " "))


class PlainOutput(Output):
    """An output to no terminal: lines are the same wherever they go."""

    @property
    def is_terminal(self) -> bool:
        return False

    @property
    def is_plain(self) -> bool:
        return True

    def width(self) -> int:
        return _NO_LIMIT


def progress_bar(what: str) -> Callable[[int, int, str], None] | None:
    """Return a callback that shows long work as a bar on a terminal's stderr; None without a terminal."""
    if not sys.stderr.isatty():
        return None
    from rich.console import Console
    from rich.progress import Progress

    bar = Progress(console=Console(stderr=True), transient=True)
    task = bar.add_task(what, total=None)
    bar.start()

    def advance(done: int, of: int, words: str) -> None:
        bar.update(task, completed=done, total=of, description=words)
        if of and done >= of:
            bar.stop()

    return advance


class LivePage:
    """A page of Markdown that fills the terminal: a context manager, with repeated calls of `show(text)`.

    It uses the terminal's current size, whatever LINES and COLUMNS say; what does not fit is counted.
    """

    def __init__(self) -> None:
        from rich.console import Console
        from rich.live import Live

        self._console = Console()
        self._fit()
        self._live = Live(console=self._console, screen=True, auto_refresh=False, vertical_overflow="crop")

    def __enter__(self) -> LivePage:
        self._live.__enter__()
        return self

    def __exit__(self, *ended: Any) -> None:
        self._live.__exit__(*ended)

    def show(self, text: str) -> None:
        from rich.console import Group
        from rich.markdown import Markdown
        from rich.segment import Segments
        from rich.text import Text

        self._fit()
        options = self._console.options
        lines = self._console.render_lines(Markdown(text), options, new_lines=True)
        room = options.size.height
        shown, note = lines, ""
        if len(lines) > room:
            shown, note = lines[: room - 1], f"… {len(lines) - room + 1} lines more; `bd board` prints all of it"
        self._live.update(Group(*map(Segments, shown), Text(note, style="dim", end="")), refresh=True)

    def _fit(self) -> None:
        size = os.get_terminal_size(sys.stdout.fileno())
        if size.columns and size.lines:
            self._console.size = size
