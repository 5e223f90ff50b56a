"""The kinds of parameters: what a JSON value has to be."""

from __future__ import annotations

from typing import Any

import pytest

from bd.web.api.parameters import NUMBER


@pytest.mark.parametrize(
    "value", [True, None, "1", [], float("nan"), float("inf"), 10**400, -(10**400)], ids=lambda value: repr(value)[:9]
)
def test_what_is_no_number_is_none(value: Any) -> None:
    """JSON has whole numbers of any length; those that no float can hold are no amounts."""
    assert not NUMBER.fits(value)
    assert NUMBER.fits(0.5)
