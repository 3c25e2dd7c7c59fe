"""What is to be recorded, and which mitigations that means."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated

from pydantic import Field

from ...knowledge.loader import Knowledge
from ...knowledge.schema import Mitigation
from ...knowledge.shape import Frozen
from ...tools.case import Case
from ...tools.look_up import first_ready
from ...tools.machine import Machine
from ...tools.mitigation.preconditions import beyond_reach, unmet
from ...tools.rank_factors import RankedFactor, RankResult
from ...tools.subject import Allow, Subject
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
    found = [factor for factor in ranking.factors if factor.suspect] if ranking else []
    return {one.factor: one.auc for one in found if one.factor in known.factors}


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
