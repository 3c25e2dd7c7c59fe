"""The analysis of variance of all runs of a table, where configurations were run several times."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..statistics.surface.replicates import FEWEST, deviations, replicates
from ..statistics.surface.variance import AnovaFactor, Variance, analyse
from ..statistics.values import FloatArray
from .axes import Level, SurfaceAxis
from .cells import CellOutcomes

MOST_LEVELS = 20
"""A number with more levels enters the analysis of variance as a straight line and a square."""
SPREADS = ("sd", "variance", "cv")


def analyse_runs(cells: CellOutcomes, response: str) -> tuple[Variance | None, str]:
    """Test settings and pairs against the scatter within cells, and say what was tested; None where that cannot be.

    For the mean the outcome itself, by its logarithm where all runs are above 0; for a spread the deviations from the
    median of the cell (Brown and Forsythe). A percentile has no such test.
    """
    if cells.given != "runs" or (response not in SPREADS and response != "mean"):
        return None, ""
    enough = FEWEST if response in SPREADS else 1
    kept = [place for place, runs in enumerate(cells.outcomes) if len(runs) >= enough]
    if response == "cv":
        kept = [place for place in kept if cells.outcomes[place].mean()]
    if len(kept) < 2:
        return None, ""
    runs, of = _tested([cells.outcomes[place] for place in kept], cells.outcome, response)
    factors = [factor(axis, [cells.columns[axis.name][place] for place in kept]) for axis in cells.axes]
    told = replicates(runs)
    if not told.squares:
        return None, ""  # runs of a cell are all the same: there is nothing to test against
    return analyse(factors, told.means, told), of


def factor(axis: SurfaceAxis, values: Sequence[Level]) -> AnovaFactor:
    """Give a setting to the analysis: by its levels, or as a quantity where it has many."""
    if axis.scale == "named" or len(axis.levels) <= MOST_LEVELS:
        return AnovaFactor(axis.name, np.array([axis.levels.index(value) for value in values]), None)
    return AnovaFactor(axis.name, None, axis.encode(values)[:, 0])


def _tested(runs: list[FloatArray], outcome: str, response: str) -> tuple[list[FloatArray], str]:
    if response in SPREADS:
        relative = response == "cv"
        of = f"the deviations of {outcome} from the median of its cell{', in parts of its mean' if relative else ''}"
        return [deviations(one, relative) for one in runs], f"{of} (Brown and Forsythe)"
    if all((one > 0).all() for one in runs):
        return [np.log(one) for one in runs], f"log {outcome}"
    return runs, outcome
