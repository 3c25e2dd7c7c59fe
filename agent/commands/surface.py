"""surface: model the spread of a program as a function of its settings, and ask for the steadiest configuration."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from ...knowledge.errors import VgoError
from .options import OfRecordedRuns, option, place, words

if TYPE_CHECKING:
    from ...tools.surface.stored import Fitted

ACTIONS = ("fit", "predict", "best", "show")
Given = Literal["runs", "variance", "sd", "cv", "mean", "value"]
OF_A_FIT = "settings outcome given mean response models leave_one_out mapping seed lower_is_better higher_is_better"


@dataclass(frozen=True, kw_only=True)
class SurfaceCommand(OfRecordedRuns):
    """Model the spread of a program as a function of its settings, and ask for the steadiest configuration."""

    EPILOG = """\
examples:
  vgo-agent surface fit runs.csv --settings threads,freq --outcome time_s --save spread
  vgo-agent surface fit cells.csv --settings threads,freq --outcome var --given variance --response sd
  vgo-agent surface predict spread threads=8 freq=2.4
  vgo-agent surface best spread --minimise sd --subject-to 'mean<=1.05*best'
  vgo-agent surface show spread --axes threads,freq --picture spread.svg

fit      fit models to the spread (or mean, or a percentile) of each configuration, compare them on configurations
         that they did not see, and say how much of the variability each setting explains. SOURCE: runs with a row
         each, recorded anywhere or by `vgo-agent sweep` (then no options are needed); --given: a row a configuration
predict  the response at one configuration, given as SETTING=VALUE, with a 90 % interval; says when it extrapolates
best     the configuration with the smallest response among measured ones and all combinations of their levels near
         them. --subject-to compares settings, mean, the response, and best (the best mean), as `where` of a sweep
show     a heat map over two settings, or slices along one, the others held at --at SETTING=VALUE

SOURCE of the last three is what fit saved, or a table as for fit, which is then fitted first.
models: shepard (linear Shepard), mars, gaussian, radial, boosting, forest, and hybrid, which is made of all of them
"""

    REQUIRES = {
        "action=fit": "save keep_out",
        "action=predict": "config",
        "action=best": "minimise subject_to",
        "action=show": "axes at",
        "action=best,show": "picture",
    }

    action: str = place("ACTION", "fit, predict, best or show: see below", choices=ACTIONS)
    source: str = place("SOURCE", "a table, the folder of a sweep, or what fit saved")
    config: tuple[str, ...] = place("SETTING=VALUE", "the configuration, for predict", default=())
    settings: str | None = option(
        "columns that were varied (default as the table says)", metavar="COLS", group="the table"
    )
    outcome: str | None = option("what was measured (default as the table says)", metavar="COL", group="the table")
    given: Given = option(
        "what the outcome of a row is: one run, or this number of a whole configuration (default runs)",
        "runs",
        choices=get_args(Given),
        group="the table",
    )
    mean: str | None = option(
        "beside a spread of each configuration: the column of its mean", metavar="COL", group="the table"
    )
    response: str = option(
        "sd, cv, variance, mean, median or p95, p99, ... (default sd)", "sd", metavar="NAME", group="the fit"
    )
    models: str | None = option("which models to compare (default all)", metavar="NAMES", group="the fit")
    leave_one_out: bool = option("predict each configuration by a fit without it", False, group="the fit")
    keep_out: float | None = option(
        "check a fit to the other cells on this random share of them, such as 0.2", metavar="SHARE", group="the fit"
    )
    save: Path | None = option("keep the surface, with a report and pictures", metavar="DIR", group="the fit")
    minimise: str | None = option(
        "sd, cv, variance or mean (default the response)", metavar="NAME", group="best and show"
    )
    subject_to: str = option("what a configuration must meet", "", metavar="EXPR", group="best and show")
    axes: str | None = option(
        "the settings to show (default the two that explain most)", metavar="A[,B]", group="best and show"
    )
    at: tuple[str, ...] = option("hold a setting there", (), metavar="SETTING=VALUE", group="best and show")
    picture: Path | None = option(
        "where to draw what best and show have found", metavar="FILE.svg", group="best and show"
    )

    def run(self) -> int:
        """Do one of the actions."""
        if self.picture and self.picture.suffix != ".svg":
            raise VgoError(f"--picture {self.picture} is drawn as SVG: name it *.svg.")
        actions: dict[str, Callable[[SurfaceCommand, Fitted], int]] = {
            "fit": _fit,
            "predict": predict,
            "best": best,
            "show": show,
        }
        return actions[self.action](self, opened(self))


def opened(command: SurfaceCommand) -> Fitted:
    """Load a saved surface, or fit one to a table."""
    from ...tools.surface.stored import is_stored, load

    source = Path(command.source)
    if not is_stored(source):
        return _fitted(command)
    if command.action == "fit":
        raise VgoError(f"{source} is a surface already: `vgo-agent surface predict {source} ...` asks it.")
    if stranger := command.first_typed(OF_A_FIT):
        raise VgoError(f"{source} is a fitted surface: leave out --{stranger.replace('_', '-')}.")
    return load(source)


def _fitted(command: SurfaceCommand) -> Fitted:
    from ...tools.recorded.read import read
    from ...tools.surface.cells import SurfaceOptions, cells
    from ...tools.surface.stored import fit_both

    asked = SurfaceOptions(
        settings=words(command.settings),
        outcome=command.outcome,
        given=command.given,
        mean=command.mean,
        lower_is_better=command.lower,
    )
    gathered = cells(read(Path(command.source), (), command.meanings()), asked)
    return fit_both(
        gathered, command.response, words(command.models), command.leave_one_out, command.seed, command.keep_out
    )


def _fit(command: SurfaceCommand, fitted: Fitted) -> int:
    from ...tools.surface.explain import explain
    from ...tools.surface.stored import save
    from ..render.text import terminal_text
    from ..report.surface import document

    explained = explain(fitted)
    saved = []
    if command.save:
        from ..report.surface import save_report

        saved = [str(save(fitted, command.save)), *save_report(fitted, explained, command.save)]
    values = {
        **fitted.response.record.model_dump(exclude={"columns", "values", "runs", "unseen"}),
        "cells": len(fitted.response.record.values),
        "margin": fitted.response.margin,
        "explained": explained.model_dump(),
        "saved": saved,
    }
    words = [terminal_text(document(fitted, explained)), *(f"Wrote {path}" for path in saved)]
    return command.answer(values, "\n".join(words))


def predict(command: SurfaceCommand, fitted: Fitted) -> int:
    """Predict at one configuration."""
    from ...tools.surface import predict as ask
    from ..report.surface import of_prediction

    config = ask.read_config(fitted.response, list(command.config))
    found = ask.predict(fitted.response, config)
    mean = ask.predict(fitted.mean, config) if fitted.mean else None
    values = {
        "response": fitted.response.record.response,
        "model": fitted.response.record.model,
        "config": config,
        **found.model_dump(),
        "mean": mean.model_dump() if mean else None,
    }
    return command.answer(values, of_prediction(fitted, config, found, mean))


def best(command: SurfaceCommand, fitted: Fitted) -> int:
    """Find the best configuration, and the trade between mean and spread."""
    from ...tools.surface.predict import best as find
    from ...tools.surface.stored import converted
    from ..report.surface import of_best

    goal = command.minimise or fitted.response.record.response
    if goal not in (fitted.response.record.response, "mean"):
        fitted = converted(fitted, goal)
    found, field = find(fitted, goal, command.subject_to, fitted.response.record.seed)
    if command.picture:
        from ..report.response_figures import front_figure
        from ..report.svg import save_picture

        picture = front_figure(fitted, field, found)
        if not picture:
            raise VgoError(
                "The table gives no mean of a cell, so there is no trade to draw: name the column with --mean."
            )
        save_picture(picture, command.picture)
    return command.answer(found.model_dump(), of_best(fitted, found))


def show(command: SurfaceCommand, fitted: Fitted) -> int:
    """Show the surface over two settings, or along one."""
    from ...tools.surface.explain import cut
    from ..report.response_figures import slice_figure
    from ..report.surface import of_slice
    from ..report.svg import save_picture

    found = cut(fitted.response, words(command.axes), command.at)
    if command.picture:
        save_picture(slice_figure(fitted.response, found), command.picture)
    return command.answer(found.model_dump(), of_slice(fitted.response, found))
