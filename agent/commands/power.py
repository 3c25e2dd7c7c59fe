"""power: how many runs it takes to show that a cure helps."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from ..terminal import answer, table
from .options import add_manners, add_mapping, mapping_of

if TYPE_CHECKING:
    from ...tools.recorded_power import Planned

EPILOG = """\
examples:
  vgo-agent power runs.csv --ratio 0.66
  vgo-agent power runs.parquet --metric time_s --ratio 0.5 --kind tail --paired --json

FILE is anything that `vgo-agent import` reads. Experiments are simulated on the recorded runs' own shape and judged by
the test of `vgo-agent compare`; the interval is that of the simulation.
"""
RATIO = "SD with the cure over SD without: above 0 and below 100, not 1; above 1 the spread grows"
HEADER = ("RUNS", "POWER", "95 %", "EXPERIMENTS")


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("file", metavar="FILE", help="the recorded runs")
    add_mapping(parser)
    parser.add_argument(
        "--metric", metavar="COL", help="the column to plan for (needed with several columns of numbers)"
    )
    parser.add_argument("--ratio", type=float, required=True, metavar="R", help=RATIO)
    parser.add_argument(
        "--kind",
        choices=("scale", "tail"),
        default="scale",
        help="what the cure does: every run scatters less, or the rarer group of runs gets rarer (default scale)",
    )
    parser.add_argument("--paired", action="store_true", help="runs are made in pairs, as `diagnose` does")
    parser.add_argument("--power", type=float, default=0.8, metavar="P", help="chance of showing it (default 0.8)")
    parser.add_argument("--alpha", type=float, default=0.05, metavar="P", help="chance of a wrong claim (default 0.05)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="seed of the simulation (default 1)")
    add_manners(parser)


def run(arguments: argparse.Namespace) -> int:
    """Simulate and answer."""
    from ...tools.recorded.read import read
    from ...tools.recorded_power import PowerRequest, plan

    request = PowerRequest(
        ratio=arguments.ratio,
        power=arguments.power,
        alpha=arguments.alpha,
        kind=arguments.kind,
        paired=arguments.paired,
        seed=arguments.seed,
    )
    planned = plan(read(Path(arguments.file), (), mapping_of(arguments)), arguments.metric, request)
    answer(planned.model_dump(mode="json"), _words(planned), arguments.json)
    return 0


def _words(planned: Planned) -> str:
    power = planned.power
    arms = "pairs" if power.paired else "runs of each arm"
    change = "a change of scale" if power.kind == "scale" else "rare runs made rarer"
    what = f"an SD of {power.ratio:g} times the recorded one ({change}) in {100 * power.power:g} % of experiments"
    at_most = f"to {power.high}" if power.high else "and more"
    number = f"{power.runs} {arms} ({power.low} {at_most})" if power.runs else f"More {arms} than simulated would"
    rows = [(str(p.runs), f"{p.power:.2f}", f"{p.low:.2f} to {p.high:.2f}", str(p.experiments)) for p in power.curve]
    lines = [f"{planned.metric}: {number} show {what}, at alpha {power.alpha:g}.", "", table(HEADER, rows)]
    return "\n".join([*lines, *(["", *planned.notes] if planned.notes else [])])
