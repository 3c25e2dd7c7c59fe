"""What `vgo-agent surface fit --save` writes beside the surface: the report as Markdown and HTML, and the pictures."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from markupsafe import Markup

from ...prompts.render import render
from ...tools.surface.best import best
from ...tools.surface.explain import SurfaceExplanation
from ...tools.surface.slices import cut
from ...tools.surface.stored import Fitted
from .canvas import standalone
from .saving import save_files
from .surface import ERRORS, SHARES, VARIANCE, error_rows, headline, notes, share_rows, share_title, variances
from .surface_figures import fit_figure, front_figure, share_figure, slice_figure

CAPTIONS = {
    "fit": "Each mark is a configuration, predicted by a fit that did not see it.",
    "shares": "Wide bars: what a setting has a part in. Narrow bars: what it explains alone.",
    "map": "The response over the settings that explain most, the others held.",
    "front": "Mean against spread. Nothing is better than the line in both.",
}


def save_report(fitted: Fitted, explained: SurfaceExplanation, folder: Path) -> list[str]:
    """Write everything, and return the paths; the folder is there."""
    surface = fitted.response
    drawn = _pictures(fitted, explained)
    values = {
        "title": f"{surface.record.response} of {surface.record.outcome}",
        "source": surface.record.source,
        "headline": headline(surface),
        "errors": (ERRORS, error_rows(surface)),
        "how": surface.record.how,
        "shares": (SHARES, share_rows(explained)),
        "share_title": share_title(surface),
        "variances": [(title, VARIANCE, rows) for title, rows in variances(surface, explained)],
        "axes": [(axis.name, axis.words, f"{len(axis.levels)} levels") for axis in surface.record.axes],
        "notes": [note.removeprefix("Note: ") for note in notes(fitted, explained)],
        "captions": CAPTIONS,
    }
    marked = {name: Markup(svg) for name, svg in drawn.items()}
    files = {f"{name}.svg": standalone(svg) for name, svg in drawn.items()}
    files["report.md"] = render("surface.md.j2", **values, pictures=list(drawn))
    files["report.html"] = render("surface.html.j2", **values, pictures=marked)
    return list(map(str, save_files(folder, files)))


def _pictures(fitted: Fitted, explained: SurfaceExplanation) -> Mapping[str, str]:
    surface = fitted.response
    drawn = {
        "fit": fit_figure(surface),
        "shares": share_figure(explained),
        "map": slice_figure(surface, cut(surface)),
    }
    found, field = best(fitted, surface.record.response, seed=surface.record.seed)
    front = front_figure(fitted, field, found)
    return {**drawn, "front": front} if front else drawn
