"""Prompt templates: what each tag becomes, and what is wrong with one that can't be read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bd.brief.template import rendered
from bd.core.errors import BadInput

if TYPE_CHECKING:
    from pathlib import Path

    from tests.running import Clone

VALUES: dict[str, str | bool] = {"Agent": "worker-1", "Pool": "worker", "Hub": "", "Draining": True}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("You are {{.Agent}} of {{ .Pool }}.", "You are worker-1 of worker."),
        ("{{if .Draining}}Finish.{{end}}", "Finish."),
        ("{{if not .Draining}}Go on.{{else}}Finish.{{end}}", "Finish."),
        ("{{if .Hub}}a{{else}}b{{end}}", "b"),
        ("{{if .Hub}}{{if .Draining}}a{{end}}b{{else}}c{{end}}", "c"),
        ("{{if .Draining}}{{if .Hub}}a{{else}}b{{end}}{{end}}", "b"),
        ("{{if .Hub}}{{if .Draining}}a{{else}}b{{end}}{{end}}", ""),
        ("a\n{{- if .Draining -}}\n b\n{{- end }}\n", "ab\n"),
        ("{{/* note */}}a", "a"),
        ("{ {.Agent} }", "{ {.Agent} }"),
    ],
)
def test_what_a_template_becomes(text: str, shown: str) -> None:
    assert rendered(text, VALUES) == shown


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("\n{{.Agnet}}", "line 2: no value .Agnet"),
        ("{{if .Draining}}", "line 1: an {{if}} without {{end}}"),
        ("{{end}}", "line 1: can't read {{end}}"),
        ("{{else}}", "line 1: can't read {{else}}"),
        ("{{range .Agent}}{{end}}", "can't read {{range .Agent}}"),
        ("{{if .Hub}}{{.Agnet}}{{end}}", "no value .Agnet"),
    ],
)
def test_what_can_not_be_read_is_named_with_its_line(text: str, words: str) -> None:
    with pytest.raises(BadInput) as refusal:
        rendered(text, VALUES)
    assert words in refusal.value.message


@given(st.text(st.characters(exclude_characters="{")))
def test_a_text_without_tags_stays(text: str) -> None:
    assert rendered(text, VALUES) == text


def test_prime_renders_a_template_for_whoever_asks(local_hub: Clone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "worker.md"
    file.write_text("{{.Agent}} at {{.Hub}}{{if .Draining}}: finish, claim nothing{{end}}\n")
    local_hub.here("agent", "add", "worker")
    assert local_hub.here("prime", "--agent", "worker", "--template", str(file)).out == "worker at hub\n"
    monkeypatch.setenv("BD_DRAIN", "1")
    assert local_hub.here("prime", "--agent", "worker", "--template", str(file)).out == "worker at hub: finish, claim nothing\n"
    file.write_text("{{.Mayor}}")
    assert "one of .Agent, .Pool, .Hub, .Draining" in local_hub.here("prime", "--template", str(file), code=2).err
