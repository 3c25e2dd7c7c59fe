"""The pages of a study: report.md, report.html and the pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ...tools.document import illustrated
from ...tools.statistics.values import FloatArray
from ...tools.study.effects import CoreReservation, Effect
from ...tools.study.spreads import outcomes
from ..run_folder import write
from .figures import in_unit, plain
from .numbers import scale
from .strips import height_of, name_rows, normalised, row_axes
from .study import StudyResult, document, named
from .svg import BASELINE, FAINT, MITIGATED, canvas, document_files

MOST_EFFECTS = 40


def against_cores(steps: Sequence[CoreReservation], times: Mapping[str, FloatArray], unit: str) -> str:
    """Draw the normalised range and the mean against the number of cores."""
    drawn = [(step.cores, times[step.setting][np.isfinite(times[step.setting])]) for step in steps]
    drawn = [(count, values) for count, values in drawn if values.size > 1 and values.mean()]
    if len(drawn) < 2:
        return ""
    counts = [count for count, _ in drawn]
    means = np.array([values.mean() for _, values in drawn])
    unit_of_mean = scale(unit, float(means.max()))
    with canvas("study-cores", "Variability and mean against the number of cores.", 2.6) as page:
        left, right = page.axes(0.08, 0.4), page.axes(0.58, 0.4)
        for count, values in drawn:
            left.plot(np.full(values.size, count), values / values.mean(), "_", color=FAINT, markersize=7)
        cv = np.array([values.std(ddof=1) / values.mean() for _, values in drawn])
        left.errorbar(counts, np.ones(len(counts)), yerr=cv, color=BASELINE, marker=".", capsize=3, linewidth=1)
        left.set(xlabel="cores", ylabel="outcome over its mean, and CV")
        right.plot(counts, means * unit_of_mean.factor, "o-", color=MITIGATED, markersize=3, linewidth=1)
        right.set(
            xlabel="cores",
            ylabel=in_unit("mean", unit_of_mean.unit),
            ylim=(0, 1.08 * means.max() * unit_of_mean.factor),
        )
        for axes in (left, right):
            axes.set_xticks(counts)
    return page.svg


def forest(effects: Sequence[Effect]) -> str:
    """Draw each effect on the spread and on the mean with its interval."""
    shown = sorted(effects, key=lambda one: (len(one.factors), one.p_value))[:MOST_EFFECTS]
    if not shown:
        return ""
    height = height_of(len(shown))
    with canvas(
        "study-effects", f"{len(shown)} effects on the spread and on the mean, with intervals.", height
    ) as page:
        axes = row_axes(page, 0.5, height)
        axes.axvline(1.0, color=FAINT, linewidth=0.6)
        for place, one in enumerate(shown):
            for part, colour, off in ((one.spread, BASELINE, -0.15), (one.mean, MITIGATED, 0.15)):
                axes.plot([part.low, part.high], [place + off] * 2, "-", color=colour, linewidth=1.2)
                axes.plot([part.value], [place + off], "o", color=colour, markersize=3)
        axes.set_xscale("log")
        plain(axes.xaxis)
        name_rows(axes, [named(one) for one in shown], 58)
        axes.set_xlabel("ratio: of the spread (vermillion), of the mean (blue)")
    return page.svg


def save(studied: StudyResult) -> None:
    """Write everything that is told of a study beside its table."""
    for name, content in document_files(illustrated(document(studied), _pictures(studied))).items():
        write(studied.folder / name, content.encode())


def _pictures(studied: StudyResult) -> dict[str, str]:
    study, first = studied.study, [row for row in studied.rows if row["batch"] == 1]
    times = outcomes(first)
    return {
        "settings": normalised({one.setting: times[one.setting] for one in study.spreads}, study.chosen),
        "cores": against_cores(study.reservation.steps, times, studied.subject.unit),
        "effects": forest(study.effects),
    }
