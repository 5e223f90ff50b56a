"""The product keeps every rule in seeded histories; each broken product does not."""

from __future__ import annotations

import pytest

from tests.histories.__main__ import Recipe, shrunk
from tests.histories.mutations import MUTATIONS, REVERTED
from tests.torture.checker import RULES

# A few seconds of one core; `make histories`, which CI runs as well, goes on for a minute.
CHUNKS, HISTORIES = 2, 8
# This many histories take two minutes of one core.
LIMIT = 400
# Rules about what only git and processes can break.
OF_TORTURE = {"audit_agrees"}


def broken(name: str, recipe: Recipe) -> list[str]:
    """Return what is wrong with a history of a broken product."""
    with pytest.MonkeyPatch.context() as patches:
        MUTATIONS[name].apply(patches)
        return recipe.history().run()


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_every_rule_holds(chunk: int) -> None:
    wrong = []
    for seed in range(1000 + chunk * HISTORIES, 1000 + (chunk + 1) * HISTORIES):
        if found := Recipe(seed).history().run():
            wrong += [*found, f"repeat it with `{shrunk(Recipe(seed)).command()}`"]
    assert not wrong, "\n".join(wrong)


@pytest.mark.one_in(7)
@pytest.mark.parametrize("name", MUTATIONS)
def test_a_broken_product_is_noticed(name: str) -> None:
    """Where a change of the product has made another history of the seed that is named, the next ones are tried."""
    rule, first = MUTATIONS[name].rule, MUTATIONS[name].recipe
    for seed in range(first.seed, first.seed + LIMIT):
        recipe = first._replace(seed=seed)
        if any(sentence.startswith(f"{rule}: ") for sentence in broken(name, recipe)) and not recipe.history().run():
            return
    pytest.fail(f"no history in {LIMIT} noticed it")


def test_every_rule_has_a_product_that_breaks_it() -> None:
    assert {mutation.rule for mutation in MUTATIONS.values()} == RULES.keys() - OF_TORTURE
    assert len(REVERTED) >= 3


@pytest.mark.slow
def test_a_failing_history_is_made_shorter() -> None:
    failing = MUTATIONS["blind_retry"].recipe
    with pytest.MonkeyPatch.context() as patches:
        MUTATIONS["blind_retry"].apply(patches)
        short = shrunk(failing)
        assert short.history().run()
    assert f"--seed {failing.seed} " in short.command()
    assert short.attempts is None or short.attempts < failing.history().attempts
    assert short != failing


def test_the_same_seed_is_the_same_history() -> None:
    one, other = (Recipe(7).history() for _ in range(2))
    one.run(), other.run()
    assert [told.line() for told in one.told] == [told.line() for told in other.told]
