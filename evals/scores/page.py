"""An evaluation as one page that needs nothing else, and as Markdown."""

from __future__ import annotations

from markupsafe import Markup

from ...prompts.render import render
from .difference import Difference
from .kinds import COLUMNS, KINDS
from .pictures import pictures
from .required import missed
from .results import Results
from .summary import Grouping
from .tables import (
    by_group,
    difference_lines,
    duel_line,
    duels,
    failure_lines,
    failures,
    grid,
    notes,
    overview,
    requirements,
    turned,
)
from .words import MAIN

GROUPINGS: tuple[Grouping, ...] = ("split", "difficulty", "tag")
GROUPED = ("verdict", "cause@1", "injected@1", "false_alarm", "regret")
"""Scores that are shown by split, by difficulty and by tag."""


def page(results: Results, found: Difference | None = None) -> str:
    """Write the page; with `found`, what is different from an earlier evaluation."""
    drawn = {name: Markup(svg) for name, svg in pictures(results).items()}
    return render("eval.html.j2", pictures=drawn, **_values(results, found))


def markdown(results: Results, found: Difference | None = None) -> str:
    """Write the tables as Markdown, for the documentation; failures are those of the rule policy where it took part."""
    asked = (MAIN,) if MAIN in results.contestants else results.contestants
    return render("eval.md.j2", asked=asked, lines=failure_lines(results, asked), **_values(results, found))


def _values(results: Results, found: Difference | None) -> dict[str, object]:
    shown = overview(results)
    return {
        "results": results,
        "overview": turned(shown),
        "legend": [(kind.column, kind.words) for kind in KINDS.values() if kind.column in shown.header],
        "duels": [duel_line(duel) for duel in duels(results)],
        "missed": list(missed(results, MAIN)) if MAIN in results.contestants else [],
        "required": requirements(results, MAIN) if MAIN in results.contestants else None,
        "notes": notes(results),
        "groups": [
            (COLUMNS[score], table)
            for grouping in GROUPINGS
            for score in GROUPED
            if (table := by_group(results, grouping, score)).rows
        ],
        "grid": grid(results),
        "failures": [one._asdict() | {"score": COLUMNS[one.score]} for one in failures(results, results.contestants)],
        "difference": None if found is None else difference_lines(found),
    }
