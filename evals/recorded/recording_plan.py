"""What is to be recorded, and which mitigations that means."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, NamedTuple

from pydantic import Field

from ...knowledge.errors import VgoError
from ...knowledge.loader import Knowledge
from ...knowledge.schema import Mitigation
from ...knowledge.shape import Frozen
from ...tools.case import Case
from ...tools.execution.bench import Bench
from ...tools.execution.series import Series
from ...tools.execution.way import try_once
from ...tools.experiment.conditions import AppliedConditions
from ...tools.experiment.experiment import Experiment, carry_out
from ...tools.experiment.schedules import Crossover, bare_runs
from ...tools.machine import Machine
from ...tools.mitigation.preconditions import beyond_reach, unmet
from ...tools.ranking import RankedFactor, RankResult
from ...tools.row import BASELINE
from ...tools.steps.apply_mitigation import BATCH_PAIRS
from ...tools.steps.look_up import first_ready
from ...tools.subject import Allow, Subject
from .bench import BATCHES, SHARE
from .schema import Key, Truth


class RecordingPlan(Frozen):
    """Kept beside the rows, so that a recording that was cut off goes on as it began."""

    key: Key
    subject: Subject
    workload: str = ""
    """Name of the workload that is run; empty: a program of the user."""
    steady: bool = False
    runs: Annotated[int, Field(ge=10, le=100_000)] = 400
    """Of the baseline, and profiled ones with each set of layers."""
    pairs: Annotated[int, Field(ge=2, le=10_000)] = 400
    """Of each mitigation."""
    layers: tuple[str, ...] = ("auto",)
    """auto: the light ones that there are."""
    allow: Allow = "process"
    mitigations: tuple[str, ...] = ()
    """To be recorded besides those that are by default."""
    causes: tuple[str, ...] = ()
    """Factors whose mitigations are recorded, found or not."""
    placebos: tuple[str, ...] = ()
    """Mitigations whose pairs are recorded with nothing applied."""
    minutes: Annotated[float, Field(gt=0)] | None = None
    """That it may take; None: as long as the runs and pairs take."""
    every: bool = False
    """All that the tool can apply."""
    made_by: str


def untold(case: Case, uncounted: Iterable[str]) -> tuple[str, ...]:
    """Name what a diagnosis tries where no counter tells it what to try."""
    return tuple(filter(None, (first_ready(case.knowledge.factors[key], case) for key in uncounted)))


def wanted(
    asked: RecordingPlan, truth: Truth | None, found: Iterable[RankedFactor], blind: Sequence[str], known: Knowledge
) -> list[Mitigation]:
    """Name what is to be recorded: of the truth, of the user, and of the factors that are true or were found."""
    named = [*(truth.accepted + truth.must_not_help if truth else ()), *asked.mitigations, *asked.placebos, *blind]
    factors = [*(truth.causes if truth else ()), *asked.causes, *(factor.factor for factor in found)]
    of_factors = [key for name in factors if name in known.factors for key in known.factors[name].mitigations]
    rest = known.mitigations if asked.every else ()
    by_tool = [key for key in (*of_factors, *rest) if known.mitigations[key].apply is not None]
    return [known.mitigations[key] for key in dict.fromkeys((*named, *by_tool))]


def visible(ranking: RankResult | None, known: Knowledge) -> dict[str, float]:
    """Name the factors that may make runs slow, by what was profiled: most important first, with their AUC."""
    return {one.factor: one.auc for one in (ranking.suspects if ranking else ()) if one.factor in known.factors}


def obstacles(
    mitigation: Mitigation, machine: Machine, subject: Subject, busy_cpus: float | None, allow: Allow
) -> Iterator[str]:
    """Say why a mitigation cannot be recorded here, with the cure."""
    if mitigation.apply is None:
        yield "a person has to do it"
    yield from unmet(mitigation.applies, machine, subject, busy_cpus)
    yield from beyond_reach(mitigation, machine, subject)
    if allow == "none":
        yield "--allow none forbids every mitigation: leave it out"
    elif mitigation.scope != "process" and allow != "system":
        yield f"it changes more than the program (scope {mitigation.scope}): allow it with --allow system"


def telling_columns(
    mitigation: Mitigation, truth: Truth | None, found: Iterable[RankedFactor], known: Knowledge
) -> tuple[str, ...]:
    """Columns, or patterns of them, that pairs keep: what the mitigation moves, and what shows a cause."""
    causes = truth.causes if truth else ()
    signals = [signal for key in causes for signal in known.factors[key].signals]
    visible = [factor.column.partition("=")[0] for factor in found]
    return tuple(dict.fromkeys((*mitigation.moves, *signals, *visible)))


TRIALS, TRIALS_S = 3, 30.0
"""Trial runs, and the seconds after which there is no further one."""


def trial_s(bench: Bench, subject: Subject) -> float:
    """Run outside the data: a broken command is told at once; give the usual seconds of a run."""
    times: list[float] = []
    while len(times) < TRIALS and sum(times) < TRIALS_S:
        began = time.monotonic()
        try_once(bench.spawner, bench.way(bench.launch), subject)
        times.append(time.monotonic() - began)
    return statistics.median(times)


def series_name(mitigation: str) -> str:
    """Name the series of a mitigation's pairs."""
    return f"pairs-{mitigation}"


def run_pairs(series: Series, conditions: AppliedConditions, mitigation: str, pairs: int, block: int) -> str:
    """Run all pairs in random order, no look between; say so where the program cannot run under the mitigation."""
    schedule = Crossover((BASELINE, mitigation), pairs, f"recording:{mitigation}", block)
    try:
        carry_out(Experiment(conditions, schedule), series)
    except VgoError as error:
        last = series.rows[-1] if series.rows else None
        if last and last["condition"] == mitigation and not last["ok"]:
            return f"the program fails under it: {error}"
        raise
    return ""


MINUTE_S = 60.0
FLOOR = BATCHES * BATCH_PAIRS
"""Pairs: with fewer, one batch is no longer what a diagnosis asks for at least."""
FEW = 8
"""Mitigations that are counted on before it is known which ones there will be."""


class Sizes(NamedTuple):
    """Of one recording."""

    runs: int
    """Of the baseline, and profiled ones."""
    pairs: int
    """With each mitigation."""

    def minutes(self, run_s: float, mitigations: int) -> float:
        """All runs, at so many seconds each: baseline, profiled, bare ones between, two for each pair."""
        runs = 2 * self.runs + bare_runs(self.runs, self.runs) + 2 * self.pairs * mitigations
        return runs * run_s / MINUTE_S


def fitted(asked: Sizes, minutes: float, run_s: float, mitigations: int, refuse: bool) -> Sizes:
    """Scale down to what fits, with the runs that so many pairs allow a diagnosis; stop at the floor, or refuse.

    Raises VgoError where it refuses.
    """
    if asked.minutes(run_s, mitigations) <= minutes:
        return asked
    least = _sizes(min(FLOOR, asked.pairs))
    one = _sizes(asked.pairs)
    pairs = min(asked.pairs, math.floor(asked.pairs * minutes / one.minutes(run_s, mitigations)))
    if pairs < least.pairs and refuse:
        raise VgoError(
            f"--minutes {minutes:g}: {least.runs} runs and {least.pairs} pairs with {mitigations} mitigations take "
            f"about {least.minutes(run_s, mitigations):.0f} minutes, and fewer show nothing: give more, or "
            "a smaller input."
        )
    pairs = max(pairs, least.pairs)
    return Sizes(min(asked.runs, _sizes(pairs).runs), pairs)


def words(sizes: Sizes, run_s: float, mitigations: int) -> str:
    """Say what it will take, and what pairs of that number can show."""
    batch = sizes.pairs // BATCHES
    # From the SD ratio of two normal samples to an end of its 95 % interval: var(ln s) is 1 / (2 (n - 1)).
    width = math.exp(1.96 / math.sqrt(max(batch, 2) - 1))
    return (
        f"About {sizes.minutes(run_s, mitigations):.1f} minutes at {run_s:.3g} s a run: {sizes.runs} runs of the "
        f"baseline, as many profiled, and {sizes.pairs} pairs with each of {mitigations} mitigations. A diagnosis of "
        f"it has {batch} pairs a batch, in which only an SD ratio below about {1 / width:.2f} can be proved."
    )


def _sizes(pairs: int) -> Sizes:
    """So many pairs, and the runs that the limits of the case then allow a diagnosis."""
    return Sizes(math.ceil(pairs / BATCHES / SHARE), pairs)
