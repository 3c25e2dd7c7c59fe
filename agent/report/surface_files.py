"""What `vgo-agent surface fit --save` writes beside the surface: the report as Markdown and HTML, and the pictures."""

from __future__ import annotations

from pathlib import Path

from ...tools.document import illustrated
from ...tools.surface.best import best
from ...tools.surface.explain import SurfaceExplanation, cut
from ...tools.surface.stored import Fitted
from ..render.files import document_files
from .response_figures import fit_figure, front_figure, share_figure, slice_figure
from .saving import save_files
from .surface import document


def save_report(fitted: Fitted, explained: SurfaceExplanation, folder: Path) -> list[str]:
    """Write everything, and return the paths; the folder is there."""
    page = illustrated(document(fitted, explained), _pictures(fitted, explained))
    return list(map(str, save_files(folder, document_files(page))))


def _pictures(fitted: Fitted, explained: SurfaceExplanation) -> dict[str, str]:
    surface = fitted.response
    found, field = best(fitted, surface.record.response, seed=surface.record.seed)
    return {
        "fit": fit_figure(surface),
        "shares": share_figure(explained),
        "map": slice_figure(surface, cut(surface)),
        "front": front_figure(fitted, field, found),
    }
