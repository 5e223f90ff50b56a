"""The page of the papers' claims is what their scenarios give, and the claims hold as far as it says."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from bd.simulation.run import run

pytestmark = pytest.mark.one_in(3)

ROOT = Path(__file__).resolve().parents[1]


def _generator() -> Any:
    spec = importlib.util.spec_from_file_location("generate_paper", ROOT / "docs" / "generate_paper.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


paper = _generator()
CLAIMS = {claim.file: claim for claim in paper.CLAIMS}
QUICK = ("doubling.yaml", "fallback.yaml")


def test_each_scenario_of_the_paper_has_a_claim() -> None:
    assert {path.name for path in (ROOT / "examples" / "paper").glob("*.yaml")} == CLAIMS.keys()
    assert all(variants for variants in (claim.variants for claim in paper.CLAIMS))


@pytest.mark.parametrize("file", [pytest.param(file, marks=[] if file in QUICK else [pytest.mark.slow]) for file in CLAIMS])
def test_the_page_says_what_the_scenario_gives(file: str) -> None:
    """If this fails, `make paper` writes the page again."""
    assert paper.section(CLAIMS[file]) in (ROOT / "docs" / "paper.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_bead_waits_for_half_the_interval() -> None:
    claim = CLAIMS["latency.yaml"]
    for variant in claim.variants:
        scenario = variant.change(claim.scenario)
        figures, interval_s = run(scenario).figures, scenario.groups[0].interval_s
        assert figures.wait_mean_s == pytest.approx(interval_s / 2, rel=0.15)
        assert figures.wait_p99_s <= interval_s * 1.05
