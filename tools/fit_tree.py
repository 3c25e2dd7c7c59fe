"""fit_tree: a shallow tree that explains the classes; it never decides."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field

from .base import Arguments, Outcome, Result, Tool
from .candidates import ORDER, candidates
from .case import Case
from .statistics.association.look import look
from .statistics.association.tree import Tree, fit_tree


class FitTreeArguments(Arguments):
    """How deep."""

    depth: Annotated[int, Field(ge=1, le=4)] = 3


class FitTreeResult(Result):
    """The tree with its honest accuracy."""

    tree: Tree
    columns: int
    """Columns that it could choose from."""


def run(arguments: FitTreeArguments, case: Case) -> Outcome:
    """Fit on the candidate columns of the last profile that do not merely follow from slowness, and on the order."""
    chosen = candidates(case)
    looked = look(chosen.columns, chosen.slow, chosen.outcome, chosen.wall_s)
    runs = chosen.slow.size
    values = np.column_stack((chosen.columns.values[:, looked.kept], np.arange(runs, dtype=np.float64)))
    names = (*looked.names, ORDER)
    tree = fit_tree(values, names, chosen.slow, depth=arguments.depth, seed=case.limits.seed)
    fitted = f"{tree.in_sample:.2f} in-sample"
    honest = "not cross-validated" if tree.cross_validated is None else f"{tree.cross_validated:.2f} cross-validated"
    summary = f"A tree over {len(names)} columns: balanced accuracy {fitted}, {honest}."
    return Outcome(FitTreeResult(tree=tree, columns=len(names), summary=summary))


FIT_TREE = Tool("fit_tree", "Fit a shallow tree that explains slow and fast.", FitTreeArguments, FitTreeResult, run)
