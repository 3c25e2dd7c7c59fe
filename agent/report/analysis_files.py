"""What `vgo-agent analyze --save` writes: the object, the page, and for each telling group its pictures and tree."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from ...knowledge.errors import VgoError
from ...prompts.render import render
from ...tools.analysis.analysis import Analysis
from ...tools.analysis.groups import Analyses, GroupAnalysis
from ...tools.recorded.design import Observations
from ...tools.recorded.recorded import RecordedRuns
from . import analysis as words
from .canvas import standalone
from .figures import Flags, Outcomes, distribution, run_order, scatter
from .numbers import number
from .remarks import of_form
from .tree_figure import tree

MOST_PICTURED = 20
"""Groups with pictures; those with a cause come first."""


def save(
    found: Analyses,
    parts: Sequence[tuple[Mapping[str, Any], Observations]],
    recorded: RecordedRuns,
    command: str,
    folder: Path,
) -> None:
    """Write everything into a folder, which is made."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "analysis.json").write_text(json.dumps(words.summary(found, recorded), indent=2) + "\n")
        told = []
        for place in _pictured(found):
            group = found.groups[place]
            drawn = _pictures(group.analysis, parts[place][1])
            _files(folder / _name(group) if group.values else folder, group.analysis, drawn)
            told.append(_told(group, drawn))
        page = render(
            "analysis.html.j2",
            title=f"{recorded.source}: {found.groups[0].analysis.outcome}",
            command=command,
            rows=[words.row(group) for group in found.groups],
            groups=told,
        )
        (folder / "analysis.html").write_text(page)
    except OSError as error:
        raise VgoError(f"Cannot write into {folder} ({error.strerror}); choose another folder for --save.") from error


def _pictured(found: Analyses) -> list[int]:
    """Places of the groups to show, in the order of the table."""
    order = sorted(
        range(len(found.groups)), key=lambda place: found.groups[place].analysis.verdict != "cause explained"
    )
    return sorted(order[:MOST_PICTURED])


def _name(group: GroupAnalysis) -> str:
    return re.sub(r"[^A-Za-z0-9._=-]+", "-", words.named(group.values))[:100].strip("-.") or "group"


def _files(folder: Path, one: Analysis, drawn: Mapping[str, str]) -> None:
    folder.mkdir(exist_ok=True)
    for name, svg in drawn.items():
        (folder / f"{name}.svg").write_text(standalone(svg))
    if one.tree:
        (folder / "tree.txt").write_text(one.tree.text())
        (folder / "tree.json").write_text(one.tree.model_dump_json(indent=2) + "\n")


def _pictures(one: Analysis, design: Observations) -> dict[str, str]:
    """Draw what there is data for."""
    if one.shape is None or one.runs < 2:
        return {}
    axis = Outcomes(one.outcome, one.unit)
    steady = design.after(one.shape.warm_up)
    slow = slow_runs(one, steady)
    modes = [mode.position for mode in one.shape.modes]
    cut = one.classes.cut if one.classes else None
    drawn = {"distribution": distribution(steady.outcome, slow, cut, modes, axis)}
    if one.shape.ordered:
        drawn["order"] = run_order(design.outcome, one.shape.warm_up, None, axis)
    if one.tree and len(one.tree.nodes) > 1:
        drawn["tree"] = tree(one.tree)
    visible = (finding.factor for finding in one.findings if finding.factor.visible)
    first = next((factor for factor in visible if factor.name in design.names), None)
    if first and slow is not None:
        title = f"R² {number(first.r2, 2)}" if first.r2 is not None else ""
        column = steady.values[:, design.names.index(first.name)]
        drawn["factor"] = scatter(column, steady.outcome, slow, Outcomes(first.name, ""), axis, title)
    return drawn


def slow_runs(one: Analysis, steady: Observations) -> Flags | None:
    """Which runs are in the worst class."""
    if one.classes is None:
        return None
    beyond = steady.outcome > one.classes.cut if one.lower_is_better else steady.outcome < one.classes.cut
    return np.asarray(beyond, dtype=np.bool_)


def _shown(one: Analysis) -> tuple[str, ...]:
    """Which pictures the page has; where nothing is visible a tree only tempts."""
    return (
        ("distribution", "order", "factor", "tree") if one.verdict == "cause explained" else ("distribution", "order")
    )


def _told(group: GroupAnalysis, drawn: Mapping[str, str]) -> dict[str, Any]:
    one = group.analysis
    title, rows = words.factors(one)
    return {
        "verdict": one.verdict,
        "where": f": {words.named(group.values)}" if group.values else "",
        "reason": one.reason,
        "notes": one.warnings,
        "steps": list(words.steps(one)),
        "runs": words.runs(one),
        "form": list(of_form(one.shape, one.unit)) if one.shape else [],
        "classes": words.classes(one),
        "factors_title": title,
        "head": words.FACTORS,
        "factors": rows,
        "interactions": list(words.interactions(one)),
        "tree": words.tree_title(one),
        "set_aside": one.set_aside,
        "pictures": {name: Markup(drawn.get(name, "")) for name in _shown(one)},
    }
