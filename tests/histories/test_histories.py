"""The product keeps every rule in seeded histories; each broken product does not."""

from __future__ import annotations

import pytest

from tests.histories.__main__ import Recipe, shrunk
from tests.histories.mutations import MUTATIONS

# This many histories take about a minute of one core.
CHUNKS, HISTORIES = 9, 12
# Where the search for a history that notices a mutation begins: near one that does.
FIRST_SEED = {"no_fencing": 10, "blind_retry": 3, "trust_in_exit_codes": 3, "forgotten_journal": 19, "stale_cache": 35}
LIMIT = 60


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_every_rule_holds(chunk: int) -> None:
    wrong = []
    for seed in range(1000 + chunk * HISTORIES, 1000 + (chunk + 1) * HISTORIES):
        if found := Recipe(seed).history().run():
            wrong += [*found, f"repeat it with `{shrunk(Recipe(seed)).command()}`"]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_broken_product_is_noticed(name: str) -> None:
    seeds = range(FIRST_SEED[name], FIRST_SEED[name] + LIMIT)
    with pytest.MonkeyPatch.context() as patches:
        MUTATIONS[name](patches)
        failing = next(seed for seed in seeds if Recipe(seed).history().run())
    assert not Recipe(failing).history().run()


def test_a_failing_history_is_made_shorter(monkeypatch: pytest.MonkeyPatch) -> None:
    MUTATIONS["blind_retry"](monkeypatch)
    failing = next(recipe for seed in range(1, LIMIT) if (recipe := Recipe(seed)).history().run())
    short = shrunk(failing)
    assert short.history().run()
    assert short.attempts is not None
    assert f"--seed {failing.seed} --attempts {short.attempts}" in short.command()


def test_the_same_seed_is_the_same_history() -> None:
    one, other = (Recipe(7).history() for _ in range(2))
    one.run(), other.run()
    assert [told.line() for told in one.told] == [told.line() for told in other.told]
