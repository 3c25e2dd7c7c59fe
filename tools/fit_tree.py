"""fit_tree: a shallow tree that explains the classes; it never decides."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field

from .base import Arguments, Outcome
from .candidates import ORDER, ColumnBlock, candidates
from .case import Case
from .results import FitTreeResult
from .statistics.association.look import look
from .statistics.association.tree import fit_tree


class FitTreeArguments(Arguments):
    """How deep."""

    depth: Annotated[int, Field(ge=1, le=4)] = 3


def run(arguments: FitTreeArguments, case: Case) -> Outcome:
    """Fit on the candidate columns that do not merely follow from slowness, and on the order of the runs.

    No run has the columns of layers that took turns, so each block has a tree, and the one that says most of runs it
    has not seen is kept: of k trees the best looks a little better than it is. It explains only.
    """
    chosen = candidates(case)
    blocks = chosen.blocks or (chosen.common,)
    found = [fitted(block, arguments.depth, case) for block in blocks]
    result = max(found, key=lambda one: one.tree.cross_validated or 0.0)
    return Outcome(result)


def fitted(block: ColumnBlock, depth: int, case: Case) -> FitTreeResult:
    """Fit to the runs of one block."""
    looked = look(block.columns, block.slow, block.outcome, block.wall_s)
    runs = block.slow.size
    values = np.column_stack((block.columns.values[:, looked.kept], np.arange(runs, dtype=np.float64)))
    names = (*looked.names, ORDER)
    tree = fit_tree(values, names, block.slow, depth=depth, seed=case.limits.seed)
    fitted = f"{tree.in_sample:.2f} in-sample"
    honest = "not cross-validated" if tree.cross_validated is None else f"{tree.cross_validated:.2f} cross-validated"
    return FitTreeResult(
        tree=tree,
        columns=len(names),
        layers=block.layers,
        runs=runs,
        summary=f"A tree over {len(names)} columns: balanced accuracy {fitted}, {honest}.",
    )
