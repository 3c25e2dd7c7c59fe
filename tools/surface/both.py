"""Fit the surface of a response, and beside it that of the mean, which a steady configuration may cost."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..statistics.surface.catalogue import MODELS
from .cells import Cells
from .fitted import fit_surface
from .stored import Fitted

MEAN_MODELS = ("gaussian", "mars")


def fit_both(
    cells: Cells, response: str, models: Sequence[str] = (), one_by_one: bool = False, seed: int = 1
) -> Fitted:
    """Fit; no models: all of them. The mean gets the better of two models, and none where the table has no runs."""
    fitted = fit_surface(cells, response, tuple(models) or tuple(MODELS), one_by_one, seed)
    means = np.array([outcome.mean() for outcome in cells.outcomes])
    if cells.given != "runs" or response == "mean" or np.ptp(means) == 0:
        return Fitted(response=fitted, cells=cells)
    return Fitted(response=fitted, mean=fit_surface(cells, "mean", MEAN_MODELS, False, seed), cells=cells)
