"""surface: model the spread of a program as a function of its settings, and ask for the steadiest configuration."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ...knowledge.errors import VgoError
from ..terminal import answer
from .options import add_manners, add_mapping, words

if TYPE_CHECKING:
    from ...tools.surface.stored import Fitted


ACTIONS = ("fit", "predict", "best", "show")
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
MIXED = True
"""Options may stand between the action and its words."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("action", choices=ACTIONS, help="see below")
    parser.add_argument("source", metavar="SOURCE", help="a table, the folder of a sweep, or what fit saved")
    parser.add_argument("config", metavar="SETTING=VALUE", nargs="*", help="the configuration, for predict")
    add_mapping(parser)
    table = parser.add_argument_group("the table")
    table.add_argument("--settings", metavar="COLS", help="columns that were varied (default as the table says)")
    table.add_argument("--outcome", metavar="COL", help="what was measured (default as the table says)")
    table.add_argument(
        "--given",
        choices=("runs", "variance", "sd", "cv", "mean", "value"),
        default="runs",
        help="what the outcome of a row is: one run, or this number of a whole configuration (default runs)",
    )
    direction = table.add_mutually_exclusive_group()
    direction.add_argument("--lower-is-better", action="store_true", help="a smaller outcome is a better one")
    direction.add_argument("--higher-is-better", action="store_true", help="a larger outcome is a better one")
    fit = parser.add_argument_group("the fit")
    fit.add_argument(
        "--response", metavar="NAME", default="sd", help="sd, cv, variance, mean, median or p95, p99, ... (default sd)"
    )
    fit.add_argument("--models", metavar="NAMES", help="which models to compare (default all)")
    fit.add_argument("--leave-one-out", action="store_true", help="predict each configuration by a fit without it")
    fit.add_argument(
        "--keep-out",
        type=float,
        metavar="SHARE",
        help="check a fit to the other cells on this random share of them, such as 0.2",
    )
    fit.add_argument("--seed", type=int, default=1, metavar="N", help="seed of all that is drawn (default 1)")
    fit.add_argument("--save", type=Path, metavar="DIR", help="keep the surface, with a report and pictures")
    asked = parser.add_argument_group("best and show")
    asked.add_argument("--minimise", metavar="NAME", help="sd, cv, variance or mean (default the response)")
    asked.add_argument("--subject-to", metavar="EXPR", default="", help="what a configuration must meet")
    asked.add_argument("--axes", metavar="A[,B]", help="the settings to show (default the two that explain most)")
    asked.add_argument("--at", metavar="SETTING=VALUE", action="append", default=[], help="hold a setting there")
    asked.add_argument("--picture", type=Path, metavar="FILE.svg", help="where to draw what best and show have found")
    add_manners(parser)


def run(arguments: argparse.Namespace) -> int:
    """Do one of the actions."""

    _check(arguments)
    actions: dict[str, Callable[[argparse.Namespace, Fitted], int]] = {
        "fit": _fit,
        "predict": predict,
        "best": best,
        "show": show,
    }
    return actions[arguments.action](arguments, opened(arguments))


def opened(arguments: argparse.Namespace) -> Fitted:
    """Load a saved surface, or fit one to a table."""
    from ...tools.surface.stored import is_stored, load

    source = Path(arguments.source)
    if not is_stored(source):
        return _fitted(arguments)
    if arguments.action == "fit":
        raise VgoError(f"{source} is a surface already: `vgo-agent surface predict {source} ...` asks it.")
    if arguments.settings or arguments.outcome or arguments.models:
        raise VgoError(f"{source} is a fitted surface: leave out --settings, --outcome and --models.")
    return load(source)


def _fitted(arguments: argparse.Namespace) -> Fitted:
    from ...tools.recorded.read import read
    from ...tools.surface.cells import SurfaceOptions, cells
    from ...tools.surface.stored import fit_both
    from .options import mapping_of

    asked = SurfaceOptions(
        settings=words(arguments.settings),
        outcome=arguments.outcome,
        given=arguments.given,
        lower_is_better=True if arguments.lower_is_better else False if arguments.higher_is_better else None,
    )
    gathered = cells(read(Path(arguments.source), (), mapping_of(arguments)), asked)
    return fit_both(
        gathered,
        arguments.response,
        words(arguments.models),
        arguments.leave_one_out,
        arguments.seed,
        arguments.keep_out,
    )


def _fit(arguments: argparse.Namespace, fitted: Fitted) -> int:
    from ...tools.surface.explain import explain
    from ...tools.surface.stored import save
    from ..render.terminal import terminal_text
    from ..report.surface import document

    explained = explain(fitted)
    saved = []
    if arguments.save:
        from ..report.surface_files import save_report

        saved = [str(save(fitted, arguments.save)), *save_report(fitted, explained, arguments.save)]
    told = {
        **fitted.response.record.model_dump(exclude={"columns", "values", "runs", "unseen"}),
        "cells": len(fitted.response.record.values),
        "margin": fitted.response.margin,
        "explained": explained.model_dump(),
        "saved": saved,
    }
    words = "\n".join([terminal_text(document(fitted, explained)), *(f"Wrote {path}" for path in saved)])
    answer(told, words, arguments.json)
    return 0


def _check(arguments: argparse.Namespace) -> None:
    """Refuse options that do not belong to the action."""
    if arguments.config and arguments.action != "predict":
        raise VgoError(f"`vgo-agent surface {arguments.action}` takes no {arguments.config[0]}: see its --help.")
    if arguments.save and arguments.action != "fit":
        raise VgoError("--save belongs to `vgo-agent surface fit`: use --picture FILE.svg here.")
    if arguments.picture and arguments.picture.suffix != ".svg":
        raise VgoError(f"--picture {arguments.picture} is drawn as SVG: name it *.svg.")
    if arguments.keep_out is not None and arguments.action != "fit":
        raise VgoError("--keep-out belongs to `vgo-agent surface fit`: fit and --save the surface first.")
    if arguments.seed < 0:
        raise VgoError(f"--seed {arguments.seed} is below 0; choose any number from 0.")


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
    from ...tools.surface.stored import converted
    from ..report.surface_answers import of_best

    goal = arguments.minimise or fitted.response.record.response
    if goal not in (fitted.response.record.response, "mean"):
        fitted = converted(fitted, goal)
    found, field = find(fitted, goal, arguments.subject_to, fitted.response.record.seed)
    if arguments.picture:
        from ..report.response_figures import front_figure
        from ..report.saving import save_picture

        picture = front_figure(fitted, field, found)
        if not picture:
            raise VgoError("The table gives no mean of a cell, so there is no trade to draw: leave out --picture.")
        save_picture(picture, arguments.picture)
    answer(found.model_dump(), of_best(fitted, found), arguments.json)
    return 0


def show(arguments: argparse.Namespace, fitted: Fitted) -> int:
    """Show the surface over two settings, or along one."""
    from ...tools.surface.explain import cut
    from ..report.response_figures import slice_figure
    from ..report.saving import save_picture
    from ..report.surface_answers import of_slice

    found = cut(fitted.response, words(arguments.axes), arguments.at)
    if arguments.picture:
        save_picture(slice_figure(fitted.response, found), arguments.picture)
    answer(found.model_dump(), of_slice(fitted.response, found), arguments.json)
    return 0
