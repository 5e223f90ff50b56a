"""`python -m tests.versions.sources --record`: what each version of core/versions.py is the version of, as checksums.

A checksum covers code without comments and docstrings. When one changes, either the layout has changed, and its version is
raised, or it only looks different, and the checksum is recorded again.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import inspect
import json
import sys
import textwrap
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bd.core import schema, versions
from bd.operations.base import REGISTRY, Operation
from bd.store.git import commit_message
from bd.store.group_commit import requests
from bd.store.heartbeat import agent_records, objects, side_refs
from bd.store.local import journal

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

importlib.import_module("bd.operations.registry")  # registers every verb
RECORDED = Path(__file__).with_name("sources.json")
# What writes and reads each layout: functions, classes, and tables by their values.
FILES = [name for name in vars(schema) if name.endswith("_FIELDS")]
OF_EVERY_VERB = [Operation.form, Operation.pinned, commit_message.compose, commit_message.form_of]


class Layout(NamedTuple):
    """A version as it stands in the code, and the checksum of what it is the version of."""

    version: int
    checksum: str


@cache  # a test asks once for each layout
def layouts() -> dict[str, Layout]:
    """Return every layout by its name; an operation's is `operation <verb>`."""
    every_verb = _of_code(OF_EVERY_VERB)
    found = {
        "format": Layout(versions.FORMAT, _sum([_table(vars(schema)[name]) for name in FILES])),
        "journal": Layout(
            versions.JOURNAL, _sum([*_of_code([journal.Entry, journal.Journal.begin]), repr(sorted(journal._KINDS))])
        ),
        "request": Layout(versions.REQUEST, _sum(_of_code([requests.text_of, requests._parsed]))),
        "heartbeat": Layout(versions.HEARTBEAT, _sum([*_of_code([objects._content, objects._slot]), repr(objects._MESSAGES)])),
        "agent record": Layout(
            versions.AGENT_RECORD, _sum(_of_code([agent_records.record_of, side_refs.SideRefs.record_commit]))
        ),
    }
    for verb, kind in REGISTRY.items():
        parts = [repr(sorted(kind.takes)), *_of_code([kind.prepare, kind.exact_form]), *every_verb]
        found[f"operation {verb}"] = Layout(versions.operation(verb), _sum(parts))
    return dict(sorted(found.items()))


def recorded() -> dict[str, Layout]:
    """Return the layouts as they were recorded."""
    return {name: Layout(*kept) for name, kept in json.loads(RECORDED.read_text()).items()}


def _table(table: Mapping[str, object] | frozenset[str]) -> str:
    return json.dumps(sorted(table.items() if hasattr(table, "items") else table))


def _of_code(things: Iterable[object]) -> list[str]:
    """Return the code of functions and classes, without comments and docstrings."""
    return [_code_of(textwrap.dedent(inspect.getsource(thing))) for thing in things]


def _code_of(source: str) -> str:
    tree = ast.parse(source)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
            body[:] = body[1:] or [ast.Pass()]
    return ast.dump(tree)


def _sum(parts: Iterable[str]) -> str:
    return sha256("\0".join(parts).encode()).hexdigest()[:16]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.versions.sources", description=__doc__)
    parser.add_argument("--record", action="store_true", required=True)
    parser.parse_args()
    RECORDED.write_text(json.dumps(layouts(), indent=0) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
