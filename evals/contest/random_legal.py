"""Any legal call: how far the order that the tools themselves demand leads without a thought."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ...agent.costs import LEAST_PAIRS, affordable_pairs
from ...agent.planners.base import Choice, View
from ...tools.measure import MeasureResult

LAST = 120
"""The decision at which it concludes for certain; the chance rises to that in a straight line. Half of the diagnoses
would take 13 decisions and more, where one that finds and confirms a cure takes ten."""
SHARES = (0.05, 0.5)
"""Of the budget, for one call that measures."""


@dataclass(frozen=True)
class RandomLegal:
    """Draws the tool and the values of its arguments, each legal one alike; every draw follows from the seed and from
    how many decisions there were, so that it has no state."""

    seed: int
    name: str = "random-legal"

    def choose(self, view: View) -> Choice:
        """Draw the next call."""
        chance = random.Random(f"random-legal:{self.seed}:{view.decisions}")
        tools = [tool for tool in view.legal.tools if tool != "conclude"]
        if not tools or chance.random() < view.decisions / LAST:
            return Choice("conclude", {}, "drawn")
        tool = chance.choice(tools)
        drawn = FREE[tool](view, chance) if tool in FREE else {}
        closed = {name: chance.choice(values) for name, values in view.legal.tools[tool].items()}
        return Choice(tool, {**drawn, **closed, **_batch(tool, view, chance)}, "drawn")


def _batch(tool: str, view: View, chance: random.Random) -> dict[str, Any]:
    """A mitigation and a batch that go together."""
    if tool != "apply_mitigation":
        return {}
    mitigation, batch = chance.choice(sorted(view.legal.batches))
    return {"mitigation": mitigation, "batch": batch}


def _measure(view: View, chance: random.Random) -> dict[str, Any]:
    return {"max_runs": _runs(view, chance), "max_seconds": _seconds(view, chance)}


def _profile(view: View, chance: random.Random) -> dict[str, Any]:
    layers = view.limits.layers
    chosen = sorted(chance.sample(range(len(layers)), chance.randint(1, len(layers))))
    return {
        "layers": [layers[place] for place in chosen],
        "runs": _runs(view, chance),
        "max_seconds": _seconds(view, chance),
    }


def _label(view: View, chance: random.Random) -> dict[str, Any]:
    """The automatic cut, or one anywhere within the bulk of the baseline."""
    outcome = view.record.latest("measure").read(MeasureResult).outcome
    return {"cut": chance.choice((None, chance.uniform(outcome.p5, outcome.p95)))}


def _fit_tree(view: View, chance: random.Random) -> dict[str, Any]:
    return {"depth": chance.randint(1, 4)}


def _apply(view: View, chance: random.Random) -> dict[str, Any]:
    most = min(view.limits.max_runs, affordable_pairs(view.record, view.limits))
    return {"pairs": chance.randint(min(LEAST_PAIRS, most), most)}


def _runs(view: View, chance: random.Random) -> int:
    limits = view.limits
    return chance.randint(min(limits.min_runs, limits.max_runs), limits.max_runs)


def _seconds(view: View, chance: random.Random) -> float:
    return view.limits.budget_s * chance.uniform(*SHARES)


FREE: Mapping[str, Callable[[View, random.Random], dict[str, Any]]] = {
    "measure": _measure,
    "profile": _profile,
    "label": _label,
    "fit_tree": _fit_tree,
    "apply_mitigation": _apply,
}
"""Arguments that are free within their schema."""
