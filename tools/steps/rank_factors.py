"""rank_factors: does any factor go with slow runs by more than luck?"""

from __future__ import annotations

import random
from collections.abc import Iterator

from ..case import Choices, Situation, once_labelled
from ..findings import Findings
from ..rank_factors import RankArguments, look_of, run
from ..ranking import BlockLooked, RankedFactor, RankResult
from ..record import JsonArguments
from ..results import ProfileResult
from ..simulated import Lead, World, shown, stumble
from ..tool import Tool


def _ranked(lead: Lead, runs: int, world: World) -> RankedFactor:
    column = world.known.factors[lead.factor].signals[0] if lead.factor in world.known.factors else lead.factor
    return _factor(lead.factor, column, lead.auc, lead.p_value, runs, visible=True, contrary=lead.contrary)


def _unseen(keys: list[str], runs: int, world: World, chance: random.Random) -> Iterator[RankedFactor]:
    """Factors whose link is no more than luck; there is always one, the order of the runs."""
    for key in dict.fromkeys([*keys, "run_order"]):
        column = world.known.factors[key].signals[0]
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


class RankFactorsTool(Tool[RankArguments, RankResult], run=run, title="Rank the factors", analyses=True):
    """Rank the factors that go with slow runs."""

    why = "test whether any factor goes with slow runs by more than luck"

    def legal(self, situation: Situation) -> Choices | None:
        """Once after each label."""
        return once_labelled(situation, self.name)

    def simulate(self, world: World, found: Findings, arguments: JsonArguments, chance: random.Random) -> RankResult:
        """Rank what goes with slow runs, and what does not."""
        stumble(world, chance)
        seen = found.last(ProfileResult).result
        (look, look_share), runs = look_of(found), seen.runs
        leads = shown(world, found)
        rest = chance.sample([key for key, factor in world.known.factors.items() if factor.signals], world.unseen)
        ranked = [_ranked(lead, runs, world) for lead in leads]
        ranked += _unseen([key for key in rest if key not in {lead.factor for lead in leads}], runs, world, chance)
        ranked.sort(key=lambda one: (not one.visible, one.visible and one.contrary, one.p_value))
        visible = any(one.suspect for one in ranked)
        return RankResult(
            visible=visible,
            p_value=min(one.p_value for one in ranked),
            factors=tuple(ranked),
            set_aside={},
            clusters=len(ranked),
            look=look,
            look_share=look_share,
            blocks=(
                BlockLooked(layers=seen.layers, runs=seen.runs, columns=seen.columns, clusters=len(ranked), share=1.0),
            ),
            filled={},
            uncounted=() if visible else world.without_counters(),
            summary=f"{'A' if visible else 'No'} visible factor.",
        )
