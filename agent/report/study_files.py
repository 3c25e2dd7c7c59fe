"""The pages of a study: report.md, report.html and the pictures."""

from __future__ import annotations

import shlex
from typing import Any

from ...prompts.render import render
from ...tools.study.spreads import outcomes
from ..experiment_folder import REQUEST
from ..run_folder import write
from ..study import TABLE, StudyResult
from . import study as words
from .canvas import standalone
from .study_figures import against_cores, forest, normalised

PAGE, LONG = "report.md", "report.html"


def save(studied: StudyResult) -> None:
    """Write everything that is told of a study beside its table."""
    drawn = _pictures(studied)
    contents = {f"{name}.svg": standalone(svg).encode() for name, svg in drawn.items()}
    told = _told(studied)
    contents[PAGE] = render("study.md.j2", **told, pictures=list(drawn)).encode()
    contents[LONG] = render("study.html.j2", **told, pictures=drawn).encode()
    for name, content in contents.items():
        write(studied.folder / name, content)


def _pictures(studied: StudyResult) -> dict[str, str]:
    study, first = studied.study, [row for row in studied.rows if row["batch"] == 1]
    times = outcomes(first)
    drawn = {
        "settings": normalised({one.setting: times[one.setting] for one in study.spreads}, study.chosen),
        "cores": against_cores(study.reservation.steps, times, studied.asked.subject.unit),
        "effects": forest(study.effects),
    }
    return {name: svg for name, svg in drawn.items() if svg}


def _told(studied: StudyResult) -> dict[str, Any]:
    study, asked = studied.study, studied.asked
    unit = asked.subject.unit
    return {
        "title": shlex.join(asked.subject.command),
        "study": study,
        "questions": [(one.key, one.question) for one in study.design.factors if len(one.levels) > 1],
        "settings": words.settings(study, unit),
        "against": words.held_against(study),
        "effects": words.main_effects(study),
        "cores": words.cores(study, unit),
        "clocks": words.clocks(studied.rows),
        "left_out": words.left_out(study),
        "changes": [(one.name, one.told()) for one in asked.design.settings],
        "table": TABLE,
        "page": REQUEST,
    }
