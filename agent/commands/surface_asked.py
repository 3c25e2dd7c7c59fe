"""What `vgo-agent surface` answers of a fitted surface: predict, best, show."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ...knowledge.errors import VgoError
from ..terminal import answer
from .options import words

if TYPE_CHECKING:
    from ...tools.surface.stored import Fitted


def predict(arguments: argparse.Namespace, fitted: Fitted) -> int:
    """Predict at one configuration."""
    from ...tools.surface import ask
    from ..report.surface_answers import of_prediction

    config = ask.read_config(fitted.response, arguments.config)
    found = ask.predict(fitted.response, config)
    mean = ask.predict(fitted.mean, config) if fitted.mean else None
    told = {
        "response": fitted.response.record.response,
        "model": fitted.response.record.model,
        "config": config,
        **found.model_dump(),
        "mean": mean.model_dump() if mean else None,
    }
    answer(told, of_prediction(fitted, config, found, mean), arguments.json)
    return 0


def best(arguments: argparse.Namespace, fitted: Fitted) -> int:
    """Find the best configuration, and the trade between mean and spread."""
    from ...tools.surface.best import best as find
    from ...tools.surface.converted import converted
    from ..report.surface_answers import of_best

    goal = arguments.minimise or fitted.response.record.response
    if goal not in (fitted.response.record.response, "mean"):
        fitted = converted(fitted, goal)
    found, field = find(fitted, goal, arguments.subject_to, fitted.response.record.seed)
    if arguments.picture:
        from ..report.saving import save_picture
        from ..report.surface_figures import front_figure

        picture = front_figure(fitted, field, found)
        if not picture:
            raise VgoError("The table gives no mean of a cell, so there is no trade to draw: leave out --picture.")
        save_picture(picture, arguments.picture)
    answer(found.model_dump(), of_best(fitted, found), arguments.json)
    return 0


def show(arguments: argparse.Namespace, fitted: Fitted) -> int:
    """Show the surface over two settings, or along one."""
    from ...tools.surface.slices import cut
    from ..report.saving import save_picture
    from ..report.surface_answers import of_slice
    from ..report.surface_figures import slice_figure

    found = cut(fitted.response, words(arguments.axes), arguments.at)
    if arguments.picture:
        save_picture(slice_figure(fitted.response, found), arguments.picture)
    answer(found.model_dump(), of_slice(fitted.response, found), arguments.json)
    return 0
