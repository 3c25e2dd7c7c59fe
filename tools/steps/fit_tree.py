"""fit_tree: a shallow tree that explains the classes; it never decides."""

from __future__ import annotations

import random
from typing import Annotated

import numpy as np
from pydantic import Field

from ..candidates import ORDER, ColumnBlock, candidates
from ..case import Case, Choices, Situation, Slot, once_labelled
from ..findings import Findings
from ..record import Arguments, JsonArguments, Outcome
from ..results import FitTreeResult, ProfileResult
from ..simulated import World, shown, stumble
from ..statistics.association.look import look
from ..statistics.association.tree import DecisionTree, TreeNode, fit_tree
from ..tool import Tool


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


class FitTreeTool(Tool[FitTreeArguments, FitTreeResult], run=run, title="Fit a tree", analyses=True):
    """Fit a shallow tree that explains slow and fast."""

    why = "a shallow tree shows which counters separate slow from fast"

    def legal(self, situation: Situation) -> Choices | None:
        """Once after each label."""
        return once_labelled(situation, self.name)

    def amounts(self, _: Situation, __: Choices) -> Choices:
        """Depths."""
        return (Slot(("depth",), ((3,), (2,), (4,))),)

    def simulate(self, world: World, found: Findings, _: JsonArguments, chance: random.Random) -> FitTreeResult:
        """Fit a tree that does well where a cause can be seen."""
        stumble(world, chance)
        seen = found.last(ProfileResult).result
        accuracy = chance.uniform(0.65, 0.98) if shown(world, found) else chance.uniform(0.4, 0.65)
        nodes = (TreeNode(id=0, n=seen.runs, slow_share=0.3),)
        tree = DecisionTree(nodes=nodes, in_sample=0.95, cross_validated=accuracy, runs=seen.runs)
        words = f"A tree over {seen.columns} columns: balanced accuracy {accuracy:.2f} cross-validated."
        return FitTreeResult(tree=tree, columns=seen.columns, layers=seen.layers, runs=seen.runs, summary=words)
