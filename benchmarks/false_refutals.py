"""How often a change that does nothing is refuted for breaking the program: `python benchmarks/false_refutals.py`.

A program fails by luck at a rate; its baseline is known from so many runs. Each of twelve changes is screened and then
run in up to 30 pairs, looked at after every run, by the functions that a diagnosis uses. Printed is the share of
diagnoses in which any of them is refuted, and after how many runs a change is that always fails.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator

from vgo_agent.tools.execution.expected import MOST_SCREENED, Expected, Seen, broke

CHANGES, PAIRS = 12, 30
RATES = (0.02, 0.05, 0.1, 0.15, 0.2, 0.3)
BASELINES = (20, 60, 200)
MOST_FAILED = 0.5
"""Beyond this share of the baseline a program is refused."""


def main() -> int:
    """Simulate every baseline and rate, and print JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--diagnoses", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    found = {
        f"{runs} runs": {str(rate): share(rate, runs, arguments.diagnoses, rng) for rate in RATES} for runs in BASELINES
    }
    always = {
        f"{failed} of {runs} failed": runs_until_refuted(Expected(longest_s=1, runs=runs, failed=failed))
        for runs in BASELINES
        for failed in (0, runs // 20, runs // 10)
    }
    print(
        json.dumps({"refuted by luck, by baseline and rate": found, "runs of one that always fails": always}, indent=2)
    )
    return 0


def share(rate: float, runs: int, diagnoses: int, rng: random.Random) -> float:
    """Share of diagnoses in which a change that does nothing is refuted."""
    baselines = (sum(rng.random() < rate for _ in range(runs)) for _ in iter(int, 1))
    refuted = done = 0
    while done < diagnoses:
        failed = next(baselines)
        if failed <= MOST_FAILED * runs:
            known = Expected(longest_s=1, runs=runs, failed=failed)
            refuted += any(refuted_by_luck(rate, known, rng) for _ in range(CHANGES))
            done += 1
    return refuted / diagnoses


def refuted_by_luck(rate: float, known: Expected, rng: random.Random) -> bool:
    """Screen a change that does nothing, then look at it after every run of its pairs."""
    seen = list[Seen]()
    for _ in range(MOST_SCREENED + 1):
        seen.append(Seen(1.0, "exit 1" if rng.random() < rate else ""))
        said = broke(seen, known)
        if said is not None:
            break
    return bool(said) or any(pairs(rate, known, rng))


def pairs(rate: float, known: Expected, rng: random.Random) -> Iterator[bool]:
    """Tell after every run under the change whether it is refuted."""
    runs = failed = 0
    for _ in range(PAIRS):
        known = known.and_also(Expected(runs=1, failed=int(rng.random() < rate)))
        runs, failed = runs + 1, failed + (rng.random() < rate)
        yield known.fails_more(runs, failed)


def runs_until_refuted(known: Expected) -> int:
    """Runs after which one that fails each time is refuted."""
    return next(runs for runs in range(1, 100) if broke([Seen(1.0, "exit 1")] * runs, known))


if __name__ == "__main__":
    raise SystemExit(main())
