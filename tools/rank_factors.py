"""rank_factors: which factors go with the slow runs, by more than the luck of looking at many.

Alpha is spent three ways. Over looks: where heavy layers wait for a second look, the first has 0.8 of alpha and the
second 0.2, so that looking again because nothing was found costs no false cause. Within a look a tenth goes to the
order of the runs, which the baseline has to confirm, and the rest is split over the blocks of rows that columns were
read in (Bonferroni): half for what every run has, half for all that only some runs have. Within a block `associate`
pays for every column and pair.

Simulated where nothing is linked (40 light columns, three heavy layers of 12, half of all columns growing with the run,
two heavy layers adding 0.01 and 0.03 s to runs of 0.2 s; 150 diagnoses each): a false cause in .013 and .053 of those
that look twice, on bimodal and on lognormal runs, and in .02 and .04 of those that rotate all layers in one look. Where
neighbouring runs depend on each other (AR(1), phi .6; 100 diagnoses), .09 and .03.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from .candidates import ORDER, Candidates, ColumnBlock, candidates, failing_candidates
from .case import Case
from .findings import Findings
from .ledger.ledger import Ledger, ledger_of
from .mpi.of_record import compared_ranks, places, ranked_runs
from .profiled import Profiled, baseline_p, profiled
from .ranking import BlockLooked, Failing, RankedFactor, RankResult, elsewhere
from .record import Arguments, Outcome
from .run_table import RunTable, described
from .statistics.association.columns import ColumnAssociation
from .statistics.association.drift import drift_of
from .statistics.association.factors import Association, associate
from .statistics.association.look import more_than_in_proportion
from .statistics.shape.describe import DRIFT_SHARE
from .statistics.values import BoolArray, r_squared, ranks_of
from .steps.look_up import uncounted
from .verdict import Placed

ORDER_SHARE = 0.1
"""Of alpha that the order of the runs may spend: a drift that matters is plain."""
FIRST_LOOK, SECOND_LOOK = 0.8, 0.2
"""Of alpha, where heavy layers wait for a second look; all of it goes to a look that is the only one."""
LEAST_EFFECT = 0.05
"""How far from 0.5 the AUC of a column that works alone must be; thousands of runs show less, which tells nothing."""
SPELL = "In the profiled runs slowness goes with their order, in the baseline it does not: a spell, not a drift."
SAMPLED = "Rows are samples: what all samples of a run share was taken out, so whole runs explain nothing here."
COMMON_SHARE = 0.5
"""Of what is left, for the columns that every run has, where other columns were read in some runs only."""
_AS_FOUND = ColumnAssociation.model_fields.keys() - {"p_value", "visible"}
"""Of a factor that keep their value whatever alpha a search was given."""


class RankArguments(Arguments):
    """Nothing to choose: the cut and the columns stand already."""


def run(arguments: RankArguments, case: Case) -> Outcome:
    """Rank the candidate columns of the last profile, and the order of its runs."""
    chosen = candidates(case)
    look, look_share = look_of(case.findings)
    searched, ranked = _searched(chosen, look_share * (1 - ORDER_SHARE), case)
    order, spell = _order(chosen, look_share, case)
    runs = (explained := profiled(case.findings)).table
    told, known = case.findings.slow_runs, case.knowledge.factors
    ledger = ledger_of(runs, case.subject, case.limits.seed, known, told=told)
    ranked = [_weighed(factor, ledger, runs, chosen.slow, case) for factor in ranked]
    factors = tuple(sorted([*ranked, order], key=_importance))
    visible = any(factor.suspect for factor in factors)
    p_value, groups = min(factor.p_value for factor in factors), sum(found.clusters for _, found in searched) + 1
    result = RankResult(
        visible=visible,
        p_value=p_value,
        factors=factors,
        set_aside=chosen.set_aside | {name: why for _, found in searched for name, why in found.set_aside.items()},
        clusters=groups,
        places=_places(explained, case),
        look=look,
        look_share=look_share,
        blocks=tuple(block for block, _ in searched),
        filled=chosen.filled,
        interactions=tuple(pair for _, found in searched for pair in found.interactions),
        uncounted=() if visible else uncounted(case, ledger),
        warnings=tuple(
            dict.fromkeys(
                [*[SAMPLED] * chosen.sampled, *spell, *(one for _, found in searched for one in found.warnings)]
            )
        ),
        failing=(failing := _failing(look_share, case)),
        ledger=ledger,
        summary=_summary(factors, visible, groups) + (f" {failing.words}" if failing else ""),
    )
    return Outcome(result)


def _searched(
    chosen: Candidates, share: float, case: Case
) -> tuple[list[tuple[BlockLooked, Association]], list[RankedFactor]]:
    searched, ranked = list[tuple[BlockLooked, Association]](), list[RankedFactor]()
    for block, part in zip(chosen.blocks, shares(chosen.blocks), strict=True):
        found = associated(block, share * part, case)
        searched.append((_looked(block, found, share * part), found))
        ranked += _ranked(found, block, share * part, case)
    return searched, ranked


def _places(runs: Profiled, case: Case) -> tuple[Placed, ...]:
    """Ranks or hosts that the slow runs go with; each of both is asked at the alpha of its own question."""
    return places(compared_ranks(runs, ranked_runs(runs), case.subject, case.limits), case.findings.hosts)


def _failing(look_share: float, case: Case) -> Failing | None:
    """Hold the same columns against failed or not; None where too few runs failed, or too few did not."""
    chosen = failing_candidates(case)
    if not chosen.blocks:
        return None
    searched, ranked = _searched(chosen, look_share, case)
    clusters = sum(found.clusters for _, found in searched)
    ranked = [one for block in chosen.blocks for one in _beyond_time(block, ranked, clusters / look_share, case)]
    return Failing(
        runs=chosen.slow.size,
        failed=int(chosen.slow.sum()),
        longer=float(np.median(chosen.wall_s[chosen.slow]) / np.median(chosen.wall_s[~chosen.slow])),
        p_value=min([1.0, *(factor.p_value for factor in ranked)]),
        clusters=clusters,
        factors=tuple(sorted((one for one in ranked if one.suspect), key=_importance)),
    )


def _beyond_time(
    block: ColumnBlock, ranked: Sequence[RankedFactor], price: float, case: Case
) -> Iterator[RankedFactor]:
    """Give the factors of a block; what is counted over a run has to be more, and more than in proportion to time."""
    columns = block.columns
    amounts = columns.values * np.where(columns.multiplied(), block.wall_s[:, None], 1.0)
    counted = columns.divided() | columns.multiplied()
    place_of = {name: place for place, name in enumerate(columns.names)}
    for one in ranked:
        if (place := place_of.get(one.column)) is None:
            continue
        if counted[place]:
            beyond = more_than_in_proportion(amounts[:, place], block.slow, block.wall_s) * price
            p_value = min(1.0, max(one.p_value, beyond))
            visible = one.visible and p_value <= case.limits.alpha and one.auc >= 0.5
            one = one.model_copy(update={"p_value": p_value, "visible": visible})
        yield one


def look_of(findings: Findings) -> tuple[int, float]:
    """Which look this is, and what it may spend of alpha."""
    if not findings.profiles[0].later:
        return 1, 1.0
    return (1, FIRST_LOOK) if len(findings.profiles) == 1 else (2, SECOND_LOOK)


def shares(blocks: Sequence[ColumnBlock]) -> list[float]:
    """Split alpha over blocks; the parts add up to 1."""
    common = sum(block.everywhere for block in blocks)
    others = len(blocks) - common
    if not (common and others):
        return [1 / len(blocks) for _ in blocks]
    return [COMMON_SHARE if block.everywhere else (1 - COMMON_SHARE) / others for block in blocks]


def associated(
    block: ColumnBlock, share: float, case: Case, permutations: int = 2000, explain: bool = True
) -> Association:
    """Search the columns of a block with this share of the case's alpha."""
    return associate(
        block.columns,
        block.slow,
        block.outcome,
        per=block.wall_s,
        per_name="run time",
        apart=block.sets,
        alpha=case.limits.alpha * share,
        permutations=permutations,
        seed=case.limits.seed,
        explain=explain,
    )


def _looked(block: ColumnBlock, found: Association, share: float) -> BlockLooked:
    columns, clusters = len(block.columns.names), found.clusters
    return BlockLooked(layers=block.layers, runs=block.slow.size, columns=columns, clusters=clusters, share=share)


def _importance(factor: RankedFactor) -> tuple[bool, bool, bool, float, float]:
    """What is visible first; of that, what mitigations could lower, and what tells something beside the others.

    Then what leaves the least spread if its largest state did not vary, to a tenth, and what has the least p-value.
    """
    harmless = factor.contrary or bool(factor.elsewhere)
    left = round(1.0 if factor.sd_left is None else factor.sd_left, 1)
    return not factor.visible, factor.visible and harmless, factor.independent is False, left, factor.p_value


def _contrary(column: str, auc: float, case: Case) -> bool:
    """Whether slow runs show less of a column of which less is better."""
    name = column.partition("=")[0]
    return auc < 0.5 and described([name], case.record.all_layers.values())[0].lower_is_better


def _pair_p_values(found: Association) -> dict[str, float]:
    """Least p-value of the visible pairs that a cluster belongs to: what only works with another is a factor too."""
    least: dict[str, float] = {}
    for pair in found.interactions:
        for name in (pair.first, pair.second):
            least[name] = min(pair.p_value, least.get(name, 1.0))
    return least


def _ranked(found: Association, block: ColumnBlock, share: float, case: Case) -> list[RankedFactor]:
    """Give each cluster of a block its p-value at the price of all blocks and looks."""
    together = _pair_p_values(found)
    ranked = []
    for one in found.factors:
        factor = case.knowledge.factor_of(one.column)
        p_value = min(1.0, min(one.p_value, together.get(one.name, 1.0)) / share)
        matters = one.name in together or abs(one.auc - 0.5) >= LEAST_EFFECT
        ranked.append(
            RankedFactor(
                **one.model_dump(include=_AS_FOUND),
                factor=factor.key if factor else one.column,
                auc_per_second=one.auc_per_unit,
                importance=one.importance or 0.0,
                stability=one.stability or 0.0,
                p_value=p_value,
                visible=p_value <= case.limits.alpha and matters,
                contrary=one.name not in together and _contrary(one.column, one.auc, case),
                runs=block.slow.size,
            )
        )
    return ranked


def _weighed(factor: RankedFactor, ledger: Ledger | None, runs: RunTable, slow: BoolArray, case: Case) -> RankedFactor:
    """Say of a factor that goes with slow runs what its states hold of it, or why it cannot be what makes them slow."""
    known = case.knowledge.factors.get(factor.factor)
    if not factor.visible or ledger is None or not ledger.material or known is None or not known.acts_on:
        return factor
    there = factor.column in runs.names  # no indicator of a setting
    column = described([factor.column], case.record.all_layers.values())[0] if there else None
    values = runs.column(factor.column) if there else np.zeros(slow.size)
    away = elsewhere(ledger, known.acts_on, column, values, slow)
    return factor.model_copy(update={"elsewhere": away, "sd_left": ledger.sd_left(known.acts_on)})


def _order(chosen: Candidates, look_share: float, case: Case) -> tuple[RankedFactor, list[str]]:
    """The order of the runs: `associate` takes it out of every column, so drift is tested here by itself.

    Profile and baseline have to show it, so the greater p-value counts (intersection-union); a spell of one is told.
    It matters where it makes such a share of the variance, of ranks, as a drift is told from.
    """
    drift = drift_of(chosen.common.columns, chosen.slow, chosen.wall_s, chosen.outcome, seed=case.limits.seed)
    factor = case.knowledge.factor_of(ORDER)
    order = np.arange(chosen.slow.size, dtype=np.float64)
    share = r_squared(order, ranks_of(chosen.outcome)) or 0.0
    profiled = min(1.0, drift.p_value / (ORDER_SHARE * look_share))
    p_value = max(profiled, baseline_p(case, later_is_worse=drift.auc > 0.5))
    found = RankedFactor(
        factor=factor.key if factor else ORDER,
        column=ORDER,
        members=(ORDER,),
        auc=drift.auc,
        auc_per_second=None,
        r2=r_squared(order, chosen.outcome),
        importance=drift.importance,
        stability=drift.stability,
        p_value=p_value,
        slow_median=float(np.median(order[chosen.slow])),
        fast_median=float(np.median(order[~chosen.slow])),
        visible=p_value <= case.limits.alpha and share >= DRIFT_SHARE,
        runs=chosen.slow.size,
    )
    return found, [SPELL] * (profiled <= case.limits.alpha < p_value)


def _summary(factors: tuple[RankedFactor, ...], visible: bool, groups: int) -> str:
    first = factors[0]
    if first.elsewhere:
        return f"No visible factor: {first.column} goes with slow runs, {first.association}, but {first.elsewhere}."
    if not visible and first.visible:
        return f"No visible factor: slow runs show less of {first.column}, {first.association}."
    if not visible:
        return f"No visible factor: {first.column} is the best of {groups} groups of counters, {first.association}."
    return f"{first.factor} ({first.column}) goes with slow runs: {first.association}."
