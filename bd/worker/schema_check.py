"""Checks whether data matches a JSON schema or a pattern. stdin: {kind, rule, data}; stdout: {passed, words}.

Runs in its own process: patterns and schemas come from beads, and some never terminate, so the caller ends this process after a
time. It imports nothing of bd, and fetches nothing.
"""

from __future__ import annotations

import json
import re
import sys
from typing import Any


def main() -> None:
    asked = json.load(sys.stdin)
    check = {"regex": by_pattern, "json-schema": by_schema}[asked["kind"]]
    passed, words = check(asked["rule"], asked["data"])
    json.dump({"passed": passed, "words": words}, sys.stdout)


def by_pattern(rule: Any, data: Any) -> tuple[bool | None, str]:
    """Search the pattern. None if the rule itself is invalid."""
    try:
        pattern = re.compile(str(rule), re.MULTILINE)
    except re.error as error:
        return None, f"the pattern can't be read: {error}"
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
    return (True, "") if pattern.search(text) else (False, f"nothing in the output matches {rule!r}")


def by_schema(rule: Any, data: Any) -> tuple[bool | None, str]:
    try:
        from jsonschema import exceptions, validators  # noqa: PLC0415  an optional extra
        from referencing import Registry  # noqa: PLC0415
    except ImportError:
        return None, "a JSON schema takes the extra: pip install 'gitbeads[validate]'"
    try:
        schema = json.loads(rule) if isinstance(rule, str) else rule
        kind = validators.validator_for(schema)
        kind.check_schema(schema)
        found = sorted(kind(schema, registry=Registry()).iter_errors(data), key=lambda error: list(map(str, error.path)))
    except (ValueError, TypeError, exceptions.SchemaError) as error:
        return None, f"the schema can't be read: {str(error).splitlines()[0]}"
    except Exception as error:  # noqa: BLE001  such as an unresolvable reference
        return None, f"the schema can't be used: {str(error).splitlines()[0]}"
    words = [f"{'/'.join(map(str, error.path)) or 'the output'}: {error.message}" for error in found]
    return not words, "; ".join(words[:5])


if __name__ == "__main__":
    main()
