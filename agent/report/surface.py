"""The words of `vgo-agent surface fit`: errors of the models, the table of variance, shares."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...tools.statistics.surface.variance import Variance
from ...tools.surface.explain import SurfaceExplanation
from ...tools.surface.fitted import NO_MODEL, Surface, SurfaceRecord
from ...tools.surface.stored import Fitted
from ..terminal import folded, table
from .numbers import number, p_cell, percent

ERRORS = ("MODEL", "sqrt(mse)/mean", "mse", "mse/mean", "typical factor")
VARIANCE = ("TERM", "df", "sum of squares", "F", "p", "eta2", "omega2")
SHARES = ("SETTING", "ALONE", "WITH OTHERS")
MOST_EFFECTS = 12


def text(fitted: Fitted, explained: SurfaceExplanation, saved: Sequence[str]) -> str:
    """Give the words of a terminal."""
    surface = fitted.response
    parts = [
        folded(headline(surface)),
        table(ERRORS, error_rows(surface)),
        f"{share_title(surface)}\n" + table(SHARES, share_rows(explained)),
    ]
    parts += [f"{title}\n{table(VARIANCE, rows[:MOST_EFFECTS])}" for title, rows in variances(surface, explained)]
    parts += [folded("\n".join([*notes(fitted, explained), *(f"Wrote {path}" for path in saved)]))]
    return "\n\n".join(part for part in parts if part)


def headline(surface: Surface) -> str:
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


def error_rows(surface: Surface) -> list[tuple[str, ...]]:
    """Give a row a model, the best first."""
    return [
        (
            one.model,
            number(one.errors.relative, 3),
            number(one.errors.mse, 3),
            number(one.errors.as_printed, 3),
            f"x{number(one.errors.median_ratio, 4)}",
        )
        for one in surface.record.scored
    ]


def share_rows(explained: SurfaceExplanation) -> list[tuple[str, ...]]:
    """Give a row a setting, the strongest first."""
    order = sorted(explained.shares, key=lambda one: -one.total)
    return [(one.setting, percent(one.alone, 2), percent(one.total, 2)) for one in order]


def share_title(surface: Surface) -> str:
    """Say what the shares are of."""
    return f"How much of the variance of {_response(surface)} each setting explains (fitted surface):"


def _response(surface: Surface) -> str:
    return f"{'log ' * surface.record.logarithmic}{surface.record.response}"


def variances(surface: Surface, explained: SurfaceExplanation) -> Iterator[tuple[str, list[tuple[str, ...]]]]:
    """Give title and lines of each table of variance: of the cells, of all runs."""
    if explained.variance:
        title = f"Analysis of variance of {_response(surface)}, type II, one value a cell:"
        yield title, _variance_rows(explained.variance)
    if explained.by_runs:
        runs = f"{number(explained.by_runs.runs)} runs against the scatter within cells"
        yield f"Analysis of variance of {explained.by_runs_of}, type II, {runs}:", _variance_rows(explained.by_runs)


def _variance_rows(found: Variance) -> list[tuple[str, ...]]:
    """The residual comes last."""
    rows = [
        (
            " x ".join(one.term),
            str(one.df),
            number(one.sum_squares, 3),
            number(one.f, 3),
            p_cell(one.p),
            number(one.eta2, 2),
            number(one.omega2, 2),
        )
        for one in found.effects
    ]
    left = "residual" if found.runs is None else "within cells"
    return [*rows, (left, str(found.residual_df), number(found.residual_squares, 3), *[""] * 4)]


def notes(fitted: Fitted, explained: SurfaceExplanation) -> Iterator[str]:
    """Say what to know about the fit."""
    record = fitted.response.record
    for axis in record.axes:
        if axis.scale == "levels":
            yield f"Note: two levels of {axis.name} lie very close together, so its levels were spaced evenly."
    for note in (*record.notes, *explained.notes):
        yield f"Note: {note}"
    tested = explained.by_runs or explained.variance
    if tested and tested.untested:
        pairs = ", ".join(" x ".join(term) for term in tested.untested)
        yield f"Note: there are too few cells to test {pairs}."
    if fitted.response.margin is None:
        yield "Note: too few cells for prediction intervals."
