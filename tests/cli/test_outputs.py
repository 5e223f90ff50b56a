"""An output that is given with the close is what is validated."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.truth import tip_bead

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.running import Clone


@pytest.mark.parametrize("size", [10, 30_000])
def test_an_output_is_checked_as_it_is_given(clone: Callable[[str], Clone], hub: Path, size: int) -> None:
    alice = clone("alice")
    plan = "title: Count\nid: hub-a\noutput: {validation: regex, validation_schema: '^done x*$'}\n"
    alice.here("create", "--file", "-", input=plan)
    assert "is not valid" in alice.here("close", "hub-a", "--output", "-", input="x" * size, code=5).err
    alice.here("close", "hub-a", "--output", "-", input="done " + "x" * size)
    bead = tip_bead(hub, "hub-a")
    assert bead is not None
    assert (bead.status, bead.get("output")["data"]) == ("closed", "done " + "x" * size)
