"""What `vgo-agent surface` says: errors of the models, shares, variance, predictions, the best; and its files."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ...tools import document as doc
from ...tools.document import Note, Table, TableColumn, illustrated
from ...tools.statistics.surface.variance import Variance
from ...tools.surface.axes import Level
from ...tools.surface.explain import Slice, SurfaceExplanation, cut
from ...tools.surface.fitted import NO_MODEL, Prediction, Surface, SurfaceRecord
from ...tools.surface.predict import Best, PredictedCell, best
from ...tools.surface.stored import Fitted
from ..render.text import blocks_text
from .numbers import ABSENT, number, p_cell, percent, quantity

_MEASURES = (
    "sqrt(mse)/mean is what the MOANA paper calls a relative error; mse/mean is its equation 4 as it is printed."
)
_CAPTIONS = {
    "map": "The response over the settings that explain most, the others held.",
    "front": "Mean against spread. Nothing is better than the line in both.",
    "fit": "Each mark is a configuration, predicted by a fit that did not see it.",
    "shares": "Wide bars: what a setting has a part in. Narrow bars: what it explains alone.",
}


def document(fitted: Fitted, explained: SurfaceExplanation) -> doc.Document:
    """Give the whole answer, with figures map, front, fit and shares."""
    surface = fitted.response
    record = surface.record
    figures = {name: doc.Figure(name, caption) for name, caption in _CAPTIONS.items()}
    share = f"How much of the variance of {_response(surface)} each setting explains, on the fitted surface."
    axes = tuple((f"`{axis.name}`", f"{len(axis.levels)} levels, {axis.words}") for axis in record.axes)
    return doc.Document(
        f"{record.response} of {record.outcome}",
        "surface",
        (
            doc.Headline("", _headline(surface)),
            f"Table: `{record.source}`",
            doc.Section("The surface", (figures["map"], figures["front"])),
            doc.Section(
                "Errors on configurations that were not seen",
                (f"Found by {record.how}. {_MEASURES}", _errors(surface), figures["fit"]),
            ),
            doc.Section(
                "How much of the variability each setting explains",
                (
                    f"{share} Sobol' indices, clipped to 0 to 1.",
                    _shares(explained),
                    figures["shares"],
                    *_variances(surface, explained),
                ),
            ),
            doc.Section("Settings", (doc.Facts(axes),)),
            *map(doc.Note, _notes(fitted, explained)),
        ),
    )


def _headline(surface: Surface) -> str:
    record = surface.record
    runs = sum(record.runs)
    of = (
        f"{number(runs)} runs in {len(record.values)} cells"
        if runs > len(record.values)
        else f"{len(record.values)} cells"
    )
    words = (
        f"{record.response} of {record.outcome} over {', '.join(axis.name for axis in record.axes)}: {of}. "
        f"Best model: {record.model}, error {percent(record.error(record.model))} of the mean ({record.how})."
    )
    if record.weights:
        shown = sorted(record.weights.items(), key=lambda pair: -pair[1])
        words += " It is " + ", ".join(f"{percent(share, 2)} {name}" for name, share in shown if share > 0) + "."
    return " ".join(filter(None, (words, _naive(record), _kept_out(record))))


def _kept_out(record: SurfaceRecord) -> str:
    kept = record.kept_out
    if kept is None:
        return ""
    chosen = kept.model if kept.model == record.model else f"{kept.model}, which the others choose,"
    inside = "" if kept.inside is None else f"; {kept.inside} of them lie within the 90 % interval of a prediction"
    return (
        f"On {kept.cells} cells that were kept out of the fit and of the choice of the model, {chosen} errs by "
        f"{percent(kept.errors.relative)}, and the mean of the other cells by {percent(kept.without)}{inside}."
    )


def _naive(record: SurfaceRecord) -> str:
    without = record.error(NO_MODEL)
    if without is None:
        return ""
    if better_than_none(record):
        return f"Without any model, the mean of the other cells errs by {percent(without)}."
    return (
        f"The mean of the other cells errs by no more ({percent(without)}): no model predicts better from the "
        "settings, so do not rely on its predictions; record more runs a cell, or vary other settings."
    )


def better_than_none(record: SurfaceRecord) -> bool:
    """Tell whether the chosen model errs by less than the mean of the other cells, where both were scored."""
    error, without = record.error(record.model), record.error(NO_MODEL)
    return error is None or without is None or error < without


def _errors(surface: Surface) -> doc.Table:
    rows = [
        (one.model, one.errors.relative, one.errors.mse, one.errors.as_printed, f"x{number(one.errors.median_ratio)}")
        for one in surface.record.scored
    ]
    measures = (doc.TableColumn(name, digits=3) for name in ("sqrt(mse)/mean", "mse", "mse/mean"))
    return doc.Table(("model", *measures, "typical factor"), rows)


def _shares(explained: SurfaceExplanation) -> doc.Table:
    order = sorted(explained.shares, key=lambda one: -one.total)
    shares = (doc.TableColumn(name, doc.SHARE, 2) for name in ("alone", "with others"))
    return doc.Table(("setting", *shares), [(one.setting, one.alone, one.total) for one in order])


def _response(surface: Surface) -> str:
    return f"{'log ' * surface.record.logarithmic}{surface.record.response}"


def _variances(surface: Surface, explained: SurfaceExplanation) -> Iterator[doc.Table]:
    if explained.variance:
        title = f"Analysis of variance of {_response(surface)}, type II, one value a cell"
        yield _variance(explained.variance, title)
    if explained.by_runs:
        runs = f"{number(explained.by_runs.runs)} runs against the scatter within cells"
        yield _variance(explained.by_runs, f"Analysis of variance of {explained.by_runs_of}, type II, {runs}")


def _variance(found: Variance, caption: str) -> doc.Table:
    rows: list[tuple[doc.Cell, ...]] = [
        (" x ".join(one.term), one.df, one.sum_squares, one.f, p_cell(one.p), one.eta2, one.omega2)
        for one in found.effects
    ]
    left = "residual" if found.runs is None else "within cells"
    rows.append((left, found.residual_df, found.residual_squares, *[""] * 4))
    sums = (doc.TableColumn(name, digits=3) for name in ("sum of squares", "F"))
    shares = (doc.TableColumn(name, digits=2) for name in ("eta2", "omega2"))
    return doc.Table(("term", "df", *sums, "p", *shares), rows, caption)


def _notes(fitted: Fitted, explained: SurfaceExplanation) -> Iterator[str]:
    record = fitted.response.record
    for axis in record.axes:
        if axis.scale == "levels":
            yield f"two levels of {axis.name} lie very close together, so its levels were spaced evenly."
    yield from (*record.notes, *explained.notes)
    tested = explained.by_runs or explained.variance
    if tested and tested.untested:
        pairs = ", ".join(" x ".join(term) for term in tested.untested)
        yield f"there are too few cells to test {pairs}."
    if fitted.response.margin is None:
        yield "too few cells for prediction intervals."


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


def save_report(fitted: Fitted, explained: SurfaceExplanation, folder: Path) -> list[str]:
    """Write the report as Markdown and HTML, and the pictures; return the paths. The folder is there."""
    from .response_figures import fit_figure, front_figure, share_figure, slice_figure  # Matplotlib takes its time
    from .svg import document_files, save_files

    surface = fitted.response
    found, field = best(fitted, surface.record.response, seed=surface.record.seed)
    pictures = {
        "fit": fit_figure(surface),
        "shares": share_figure(explained),
        "map": slice_figure(surface, cut(surface)),
        "front": front_figure(fitted, field, found),
    }
    page = illustrated(document(fitted, explained), pictures)
    return list(map(str, save_files(folder, document_files(page))))
