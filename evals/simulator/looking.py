"""What the tools that look at the runs would have said in a world: label, fit_tree, rank_factors, look_up, conclude."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from typing import Any

from ...tools.base import Result, ToolError
from ...tools.case import Record
from ...tools.conclude import CONCLUDE, ConcludeArguments
from ...tools.fit_tree import FitTreeResult
from ...tools.label import LabelResult, RunClasses
from ...tools.look_up import LookUpResult
from ...tools.profile import ProfileResult
from ...tools.rank_factors import BlockLooked, RankedFactor, RankResult
from ...tools.statistics.association.tree import DecisionTree, TreeNode
from .made import shape_of
from .place import case_at, known, looked_up, without_counters
from .world import Lead, World

Arguments = Mapping[str, Any]
LIGHT, SECOND = 0.8, 0.2
"""Of alpha, at the first and the second look."""


def label(world: World, record: Record, arguments: Arguments, chance: random.Random) -> LabelResult:
    """Cut the profiled runs; a cut of one's own may leave a class empty."""
    runs = record.latest("profile").read(ProfileResult).runs
    cut = arguments.get("cut")
    if cut is not None and chance.random() < 0.15:
        raise ToolError(f"The cut {cut:g} leaves one class empty; choose it inside the range of outcomes.")
    slow = max(1, min(runs - 1, round(runs * chance.uniform(0.05, 0.5))))
    classes = RunClasses(
        kind="median" if cut is None else "given",
        how="drawn",
        cut=world.run_s if cut is None else float(cut),
        cuts=(world.run_s,),
        lower_is_better=True,
        sizes=(runs - slow, slow),
        n_slow=slow,
        n_fast=runs - slow,
        slow=(True,) * slow + (False,) * (runs - slow),
    )
    shape = shape_of(runs, world.run_s, 1, tail=False)
    return LabelResult(classes=classes, shape=shape, summary=f"{slow} of {runs} runs are slow.")


def fit_tree(world: World, record: Record, arguments: Arguments, chance: random.Random) -> FitTreeResult:
    """Fit a tree that does well where a cause can be seen."""
    seen = record.latest("profile").read(ProfileResult)
    accuracy = chance.uniform(0.65, 0.98) if _shown(world, record) else chance.uniform(0.4, 0.65)
    tree = DecisionTree(
        nodes=(TreeNode(id=0, n=seen.runs, slow_share=0.3),), in_sample=0.95, cross_validated=accuracy, runs=seen.runs
    )
    words = f"A tree over {seen.columns} columns: balanced accuracy {accuracy:.2f} cross-validated."
    return FitTreeResult(tree=tree, columns=seen.columns, layers=seen.layers, runs=seen.runs, summary=words)


def rank_factors(world: World, record: Record, arguments: Arguments, chance: random.Random) -> RankResult:
    """Rank what goes with slow runs, and what does not."""
    seen = record.latest("profile").read(ProfileResult)
    look, runs = len(record.succeeded("profile")), seen.runs
    leads = _shown(world, record)
    rest = chance.sample([key for key, factor in known().factors.items() if factor.signals], world.unseen)
    ranked = [_ranked(lead, runs) for lead in leads]
    ranked += _unseen([key for key in rest if key not in {lead.factor for lead in leads}], runs, chance)
    ranked.sort(key=lambda one: (not one.visible, one.visible and one.contrary, one.p_value))
    visible = any(one.suspect for one in ranked)
    waits = bool(record.succeeded("profile")[0].read(ProfileResult).later)
    return RankResult(
        visible=visible,
        p_value=min(one.p_value for one in ranked),
        factors=tuple(ranked),
        set_aside={},
        clusters=len(ranked),
        look=look,
        look_share=1.0 if not waits else LIGHT if look == 1 else SECOND,
        blocks=(
            BlockLooked(layers=seen.layers, runs=seen.runs, columns=seen.columns, clusters=len(ranked), share=1.0),
        ),
        filled={},
        uncounted=() if visible else without_counters(world.place, world.busy_cpus),
        summary=f"{'A' if visible else 'No'} visible factor.",
    )


def look_up(world: World, record: Record, arguments: Arguments, chance: random.Random) -> LookUpResult:
    """Look up what is really known."""
    return looked_up(world.place, str(arguments["factor"]), world.busy_cpus)


def conclude(world: World, record: Record, arguments: Arguments, chance: random.Random) -> Result:
    """Give the verdict that the record really supports."""
    return CONCLUDE.run(ConcludeArguments(), case_at(world.place, world.limits, record)).result


def _shown(world: World, record: Record) -> tuple[Lead, ...]:
    """What the layers of the last profile can show."""
    second = len(record.succeeded("profile")) > 1
    return tuple(lead for lead in world.leads if lead.heavy == second)


def _ranked(lead: Lead, runs: int) -> RankedFactor:
    column = known().factors[lead.factor].signals[0] if lead.factor in known().factors else lead.factor
    return _factor(lead.factor, column, lead.auc, lead.p_value, runs, visible=True, contrary=lead.contrary)


def _unseen(keys: list[str], runs: int, chance: random.Random) -> Iterator[RankedFactor]:
    """Factors whose link is no more than luck; there is always one, the order of the runs."""
    for key in dict.fromkeys([*keys, "run_order"]):
        column = known().factors[key].signals[0]
        auc, p_value = 0.5 + chance.uniform(-0.1, 0.1), chance.uniform(0.06, 1.0)
        yield _factor(key, column, auc, p_value, runs, visible=False, contrary=auc < 0.45)


def _factor(
    key: str, column: str, auc: float, p_value: float, runs: int, *, visible: bool, contrary: bool
) -> RankedFactor:
    return RankedFactor(
        factor=key,
        column=column,
        members=(column,),
        auc=auc,
        auc_per_second=None,
        r2=None,
        importance=abs(auc - 0.5) / 2,
        stability=0.5,
        p_value=p_value,
        slow_median=2.0,
        fast_median=1.0,
        visible=visible,
        contrary=contrary,
        runs=runs,
    )
