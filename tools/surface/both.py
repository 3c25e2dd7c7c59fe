"""Fit the surface of a response, and beside it that of the mean, which a steady configuration may cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..statistics.surface.catalogue import MODELS
from .cells import CellOutcomes
from .fitted import fit_surface
from .kept_out import check
from .stored import Fitted

MEAN_MODELS = ("gaussian", "mars")


def fit_both(
    cells: CellOutcomes,
    response: str,
    models: Sequence[str] = (),
    one_by_one: bool = False,
    seed: int = 1,
    keep_out: float | None = None,
) -> Fitted:
    """Fit; no models: all of them. The mean gets the better of two models, and none where the table has no runs.

    `keep_out`: a share of the cells on which a fit to the others is checked.
    """
    models = tuple(models) or tuple(MODELS)
    fitted = fit_surface(cells, response, models, one_by_one, seed)
    if keep_out is not None:
        kept = check(cells, response, models, keep_out, seed)
        fitted = replace(fitted, record=fitted.record.model_copy(update={"kept_out": kept}))
    means = np.array([outcome.mean() for outcome in cells.outcomes])
    if cells.given != "runs" or response == "mean" or np.ptp(means) == 0:
        return Fitted(response=fitted, cells=cells)
    return Fitted(response=fitted, mean=fit_surface(cells, "mean", MEAN_MODELS, False, seed), cells=cells)
