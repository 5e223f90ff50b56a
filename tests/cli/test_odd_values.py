"""Empty and odd values: each option of each command refuses them, or they mean what they say. The tables come from the SPECs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bd.cli import parse
from bd.cli.spec import Flag, Option
from bd.cli.table import DEEDS, PAST
from tests.cli.test_spec import RUNNERS, by_click
from tests.truth import all_beads

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.running import Clone

pytestmark = pytest.mark.one_in(5)

NUMBERS = ("integer", "integer range", "float", "float range", "rate", "duration", "priority")
NO_NUMBERS = ("", " ", "nan", "NaN", "inf", "+inf", "Infinity", "1e400", "0x10", "--1", "9" * 400 + "e9")
EMPTY = ("", " ", ",", " , ")
# Options of commands that only read whose empty value leaves nothing out, and why it does no harm.
HARMLESS = {
    "agent add": "adds",
    "agent": "adds",
    "agent rename": "names",
    "comments": "says who a comment is by",
    "dep add": "adds",
    "plan apply": "makes beads",
    "prime": "names a file",
    "schedule add": "adds",
    "trigger add": "adds",
    "trigger fire": "tells one delivery from another",
    "dag cancel": "gives a reason",
    "dlq retry": "gives a reason",
    "dlq edit": "gives a reason",
    "dlq cancel": "gives a reason",
    "dlq review": "gives a reason",
    "identity init": "says what an identity is",
    "board": "--path: where the page is written",
    "export": "--output: where the lines are written",
    "cost": "--model: what an attempt was made with",
}


def options(*kinds: str) -> Iterator[tuple[str, Option]]:
    """Every option with a value of these kinds, behind what is typed for its command."""
    for typed, (spec, _) in RUNNERS.items():
        yield from ((typed, one) for one in spec.options if not isinstance(one, Flag) and (not kinds or one.kind.name in kinds))


def line(typed: str, option: Option, value: str) -> list[str]:
    """A command with as many words as it needs, every other flag it needs, and this option."""
    spec, _ = RUNNERS[typed]
    words = [FILLED.get(one.name, "x") for one in spec.arguments if one.is_required]
    others = [word for one in spec.options if one.is_required and one is not option for word in (one.flags[0], "x")]
    return [*typed.split(), *others, f"{long_flag(option)}={value}", *words]


FILLED = {
    "bead": "hub-bug", "beads": "hub-bug", "root": "hub-epic", "one": "hub-bug", "value": "1", "name": "codemonkey", "agent": "codemonkey",
    "shell": "bash", "file": "bead", "to": "other", "seconds": "1",
}  # fmt: skip


def long_flag(option: Option) -> str:
    return next(flag for flag in option.flags if flag.startswith("--"))


@pytest.mark.one_in(40)
@pytest.mark.parametrize(("typed", "option"), [pytest.param(*one, id=f"{one[0]} {one[1].name}") for one in options(*NUMBERS)])
def test_what_is_no_number_is_none_for_any_option(typed: str, option: Option) -> None:
    for text in NO_NUMBERS:
        words = line(typed, option, text)
        assert parse.read(words) is None, text
        assert by_click(words) is None, text


@pytest.mark.one_in(40)
@pytest.mark.parametrize(
    ("typed", "option"), [pytest.param(*one, id=f"{one[0]} {one[1].name}") for one in options() if one[1].needs_text]
)
def test_an_option_that_needs_a_text_has_one(typed: str, option: Option) -> None:
    for text in EMPTY if option.multiple and option.kind.name == "list" else ("", " "):
        words = [*typed.split(), f"{long_flag(option)}={text}"]
        assert parse.read(words) is None, text
        assert by_click(words) is None, text


def test_whatever_a_read_leaves_out_by_is_a_filter() -> None:
    """An option with a text is declared to need it, or does no harm where it is empty."""
    for typed, option in options("text", "list"):
        if typed.split()[0] in PAST and typed not in DEEDS and typed not in HARMLESS and option.name != "sort":
            assert option.needs_text, f"{typed} {long_flag(option)}"


FILTERS = [
    "list --label",
    "ready --assignee",
    "count --status",
    "search x --type",
    "blocked --parent",
    "stale --status",
    "log --since",
    "list --title",
    "list --waiting",
    "list --metadata-field",
    "list --created-after",
    "count --id",
]


@pytest.mark.one_in(15)
@pytest.mark.parametrize("typed", FILTERS)
def test_an_empty_filter_is_an_error_for_us_and_everything_for_clients_of_the_go_tool(typed: str, board: Clone) -> None:
    *words, flag = typed.split()
    refused = board.here(*words, flag, "", "--json", code=2)
    assert refused.json["error"] == f"{flag} is empty, so it would filter nothing"
    for text in (" ", ""):
        taken = board.here("--sandbox", *words, flag, text, "--json")
        assert taken.err == f"warning: {flag} is empty, so it filters nothing, as with the Go tool\n"
        assert taken.json == board.here(*words, "--json").json


def test_an_empty_text_is_refused_where_it_filters_nothing(board: Clone) -> None:
    for words in (["sync", "--dismiss="], ["show", "--id="], ["archive", "--older-than="]):
        for more in ([], ["--sandbox"]):
            refused = board.here(*words, *more, "--json", code=2).json
            flag = words[-1].rstrip("=")
            assert (refused["error"], refused["hint"]) == (f"{flag} is empty", "give it a value, or omit it")


@pytest.mark.parametrize("words", ["list --tree=false", "list --include-infra", "ready --include-deferred"])
def test_a_flag_of_the_go_tool_says_who_types(words: str, board: Clone) -> None:
    assert "warning: --assignee is empty" in board.here(*words.split(), "--assignee=", "--json").err


def test_a_write_clears_by_an_empty_value(board: Clone) -> None:
    board.here("update", "hub-res", "--assignee", "", "--parent", "")
    assert "assignee" not in board.here("show", "hub-res", "--json").json[0]


@pytest.mark.parametrize(
    "words", [["--agent", "", "list"], ["list", "--at="], ["-C", "", "list"], ["claim", "--next", "--agent="]]
)
def test_an_empty_global_flag_is_not_as_if_it_were_left_out(words: list[str], board: Clone) -> None:
    board.here(*words, code=2)


TIMES = [
    *("list --created-after", "list --created-before", "list --updated-after", "list --updated-before", "list --closed-after"),
    *("count --closed-before", "history hub-bug --since", "log --since", "metrics --since", "audit --since", "cost --since"),
    *("create x --due", "create x --defer", "update hub-bug --due", "update hub-bug --defer", "defer hub-bug --until", "show hub-bug --at"),
]  # fmt: skip


@pytest.mark.one_in(20)
@pytest.mark.parametrize("typed", TIMES)
def test_a_bare_number_is_never_seconds_where_a_time_is_meant(typed: str, board: Clone) -> None:
    *words, flag = typed.split()
    for text in ("3600", "1767139200", "99999999", "2.5", "+90", "nan", "inf"):
        assert "Traceback" not in board.here(*words, flag, text, code=2).err
    if words[0] in ("create", "update", "defer"):
        board.here(*words, flag, "20991231")
        dated = [one for one in board.here("list", "--json", "--all").json if "2099-12-31T00:00:00Z" in map(str, one.values())]
        assert len(dated) == 1


@pytest.mark.parametrize("text", ["hub", "hub-", "h", "hu", ""])
@pytest.mark.parametrize("words", ["close", "show", "update --priority 0", "claim", "delete --force", "dep add hub-bug"])
@pytest.mark.one_in(25)
def test_a_prefix_is_no_id(text: str, words: str, board: Clone) -> None:
    board.here("delete", *(bead.id for bead in all_beads(board.path) if bead.id != "hub-bug"), "--force", check=False)
    first, *rest = words.split()
    board.here(first, *([*rest, text] if first == "dep" else [text, *rest]), code=2)
    assert board.here("show", "bug", "--json").json[0]["status"] == "open"


NO_LABELS = ["", "  ", "a,b", ",", "one\ntwo", "one\u2028two", "\r"]


@pytest.mark.parametrize("label", NO_LABELS)
def test_a_label_is_one_line_without_commas(label: str, board: Clone) -> None:
    for words in (["label", "add", "hub-bug"], ["tag", "hub-bug"]):
        assert "can't be a label" in board.here(*words, label, code=2).err
    (board.path / "plan.yaml").write_text(f"title: x\nlabels: [{label!r}]\n".replace("'", '"'), encoding="utf-8")
    board.here("create", "--file", "plan.yaml", code=2)
