"""What `vgo-agent surface fit` says: errors of the models, shares, the tables of variance."""

from __future__ import annotations

from collections.abc import Iterator

from ...tools import document as doc
from ...tools.statistics.surface.variance import Variance
from ...tools.surface.explain import SurfaceExplanation
from ...tools.surface.fitted import NO_MODEL, Surface, SurfaceRecord
from ...tools.surface.stored import Fitted
from .numbers import number, p_cell, percent

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
    """Say what was modelled, by which model, and how good it is."""
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
    """Say what came of the check, where one was made."""
    kept = record.kept_out
    if kept is None:
        return ""
    inside = "" if kept.inside is None else f", and {kept.inside} of them lie within the 90 % interval of a prediction"
    return (
        f"On {kept.cells} cells that were kept out of the fit and of the choice of the model, {kept.model} errs by "
        f"{percent(kept.errors.relative)}{inside}."
    )


def _naive(record: SurfaceRecord) -> str:
    """Hold the model against none."""
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
    """Give a row a model, the best first."""
    rows = [
        (one.model, one.errors.relative, one.errors.mse, one.errors.as_printed, f"x{number(one.errors.median_ratio)}")
        for one in surface.record.scored
    ]
    measures = (doc.TableColumn(name, digits=3) for name in ("sqrt(mse)/mean", "mse", "mse/mean"))
    return doc.Table(("model", *measures, "typical factor"), rows)


def _shares(explained: SurfaceExplanation) -> doc.Table:
    """Give a row a setting, the strongest first."""
    order = sorted(explained.shares, key=lambda one: -one.total)
    shares = (doc.TableColumn(name, doc.SHARE, 2) for name in ("alone", "with others"))
    return doc.Table(("setting", *shares), [(one.setting, one.alone, one.total) for one in order])


def _response(surface: Surface) -> str:
    return f"{'log ' * surface.record.logarithmic}{surface.record.response}"


def _variances(surface: Surface, explained: SurfaceExplanation) -> Iterator[doc.Table]:
    """Give each table of variance: of the cells, of all runs."""
    if explained.variance:
        title = f"Analysis of variance of {_response(surface)}, type II, one value a cell"
        yield _variance(explained.variance, title)
    if explained.by_runs:
        runs = f"{number(explained.by_runs.runs)} runs against the scatter within cells"
        yield _variance(explained.by_runs, f"Analysis of variance of {explained.by_runs_of}, type II, {runs}")


def _variance(found: Variance, caption: str) -> doc.Table:
    """Tabulate effects, the residual last."""
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
    """Say what to know about the fit."""
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
