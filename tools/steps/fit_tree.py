"""fit_tree: a shallow tree that explains slow and fast."""

from __future__ import annotations

import random

from ..base import JsonArguments
from ..findings import Findings
from ..fit_tree import FitTreeArguments, run
from ..results import FitTreeResult, ProfileResult
from ..simulated import World, shown, stumble
from ..situation import Choices, Situation, Slot
from ..statistics.association.tree import DecisionTree, TreeNode
from ..tool import Tool
from .profile import once_labelled


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
