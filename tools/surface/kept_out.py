"""A check of a surface on cells that were kept out of all of it, the choice of the model too."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...knowledge.errors import VgoError
from ..statistics.surface.model import errors
from ..statistics.values import FloatArray, IntArray
from .cells import FEWEST, CellOutcomes, response_of
from .fitted import KeptOut, Surface, fit_surface


def check(cells: CellOutcomes, response: str, models: Sequence[str], share: float, seed: int) -> KeptOut:
    """Fit to a random part of the cells, and predict the share that was kept out.

    Raises VgoError for a share that leaves too few cells on either side.
    """
    order = np.random.default_rng(seed).permutation(len(cells.outcomes))
    out = round(share * order.size)
    if not 1 <= out <= order.size - FEWEST:
        most = (order.size - FEWEST) / order.size
        raise VgoError(
            f"--keep-out {share:g} keeps {out} of {order.size} cells out, and {FEWEST} must be left: give up to "
            f"{most:.2g}."
        )
    fitted = fit_surface(_part(cells, order[out:]), response, models, seed=seed)
    kept = _part(cells, order[:out])
    found = response_of(kept, response)
    columns = {name: np.array(column)[found.known].tolist() for name, column in kept.columns.items()}
    values, told = found.values[found.known], fitted.at(columns)
    return KeptOut(
        cells=values.size,
        model=fitted.record.model,
        errors=errors(values, told),
        inside=_inside(fitted, values, told),
    )


def _inside(fitted: Surface, measured: FloatArray, told: FloatArray) -> int | None:
    """Count the cells that lie within the interval of their prediction; None where it has none."""
    if fitted.margin is None:
        return None
    factor, room = (math.exp(fitted.margin), 0.0) if fitted.record.logarithmic else (1.0, fitted.margin)
    return int(((told / factor - room <= measured) & (measured <= told * factor + room)).sum())


def _part(cells: CellOutcomes, places: IntArray) -> CellOutcomes:
    columns = {name: tuple(column[place] for place in places) for name, column in cells.columns.items()}
    return replace(cells, columns=columns, outcomes=tuple(cells.outcomes[place] for place in places))
