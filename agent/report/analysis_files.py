"""What `vgo-agent analyze --save` writes: the object, the page, and for each telling group its pictures and tree."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...tools.analysis.analyse import Analyses
from ...tools.analysis.analysis import Analysis
from ...tools.document import illustrated
from ...tools.recorded.design import Observations
from ...tools.recorded.recorded import RecordedRuns
from ...tools.verdict import EXPLAINED
from .analysis import document, folder_of, summary
from .figures import Flags, Outcomes, distribution, run_order, scatter
from .numbers import number
from .svg import document_files, save_files, standalone
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
    files = {"analysis.json": json.dumps(summary(found, recorded), indent=2) + "\n"}
    pictures: dict[str, str] = {}
    places = _pictured(found)
    for place in places:
        one, within = found.groups[place].analysis, folder_of(found.groups[place])
        pictures |= {f"{within}{name}": svg for name, svg in _pictures(one, parts[place][1]).items()}
        if one.tree:
            files[f"{within}tree.txt"] = one.tree.text()
            files[f"{within}tree.json"] = one.tree.model_dump_json(indent=2) + "\n"
    page = illustrated(document(found, recorded, command, places), pictures)
    drawn = {f"{name}.svg": standalone(svg) for name, svg in pictures.items()}
    save_files(folder, files | drawn | document_files(page, "analysis"))


def _pictured(found: Analyses) -> list[int]:
    """Places of the groups to show, in the order of the table."""
    order = sorted(range(len(found.groups)), key=lambda place: found.groups[place].analysis.verdict != EXPLAINED)
    return sorted(order[:MOST_PICTURED])


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
