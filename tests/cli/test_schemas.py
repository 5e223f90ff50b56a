"""The schemas for editors: every file that bd reads is valid, and what it refuses for its kind is not."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from bd.compat.json_schemas import schema
from bd.core.schema import AGENT_FIELDS, BEAD_FIELDS, CONFIG_FIELDS
from bd.store.yaml import codec

if TYPE_CHECKING:
    from tests.running import Clone

ROOT = Path(__file__).resolve().parents[2]
TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}


def faults(value: Any, rule: dict[str, Any], where: str = "$") -> list[str]:
    """What a validator of JSON Schema would say; it knows the words that our schemas use, and no other."""
    assert rule.keys() <= {
        "$schema", "title", "type", "properties", "required", "items", "anyOf", "enum", "pattern", "minimum", "maximum", "maxLength",
    }  # fmt: skip
    found: list[str] = []
    if "type" in rule:
        names = rule["type"] if isinstance(rule["type"], list) else [rule["type"]]
        kinds = tuple(kind for name in names for kind in TYPES[name])
        if not isinstance(value, kinds) or (isinstance(value, bool) and "boolean" not in names):
            return [f"{where}: {value!r} is not one of {names}"]
    if "anyOf" in rule and all(faults(value, each, where) for each in rule["anyOf"]):
        found.append(f"{where}: {value!r} is nothing of what it may be")
    if "enum" in rule and value not in rule["enum"]:
        found.append(f"{where}: {value!r} is not one of {rule['enum']}")
    if isinstance(value, str):
        if "pattern" in rule and not re.search(rule["pattern"], value):
            found.append(f"{where}: {value!r} does not match")
        if len(value) > rule.get("maxLength", len(value)):
            found.append(f"{where}: too long")
    if isinstance(value, (int, float)) and not rule.get("minimum", value) <= value <= rule.get("maximum", value):
        found.append(f"{where}: {value} is out of range")
    if isinstance(value, dict):
        found += [f"{where}: {key} is missing" for key in rule.get("required", []) if key not in value]
        for key, entry in value.items():
            found += faults(entry, rule.get("properties", {}).get(key, {}), f"{where}.{key}")
    if isinstance(value, list):
        for place, entry in enumerate(value):
            found += faults(entry, rule.get("items", {}), f"{where}[{place}]")
    return found


def as_an_editor_reads(text: str) -> Any:
    """YAML 1.2 with its core types, times as texts."""
    yaml = YAML(typ="safe", pure=True)
    yaml.constructor.add_constructor("tag:yaml.org,2002:timestamp", lambda loader, node: loader.construct_scalar(node))
    return yaml.load(io.StringIO(text))


EXAMPLES = sorted((ROOT / "examples" / "demo").glob("*/*.yaml"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_every_example_is_valid(path: Path) -> None:
    kind = "agent" if path.parent.name == "agents" else "bead"
    assert faults(as_an_editor_reads(path.read_text(encoding="utf-8")), schema(kind)) == []


def test_every_file_of_a_hub_is_valid(board: Clone) -> None:
    board.here("agent", "add", "bob", "--role", "research", "--max", "2", "--skills", "")
    board.here("config", "set", "max_attempts", "5")
    board.here("claim", "hub-bug", "--agent", "bob")
    board.here("fail", "hub-bug", "--reason", "crash", "--error", "boom", "--cost", "0.1", "--agent", "bob")
    board.here("pause", "--reason", "rest")
    files = [*board.path.glob("beads/**/*.yaml"), *board.path.glob(".beads/agents/*.yaml"), board.path / ".beads/config.yaml"]
    assert len(files) >= 11
    for path in files:
        kind = {"agents": "agent", ".beads": "config"}.get(path.parent.name, "bead")
        assert faults(as_an_editor_reads(path.read_text(encoding="utf-8")), schema(kind)) == [], path


@pytest.mark.parametrize(
    "line",
    [
        "priority: 7",
        "labels: {a: b}",
        "attempts: many",
        "created_at: yesterday",
        "claim: none",
        "comments: [a]",
        "expected: soon",
    ],
)
def test_what_the_reader_refuses_is_a_fault(line: str) -> None:
    text = f"id: hub-a\ntitle: A\n{line}\n"
    with pytest.raises(codec.Unreadable):
        codec.parse_bead(text.encode(), "hub-a")
    assert faults(as_an_editor_reads(text), schema("bead")) != []


@given(
    st.sampled_from(sorted(BEAD_FIELDS)),
    st.sampled_from(
        [
            "1",
            "P2",
            "yes",
            "2h",
            "1h30m",
            "a text",
            "[a, b]",
            "{a: b}",
            "[{a: b}]",
            "2026-02-21",
            "2026-02-21T10:00:00+01:00",
            "1.5",
            "~",
            '""',
        ]
    ),
)
def test_what_the_reader_takes_is_valid(key: str, value: str) -> None:
    text = f"{'' if key == 'id' else 'id: hub-a'}\n{'' if key == 'title' else 'title: A'}\n{key}: {value}\n"
    try:
        codec.parse_bead(text.encode(), "hub-a")
    except codec.Unreadable:
        return
    assert faults(as_an_editor_reads(text), schema("bead")) == []


@pytest.mark.parametrize(("name", "table"), [("bead", BEAD_FIELDS), ("agent", AGENT_FIELDS), ("config", CONFIG_FIELDS)])
def test_every_key_is_in_it(name: str, table: dict[str, str]) -> None:
    assert list(schema(name)["properties"]) == list(table)
