"""The words of `vgo-agent surface predict`, `best` and `show`."""

from __future__ import annotations

import math
from collections.abc import Mapping

from ...tools.surface.axes import Level
from ...tools.surface.best import Best, PredictedCell
from ...tools.surface.explain import Slice
from ...tools.surface.fitted import Prediction, Surface, SurfaceRecord
from ...tools.surface.stored import Fitted
from ..terminal import folded, table
from .numbers import ABSENT, number, percent, quantity
from .surface import better_than_none


def of_prediction(fitted: Fitted, config: Mapping[str, Level], found: Prediction, mean: Prediction | None) -> str:
    """Say what is predicted, how surely, and whether it may be relied on."""
    lines = [f"{fitted.response.record.response} at {configuration(config)}: {_interval(fitted.response, found)}."]
    if found.measured is not None:
        lines.append(f"Measured there: {_shown(fitted.response, found.measured)}.")
    if mean and fitted.mean:
        lines.append(f"mean: {_interval(fitted.mean, mean)}.")
    if found.extrapolated:
        lines.append(f"Note: this is extrapolation: {found.extrapolated}. Measure there before you rely on it.")
    return folded("\n".join(lines))


def of_best(fitted: Fitted, found: Best) -> str:
    """Name the best configuration, what speaks against it, and the front."""
    record = fitted.response.record
    under = f" subject to {found.subject_to}" if found.subject_to else ""
    asked = fitted.mean if found.goal == "mean" and fitted.mean else fitted.response
    beside = "not measured: measure it before you rely on it."
    if found.prediction.measured is not None:
        beside = f"measured there: {_shown(asked, found.prediction.measured)}."
    lines = [
        f"Smallest {found.goal}{under}: {configuration(found.best.config)}",
        f"{found.goal} {_interval(asked, found.prediction)}; {beside}",
        f"{number(found.allowed)} of {number(found.candidates)} configurations are allowed; "
        f"{number(found.near)} more could turn out as good.",
    ]
    if found.subject_to and found.allowed == found.candidates:
        other = "" if record.lower_is_better else "; a larger mean is better here: write one such as mean>=0.95*best"
        lines.append(f"Note: every configuration meets {found.subject_to}{other}.")
    if not better_than_none(record):
        lines.append(
            "Note: no model predicts better than the mean of the other cells: chance may have chosen this one."
        )
    if found.prediction.extrapolated:
        lines.append(f"Note: this is extrapolation: {found.prediction.extrapolated}.")
    if found.left_out:
        lines.append(f"Note: {number(found.left_out)} combinations of levels lie far from all cells: left out.")
    header = (*(name for name in record.columns), record.response, "mean", *_cv_of(record, ("CV",)), "")
    parts = [folded("\n".join(lines)), table(header, [_row(fitted, one) for one in (found.best, *found.next_best)])]
    if found.front:
        parts.append("From the best mean to the smallest spread:\n" + table(header, _some(fitted, found.front)))
    return "\n\n".join(parts)


def of_slice(surface: Surface, found: Slice) -> str:
    """Lay out the grid: the first setting down, the second across."""
    held = f" at {configuration(found.held)}" if found.held else ""
    across = [_level(level) for level in found.levels[1]] if len(found.axes) > 1 else [found.response]
    columns = [[_shown(surface, value) for value in row] for row in found.values]
    rows = [(_level(level), *(column[place] for column in columns)) for place, level in enumerate(found.levels[0])]
    over = " x ".join(found.axes)
    corner = found.axes[0] if len(found.axes) == 1 else f"{found.axes[0]} \\ {found.axes[1]}"
    return f"{found.response} over {over}{held}\n\n{table((corner, *across), rows)}"


def configuration(config: Mapping[str, Level]) -> str:
    """Write a configuration."""
    return ", ".join(f"{name}={_level(value)}" for name, value in config.items())


def _interval(surface: Surface, found: Prediction) -> str:
    value = _shown(surface, found.value)
    if found.low is None or found.high is None:
        return value
    return f"{value} [{_shown(surface, found.low)}, {_shown(surface, found.high)}]"


def _shown(surface: Surface, value: float) -> str:
    return percent(value) if surface.record.response == "cv" else quantity(value, surface.record.unit)


def _level(value: Level) -> str:
    return value if isinstance(value, str) else number(value, 6)


def _some(fitted: Fitted, front: tuple[PredictedCell, ...], most: int = 12) -> list[tuple[str, ...]]:
    """Take at most so many of a front, evenly."""
    step = max(1, -(-len(front) // most))
    kept = [*front[:-1:step], front[-1]]
    return [_row(fitted, one) for one in kept]


def _row(fitted: Fitted, one: PredictedCell) -> tuple[str, ...]:
    mean = ABSENT if one.mean is None or fitted.mean is None else quantity(one.mean, fitted.mean.record.unit)
    measured = "" if one.measured else "not measured"
    sd = one.response if fitted.response.record.response == "sd" else math.sqrt(max(one.response, 0.0))
    cv = ABSENT if not one.mean else percent(sd / abs(one.mean))
    of_both = (mean, *_cv_of(fitted.response.record, (cv,)))
    return (*map(_level, one.config.values()), _shown(fitted.response, one.response), *of_both, measured)


def _cv_of(record: SurfaceRecord, cells: tuple[str, ...]) -> tuple[str, ...]:
    """What a table has of the CV: nothing where the surface itself is of it, or says nothing of it."""
    return cells if record.response in ("sd", "variance") else ()
