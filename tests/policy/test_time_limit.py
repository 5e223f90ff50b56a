"""How long an attempt may take, as values alone."""

from __future__ import annotations

from typing import Any

import pytest

from bd.core.model import Bead
from bd.policy.time_limit import OF_AGENTS_S, limit_s

DEFAULTS = {"code": "30m", "test": "0s", "bug": "soon"}


@pytest.mark.parametrize(
    ("own", "kind", "typed_s", "is_known_agent", "expected_s"),
    [
        (None, "task", None, False, None),
        (None, "task", None, True, OF_AGENTS_S),
        (None, "code", None, True, 1800.0),
        (None, "code", None, False, 1800.0),
        (None, "test", None, True, OF_AGENTS_S),  # 0 is no limit, and an agent has one
        (None, "bug", None, False, None),  # written by hand
        ("1h", "code", None, False, 3600.0),
        ("5h", "code", None, True, 18000.0),
        (None, "code", 60.0, True, 60.0),
        ("1h", "code", 60.0, True, 60.0),
        ("10s", "code", 60.0, False, 10.0),
        ("soon", "code", None, False, 1800.0),
    ],
)
def test_the_bead_and_the_typed_limit_go_before_defaults(
    own: str | None, kind: str, typed_s: float | None, is_known_agent: bool, expected_s: float | None
) -> None:
    fields: dict[str, Any] = {"id": "hub-a", "type": kind, **({"spec": {"max_duration": own}} if own else {})}
    assert limit_s(Bead(fields), typed_s, DEFAULTS, is_known_agent=is_known_agent) == expected_s
