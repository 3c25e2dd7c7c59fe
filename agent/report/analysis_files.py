"""What `vgo-agent analyze --save` writes: the object, the page, and for each telling group its pictures and tree."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from ...prompts.render import render
from ...tools.analysis.analyse import Analyses, GroupAnalysis
from ...tools.analysis.analysis import Analysis
from ...tools.recorded.design import Observations
from ...tools.recorded.recorded import RecordedRuns
from . import analysis as words
from .canvas import standalone
from .figures import Flags, Outcomes, distribution, run_order, scatter
from .numbers import number
from .saving import save_files
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
    files = {"analysis.json": json.dumps(words.summary(found, recorded), indent=2) + "\n"}
    told = []
    for place in _pictured(found):
        group = found.groups[place]
        drawn = _pictures(group.analysis, parts[place][1])
        files |= _files(f"{_name(group)}/" if group.values else "", group.analysis, drawn)
        told.append(_told(group, drawn))
    files["analysis.html"] = render(
        "analysis.html.j2",
        title=f"{recorded.source}: {found.groups[0].analysis.outcome}",
        command=command,
        rows=[words.row(group) for group in found.groups],
        groups=told,
    )
    save_files(folder, files)


def _pictured(found: Analyses) -> list[int]:
    """Places of the groups to show, in the order of the table."""
    order = sorted(
        range(len(found.groups)), key=lambda place: found.groups[place].analysis.verdict != "cause explained"
    )
    return sorted(order[:MOST_PICTURED])


def _name(group: GroupAnalysis) -> str:
    return re.sub(r"[^A-Za-z0-9._=-]+", "-", words.named(group.values))[:100].strip("-.") or "group"


def _files(within: str, one: Analysis, drawn: Mapping[str, str]) -> dict[str, str]:
    files = {f"{within}{name}.svg": standalone(svg) for name, svg in drawn.items()}
    if one.tree:
        files |= {f"{within}tree.txt": one.tree.text(), f"{within}tree.json": one.tree.model_dump_json(indent=2) + "\n"}
    return files


def _pictures(one: Analysis, design: Observations) -> dict[str, str]:
    if one.shape is None or one.runs < 2:
        return {}
    axis = Outcomes(one.outcome, one.unit)
    steady = design.after(one.shape.warm_up)
    slow = _slow(one, steady)
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


def _slow(one: Analysis, steady: Observations) -> Flags | None:
    if one.classes is None:
        return None
    beyond = steady.outcome > one.classes.cut if one.lower_is_better else steady.outcome < one.classes.cut
    return np.asarray(beyond, dtype=np.bool_)


def _told(group: GroupAnalysis, drawn: Mapping[str, str]) -> dict[str, Any]:
    one = group.analysis
    title, rows = words.factors(one)
    # Where nothing is visible a tree only tempts.
    shown = ("distribution", "order", *(("factor", "tree") if one.verdict == "cause explained" else ()))
    return {
        **words.sentences(one),
        "where": f": {words.named(group.values)}" if group.values else "",
        "notes": one.warnings,
        "factors_title": title,
        "head": words.FACTORS,
        "factors": rows,
        "tree": words.tree_title(one),
        "set_aside": one.set_aside,
        "pictures": {name: Markup(drawn.get(name, "")) for name in shown},
    }
