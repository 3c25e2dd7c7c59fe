"""Make the small model again: `python -m benchmarks.training all --folder DIR`."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from vgo_agent.agent.model.chosen import SHIPPED_FILE
from vgo_agent.agent.planners.base import Planner, Rules
from vgo_agent.evals.contest.contestants import RandomLegal
from vgo_agent.evals.recorded.folders import CASES

from .generate import Split, TrainingExample, balanced, read_pairs, recorded, simulated, simulated_parts, write_pairs
from .judge import PlannerScore, freely, judge, shipped, worlds

HELD_OUT = 5_000
"""States that are kept from training."""
RECORDED_SEEDS: Mapping[Split, Sequence[int]] = {"train": (1, 2), "held-out": (1,)}
ASKED = 1_000
"""States of each kind that the finished model is asked about."""
RECORDED_COPIES = 5
"""Real states are few, and count so many times."""


def main() -> int:
    """Do one step, or all of them."""
    options = _parser().parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    for step in STEPS if options.step == "all" else (options.step,):
        STEPS[step](options)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.training", description=__doc__)
    parser.add_argument("step", choices=(*STEPS, "all"))
    parser.add_argument("--folder", type=Path, required=True, help="where states are kept between the steps")
    parser.add_argument("--out", type=Path, default=SHIPPED_FILE, help="the model that is written and judged")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--states", type=int, default=60_000, help="simulated, to train on")
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="of training at most, by the clock")
    parser.add_argument("--worlds", type=int, default=300, help="diagnoses that each planner finishes")
    return parser


def simulate(options: argparse.Namespace) -> None:
    """Write the states of simulated diagnoses."""
    _write(options, "held-out", lambda: simulated(HELD_OUT, options.seed, "held-out"))
    _write(options, "train", lambda: simulated_parts(options.states, options.seed, "train"))


def replay(options: argparse.Namespace) -> None:
    """Write the states of diagnoses of recorded cases."""
    for split, seeds in RECORDED_SEEDS.items():
        _write(options, f"recorded-{split}", partial(recorded, CASES, split, seeds))


def _write(options: argparse.Namespace, name: str, make: Callable[[], list[TrainingExample]]) -> None:
    began, pairs = time.monotonic(), make()
    write_pairs(options.folder / f"{name}.tsv", pairs)
    _tell(f"{name}: {len(pairs)} states, {len(set(pairs))} different, in {time.monotonic() - began:.0f} s")


def train(options: argparse.Namespace) -> None:
    """Train on the states, write the model, and say how often it agrees with the rule policy."""
    from .generate import TOKENS
    from .network import Size, export
    from .train import TrainingRecipe, agreement
    from .train import train as trained

    def states(name: str) -> list[TrainingExample]:
        return read_pairs(options.folder / f"{name}.tsv")

    made, real = states("train"), states("recorded-train")
    size = Size(vocabulary=len(TOKENS))
    recipe = TrainingRecipe(seed=options.seed, steps=options.steps, batch=options.batch, seconds=options.seconds)
    began, used = time.monotonic(), time.process_time()

    def tell(step: int, loss: float) -> None:
        _tell(f"step {step}: loss {loss:.4f}, {time.monotonic() - began:.0f} s")

    weights = trained(balanced(made) + RECORDED_COPIES * balanced(real), size, recipe, tell)
    _tell(f"{sum(value.size for value in weights.values())} weights, {time.process_time() - used:.0f} CPU-seconds")
    options.out.parent.mkdir(parents=True, exist_ok=True)
    words = f"seed {options.seed}, {len(made)} simulated states, {len(real)} of recorded cases"
    export(weights, size, options.out, trained=f"{words}; {options.steps} steps of {options.batch}")
    _tell(f"{options.out}: {options.out.stat().st_size} bytes")
    for name in ("held-out", "recorded-held-out", "recorded-train"):
        pairs = states(name)
        _tell(f"agreement, {name}: {agreement(weights, pairs, size):.4f} of {len(pairs)} states")


def judged(options: argparse.Namespace) -> None:
    """Let the model, the rule policy and chance finish diagnoses in the same worlds."""
    with shipped(options.out) as model:
        for name in ("held-out", "recorded-held-out", "recorded-train"):
            pairs = read_pairs(options.folder / f"{name}.tsv")[:ASKED]
            _tell(f"as written without a grammar, {name}: {freely(model, pairs):.4f} of {len(pairs)} states agree")
        planners: Mapping[str, Planner] = {
            "rules": Rules(),
            "random-legal": RandomLegal(options.seed),
            "model": model,
        }
        for name, planner in planners.items():
            began, score = time.monotonic(), judge(planner, worlds(options.worlds, options.seed))
            _tell(f"{_words(name, score)} ({time.monotonic() - began:.0f} s)")


def _words(name: str, score: PlannerScore) -> str:
    return (
        f"{name}: cured {score.cured} of {score.curable} curable, wrong claims {score.wrong} of {score.diagnoses}, "
        f"same verdict as rules {score.verdicts}, runs {score.runs:.0f}, decisions {score.decisions:.1f}, "
        f"passed over {score.passed_over} of {score.asked}"
    )


def _tell(words: str) -> None:
    print(words, flush=True)


STEPS: Mapping[str, Callable[[argparse.Namespace], None]] = {
    "simulate": simulate,
    "replay": replay,
    "train": train,
    "judge": judged,
}

if __name__ == "__main__":
    sys.exit(main())
