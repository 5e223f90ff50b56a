"""`python -m tests.histories --seed 7`: play seeded histories in memory, and name every rule that one of them breaks.

A history that breaks one is told with the command that repeats it, and with a shorter one that still breaks a rule.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import TYPE_CHECKING, NamedTuple

from tests.histories.fleet import History, Rates

if TYPE_CHECKING:
    from collections.abc import Iterator

# What can be left out of a history: the faults of pushes, and the other rates.
RATES = frozenset(Rates._fields) - {"push", "kinds"}
FAULTS = (*Rates().kinds, *sorted(RATES))


class Recipe(NamedTuple):
    """What a history follows from."""

    seed: int
    attempts: int | None = None
    without: frozenset[str] = frozenset()

    def history(self) -> History:
        """Return the history, not yet lived."""
        kinds = tuple(kind for kind in Rates().kinds if kind not in self.without)
        off = dict.fromkeys(self.without & RATES, 0.0)
        return History(self.seed, attempts=self.attempts, rates=Rates(**off, kinds=kinds, **({} if kinds else {"push": 0.0})))

    def command(self) -> str:
        """Return what to type to live it again."""
        attempts = f" --attempts {self.attempts}" if self.attempts else ""
        without = f" --without {','.join(sorted(self.without))}" if self.without else ""
        return f"python -m tests.histories --seed {self.seed}{attempts}{without} --verbose"

    def shorter(self) -> Iterator[Recipe]:
        """Return simpler ones, the simplest first."""
        longest = self.attempts or self.history().attempts
        yield from (self._replace(attempts=number) for number in (1, 2, 3, 5, 8, 12, 18, 27, 40) if number < longest)
        yield from (self._replace(without=self.without | {fault}) for fault in FAULTS if fault not in self.without)


def shrunk(recipe: Recipe) -> Recipe:
    """Return the simplest recipe found that still breaks a rule."""
    while True:
        found = next((one for one in recipe.shorter() if one.history().run()), None)
        if found is None:
            return recipe
        recipe = found


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.histories", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="the first seed")
    parser.add_argument("--runs", type=int, default=1, help="how many histories")
    parser.add_argument("--seconds", type=float, default=0.0, help="go on until so much processor time is used")
    parser.add_argument("--attempts", type=int, help="beads to claim in each; by the seed if left out")
    parser.add_argument("--without", default="", metavar="FAULT,..", help=f"leave out some of {', '.join(FAULTS)}")
    parser.add_argument("--verbose", action="store_true", help="show every call")
    asked = parser.parse_args()
    begun_s, seed, attempts, granted, broken = time.process_time(), asked.seed, 0, 0, 0
    while seed < asked.seed + asked.runs or time.process_time() - begun_s < asked.seconds:
        recipe = Recipe(seed, asked.attempts, frozenset(filter(None, asked.without.split(","))))
        history = recipe.history()
        wrong = history.run()
        if asked.verbose:
            print("\n".join(told.line() for told in history.told))
        if wrong:
            print("\n".join(f"seed {seed}: {sentence}" for sentence in wrong))
            print(f"seed {seed}: repeat it with `{recipe.command()}`, or shorter with `{shrunk(recipe).command()}`", flush=True)
        broken += bool(wrong)
        attempts += history.claimed
        granted += history.granted
        seed += 1
    took_s = time.process_time() - begun_s
    rate = attempts / took_s * 60
    counted = f"{seed - asked.seed} histories, {attempts} attempts, {granted} of them granted"
    print(f"{counted}, in {took_s:.1f} s of processor time ({rate:.0f} attempts a minute)")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
