"""The picture of a search: every run of every level, its mean and SD."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from .canvas import BASELINE, FAINT, INK, MITIGATED, canvas
from .figures import Floats, Outcomes, window

JITTER = 0.28
"""Of the step between two levels."""


def levels_figure(outcomes: Mapping[str, Floats], best: str | None, parameter: str, axis: Outcomes) -> str:
    """Draw levels side by side in the order asked for, the baseline first."""
    drawn = {level: values for level, values in outcomes.items() if values.size}
    everything = np.concatenate(list(drawn.values())) if drawn else np.empty(0)
    if len(drawn) < 2:
        return ""
    unit = axis.scale(everything)
    view = window(everything * unit.factor, unit.unit)
    words = f"Outcomes of {len(drawn) - 1} levels of {parameter} beside the baseline."
    with canvas("levels", words, 2.6) as page:
        axes = page.axes(0.1, 0.88, 0.2, 0.7)
        for place, (level, values) in enumerate(drawn.items()):
            scaled = values * unit.factor
            colour = BASELINE if place == 0 else MITIGATED if level == best else FAINT
            # Spread by their order, so that the same runs give the same bytes.
            x = place + JITTER * (2 * ((np.arange(scaled.size) * 0.618034) % 1) - 1)
            axes.plot(x, scaled, ".", color=colour, markersize=2.5, rasterized=scaled.size > 500)
            mean, sd = float(scaled.mean()), float(scaled.std(ddof=1)) if scaled.size > 1 else 0.0
            axes.errorbar([place], [mean], yerr=[sd], color=INK, marker="_", capsize=3, linewidth=1)
        axes.set(ylim=(view.low, view.high), xlim=(-0.6, len(drawn) - 0.4), ylabel=axis.label(unit.unit))
        axes.set_xticks(range(len(drawn)), list(drawn))
        axes.set_xlabel(f"{parameter} (mean and SD drawn){'; ' + view.note if view.note else ''}")
    return page.svg
