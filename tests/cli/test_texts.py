"""Long texts from files and stdin: the bytes that go in are the bytes that the hub keeps, whatever the locale is."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.truth import tip_bead

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.running import Clone

pytestmark = pytest.mark.one_in(12)

# What a reader of texts, or a locale, may change: line ends, a mark at the beginning, blanks at the end, what is not ASCII.
ODD = "\ufeffone\rtwo\r\nthree\n\rfour\u2028\u00a0\u0085 é Ã© 😀 \t \r\n\n"
# None of these decodes UTF-8 as UTF-8 without being told to.
LOCALES = [
    {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"},
    {"LC_ALL": "POSIX", "PYTHONIOENCODING": "latin-1"},
    {"LC_ALL": "C.UTF-8", "PYTHONIOENCODING": "ascii"},
    {"LC_ALL": "tr_TR.ISO-8859-9", "PYTHONUTF8": "0", "PYTHONIOENCODING": "utf-16"},
]
WAYS = [["--body-file", "é.md"], ["--body-file", "-"], ["--description", "-"], ["--stdin"], ["--description", ODD]]


@pytest.mark.one_in(20)
@pytest.mark.parametrize(("locale", "way"), [*itertools.product(LOCALES, WAYS)], ids=lambda part: " ".join(part)[:24])
def test_a_text_is_kept_as_it_is_in_every_locale(locale: dict[str, str], way: Sequence[str], local_hub: Clone) -> None:
    (local_hub.path / "é.md").write_bytes(ODD.encode())
    local_hub.bd("create", "Words", "--id", "hub-a", *way, input=ODD, env=locale)
    bead = tip_bead(local_hub.path, "hub-a")
    assert bead is not None
    assert bead.get("description") == ODD


@pytest.mark.one_in(16)
@pytest.mark.parametrize("locale", LOCALES, ids=" ".join)
def test_a_file_to_import_is_found_in_every_locale(locale: dict[str, str], local_hub: Clone) -> None:
    (local_hub.path / "é.jsonl").write_text('{"id": "hub-a", "title": "One"}\n', encoding="utf-8")
    local_hub.bd("import", "é.jsonl", env=locale)
    assert tip_bead(local_hub.path, "hub-a") is not None


TEXTS = st.text(alphabet=st.sampled_from("a\r\n\té\u2028 #:-'\"|>"), max_size=30) | st.text(
    st.characters(exclude_categories=["Cs"]), max_size=60
)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=TEXTS)
def test_a_text_is_kept_from_a_file_and_from_stdin(text: str, local_hub: Clone) -> None:
    body = local_hub.path / "body"
    body.write_bytes(text.encode())
    if tip_bead(local_hub.path, "hub-a") is None:
        local_hub.here("create", "Words", "--id", "hub-a")
    local_hub.here("update", "hub-a", "--description", "before", "--design", "before")
    local_hub.here("update", "hub-a", "--body-file", str(body), "--design", "-", input=text)
    bead = tip_bead(local_hub.path, "hub-a")
    assert bead is not None
    assert (bead.get("description") or "", bead.get("design") or "") == (text, text)


def test_an_empty_text_stays_one(local_hub: Clone) -> None:
    (local_hub.path / "empty").write_bytes(b"")
    local_hub.here("create", "Words", "--id", "hub-a", "--body-file", "empty", "--design", "once")
    local_hub.here("update", "hub-a", "--design", "-", input="")
    bead = tip_bead(local_hub.path, "hub-a")
    assert bead is not None
    assert not bead.get("description")
    assert not bead.get("design")


@pytest.mark.parametrize(
    "args",
    [
        ("comment", "hub-a", "--stdin"),
        ("note", "hub-a", "--stdin"),
        ("wait-human", "hub-a", "--reason", "-"),
        ("answer", "hub-a", "--file", "-"),
    ],
    ids=lambda args: args[0],
)
def test_what_needs_words_is_refused_without_any(args: Sequence[str], local_hub: Clone) -> None:
    local_hub.here("create", "Words", "--id", "hub-a")
    local_hub.here(*args, input="", code=2)


def test_what_is_no_text_is_named(local_hub: Clone, tmp_path: Path) -> None:
    (tmp_path / "latin").write_bytes(b"caf\xe9")
    for args in (["--body-file", str(tmp_path / "latin")], ["--metadata", f"@{tmp_path / 'latin'}"]):
        ended = local_hub.here("create", "Words", *args, code=2)
        assert f"from {tmp_path / 'latin'}: 'utf-8' codec" in ended.err
