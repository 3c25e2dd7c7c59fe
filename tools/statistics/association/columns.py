"""Which columns of a run table can say why runs are slow, and which are set aside, each with its reason."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..ranks import auc, auc_error
from ..values import BoolArray, FloatArray

LEAST_LINK = 2.0
"""Standard errors from 0.5 at which a column counts as linked to slowness at all."""
VANISHED = 1.645
"""Standard errors from 0.5 below which the link counts as gone."""
REMAINS = 0.2
"""Share of the link that must be left after division, however many runs there are."""
LEAST_SHARE = 0.1
"""Of the delay of slow runs that a column must be able to make."""
DOUBTFUL, HALF = 3.0, 0.5
"""Under half of the link left and under three standard errors: of many consequences, some get there by luck."""


@dataclass(frozen=True)
class Table:
    """Columns side by side, one row a run, all finite and none constant."""

    names: tuple[str, ...]
    values: FloatArray
    set_aside: Mapping[str, str]
    """Name to reason of the columns left out."""


def usable(columns: ArrayLike, names: Sequence[str]) -> Table:
    """Drop columns with missing or infinite values and those that never change."""
    x = np.asarray(columns, dtype=np.float64)
    x = x.reshape(x.shape[0], -1) if x.size else np.zeros((x.shape[0], len(names)))
    bad = (~np.isfinite(x)).sum(axis=0)
    with np.errstate(invalid="ignore"):
        constant = (x == x[:1]).all(axis=0)
    reasons: dict[str, str] = {}
    for place, name in enumerate(names):
        if bad[place]:
            reasons[name] = f"missing or not finite in {bad[place]} of {x.shape[0]} runs"
        elif constant[place]:
            reasons[name] = "the same in every run"
    keep = [place for place, name in enumerate(names) if name not in reasons]
    return Table(tuple(names[place] for place in keep), x[:, keep], reasons)


def per_time(columns: FloatArray, names: Sequence[str], time: ArrayLike, gauges: Collection[str] = ()) -> FloatArray:
    """Divide by the run time what counts up during a run; gauges (a temperature, a percentage) stay as they are."""
    seconds = np.asarray(time, dtype=np.float64)
    gauge = np.array([name in gauges for name in names], dtype=np.bool_)
    return np.where(gauge[None, :], columns, columns / seconds[:, None])


def consequences(
    columns: FloatArray, names: Sequence[str], slow: ArrayLike, time: ArrayLike, gauges: Collection[str] = ()
) -> dict[str, str]:
    """Name the columns whose link to slowness vanishes or reverses when divided by run time, with the two AUCs.

    A longer run has more timer ticks, CPU time and interrupts: they follow from slowness. Where a cause was known and
    had a counter, that counter kept an AUC of 1.00 per second while such columns fell from .9 to .5 or below.
    """
    mask: BoolArray = np.asarray(slow, dtype=np.bool_)
    seconds = np.asarray(time, dtype=np.float64)
    if not len(names) or not (np.isfinite(seconds).all() and (seconds > 0).all()):
        return {}
    raw, rate = auc(columns, mask) - 0.5, auc(per_time(columns, names, seconds, gauges), mask) - 0.5
    error = auc_error(mask)
    # A column that is lower in slow runs is no consequence of their length: division only lowers it further.
    linked = raw > LEAST_LINK * error
    gone = (rate <= np.maximum(VANISHED * error, REMAINS * raw)) | (rate <= np.minimum(DOUBTFUL * error, HALF * raw))
    return {
        names[place]: f"follows run time: AUC {raw[place] + 0.5:.2f}, divided by run time {rate[place] + 0.5:.2f}"
        for place in np.flatnonzero(linked & gone).tolist()
        if names[place] not in gauges
    }


def too_few(
    columns: FloatArray, names: Sequence[str], slow: ArrayLike, time: ArrayLike, most_us: Mapping[str, float]
) -> dict[str, str]:
    """Name the columns of which slow runs have so little more that it cannot make their delay, even generously.

    What ticks with time can outrun it in a rate: the first tick falls after the short runs have ended, so a few
    interrupts go with slow runs raw and per second. `most_us` bounds what one of them can cost.
    """
    mask: BoolArray = np.asarray(slow, dtype=np.bool_)
    seconds = np.asarray(time, dtype=np.float64)
    gap_us = 1e6 * float(seconds[mask].mean() - seconds[~mask].mean())
    more = columns[mask].mean(axis=0) - columns[~mask].mean(axis=0)
    return {
        name: f"too few: {extra:.3g} more in slow runs, of at most {most_us[name]:g} us each, in {gap_us:.0f} us"
        for name, extra in zip(names, more.tolist(), strict=True)
        if name in most_us and 0 < extra * most_us[name] < LEAST_SHARE * gap_us
    }
