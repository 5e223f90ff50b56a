"""`python -m tests.histories --seed 7`: play seeded histories in memory, and name every rule that one of them breaks."""

from __future__ import annotations

import argparse
import sys
import time

from tests.histories.fleet import History


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.histories", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="the first seed")
    parser.add_argument("--runs", type=int, default=1, help="how many histories")
    parser.add_argument("--seconds", type=float, default=0.0, help="go on until so much processor time is used")
    parser.add_argument("--attempts", type=int, help="beads to claim in each; by the seed if left out")
    parser.add_argument("--verbose", action="store_true", help="show every call")
    asked = parser.parse_args()
    begun_s, seed, attempts, broken = time.process_time(), asked.seed, 0, 0
    while seed < asked.seed + asked.runs or time.process_time() - begun_s < asked.seconds:
        history = History(seed, attempts=asked.attempts)
        wrong = history.run()
        if asked.verbose:
            print("\n".join(told.line() for told in history.told))
        for sentence in wrong:
            print(f"seed {seed}: {sentence}")
        broken += bool(wrong)
        attempts += history.claimed
        seed += 1
    took_s = time.process_time() - begun_s
    print(
        f"{seed - asked.seed} histories, {attempts} attempts in {took_s:.1f} s of processor time ({attempts / took_s * 60:.0f} a minute)"
    )
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
