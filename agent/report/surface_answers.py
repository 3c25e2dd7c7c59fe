"""The words of `vgo-agent surface predict`, `best` and `show`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from ...tools.document import Note, Table, TableColumn
from ...tools.surface.axes import Level
from ...tools.surface.best import Best, PredictedCell
from ...tools.surface.explain import Slice
from ...tools.surface.fitted import Prediction, Surface, SurfaceRecord
from ...tools.surface.stored import Fitted
from ..render.terminal import blocks_text
from .numbers import ABSENT, number, percent, quantity
from .surface import better_than_none


def of_prediction(fitted: Fitted, config: Mapping[str, Level], found: Prediction, mean: Prediction | None) -> str:
    """Say what is predicted, how surely, and whether it may be relied on."""
    surface, seen = fitted.response, found.measured
    blocks = [
        f"{surface.record.response} at {configuration(config)}: {_interval(surface, found)}.",
        "" if seen is None else f"Measured there: {_shown(surface, seen)}.",
        f"mean: {_interval(fitted.mean, mean)}." if mean and fitted.mean else "",
    ]
    return blocks_text((*blocks, *_extrapolated(found, " Measure there before you rely on it.")))


def of_best(fitted: Fitted, found: Best) -> str:
    """Name the best configuration, what speaks against it, and the front."""
    record, measured = fitted.response.record, found.prediction.measured
    under = f" subject to {found.subject_to}" if found.subject_to else ""
    asked = fitted.mean if found.goal == "mean" and fitted.mean else fitted.response
    beside = "not measured: measure it before you rely on it."
    if measured is not None:
        beside = f"measured there: {_shown(asked, measured)}."
    return blocks_text(
        (
            f"Smallest {found.goal}{under}: {configuration(found.best.config)}",
            f"{found.goal} {_interval(asked, found.prediction)}; {beside}",
            (
                f"{number(found.allowed)} of {number(found.candidates)} configurations are allowed; "
                f"{number(found.near)} more could turn out as good."
            ),
            *_doubts(record, found),
            _table(fitted, (found.best, *found.next_best)),
            _table(fitted, _some(found.front), "From the best mean to the smallest spread:"),
        )
    )


def _doubts(record: SurfaceRecord, found: Best) -> Iterator[Note]:
    if found.subject_to and found.allowed == found.candidates:
        other = "" if record.lower_is_better else "; a larger mean is better here: write one such as mean>=0.95*best"
        yield Note(f"every configuration meets {found.subject_to}{other}.")
    if not better_than_none(record):
        yield Note("no model predicts better than the mean of the other cells: chance may have chosen this one.")
    yield from _extrapolated(found.prediction)
    if found.left_out:
        yield Note(f"{number(found.left_out)} combinations of levels lie far from all cells: left out.")


def _extrapolated(found: Prediction, then: str = "") -> Iterator[Note]:
    if found.extrapolated:
        yield Note(f"this is extrapolation: {found.extrapolated}.{then}")


def of_slice(surface: Surface, found: Slice) -> str:
    """Lay out the grid: the first setting down, the second across."""
    held = f" at {configuration(found.held)}" if found.held else ""
    across = [_level(level) for level in found.levels[1]] if len(found.axes) > 1 else [found.response]
    columns = [[_shown(surface, value) for value in row] for row in found.values]
    rows = [(_level(level), *(column[place] for column in columns)) for place, level in enumerate(found.levels[0])]
    title = f"{found.response} over {' x '.join(found.axes)}{held}"
    return blocks_text((title, Table([_given(name) for name in (" \\ ".join(found.axes), *across)], rows)))


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


def _some(front: tuple[PredictedCell, ...], most: int = 12) -> tuple[PredictedCell, ...]:
    """Take at most so many of a front, evenly."""
    step = max(1, -(-len(front) // most))
    return (*front[:-1:step], *front[-1:])


def _table(fitted: Fitted, cells: Sequence[PredictedCell], caption: str = "") -> Table:
    """Tabulate configurations with what is predicted of them; the CV where the surface itself says the spread."""
    record = fitted.response.record
    of_cv = record.response in ("sd", "variance")
    rows = []
    for one in cells:
        mean = ABSENT if one.mean is None or fitted.mean is None else quantity(one.mean, fitted.mean.record.unit)
        sd = one.response if record.response == "sd" else math.sqrt(max(one.response, 0.0))
        cv = ABSENT if not one.mean else percent(sd / abs(one.mean))
        shown = (_shown(fitted.response, one.response), mean, *[cv] * of_cv, "" if one.measured else "not measured")
        rows.append((*map(_level, one.config.values()), *shown))
    return Table((*map(_given, record.columns), record.response, "mean", *["CV"] * of_cv, ""), rows, caption)


def _given(name: str) -> TableColumn:
    return TableColumn(name, verbatim=True)
