"""How far the step is that goes on, in a few words."""

from __future__ import annotations

from ..progress import described, figures_of
from ..session_view.view import SessionView


def progress_of(view: SessionView) -> str:
    """Describe the runs of each condition; empty where no step is measuring."""
    live = view.measured[-1] if view.measured else None
    if live is None or not live.going_on:
        return ""
    figures = figures_of(live)
    names = len(figures) > 1
    return "; ".join(f"{one.condition + ': ' if names else ''}{described(one, view.unit)}" for one in figures)
