"""What a reader should be warned of, and what the shape of the baseline says, one sentence each."""

from __future__ import annotations

from collections.abc import Iterator

from ...tools.claim import interval
from ...tools.machine import busy_words
from ...tools.remedies import price
from ...tools.results import MeasureResult
from ...tools.statistics.shape.describe import DistributionShape
from ...tools.verdict import helpful
from . import factors, failing, ranks
from .evidence import Evidence
from .numbers import number, percent, quantity

LINKED = 0.3
"""Correlation of neighbouring runs above which their number says less than it seems."""


def warnings(evidence: Evidence) -> tuple[str, ...]:
    """Advise on what may weaken the result, each with what to do about it."""
    sources = (
        failing.remarks,
        _of_hosts,
        ranks.remarks,
        _of_runs,
        factors.remarks,
        _of_looking,
        _of_machine,
        _of_effect,
    )
    return tuple(remark for source in sources for remark in source(evidence))


def findings(measured: MeasureResult, unit: str) -> tuple[str, ...]:
    """Say what the order and the form of the baseline show."""
    told = measured.hosts.sentences if measured.hosts else ()
    return (*told, *_of_order(measured, measured.shape), *of_form(measured.shape, unit))


def _of_hosts(evidence: Evidence) -> Iterator[str]:
    """What to do about a slow one is among the next steps."""
    if found := evidence.hosts:
        yield from (line for line in found.sentences if line not in found.drain)


def _of_looking(evidence: Evidence) -> Iterator[str]:
    """What our own process took of slow runs, which is no finding about them."""
    ledger = evidence.ledger
    for one in ledger.material if ledger else ():
        largest = ledger.cause_of(one.state) if ledger and ledger.by_looking(one.state) else None
        if largest and largest.recognised:
            yield f"Slow runs take {number(one.gap_ms, 3)} ms more {largest.words}. {largest.recognised.cure}"


def _of_runs(evidence: Evidence) -> Iterator[str]:
    measured, limits = evidence.measured, evidence.run.limits
    if measured is None:
        return
    if evidence.run.subject.per_iteration is not None:
        yield (
            f"Each line that the program printed is a sample, {number(measured.processes)} runs gave the baseline's: "
            "what counts runs here counts samples, and what all samples of a run share explains nothing."
        )
    if measured.launcher and measured.launcher.words:
        yield measured.launcher.words
    if measured.survivors:
        yield (
            f"The runs left {number(measured.survivors)} processes behind, which were ended: "
            "let the program wait for its children, or their work falls into later runs."
        )
    if measured.stopped_by == "run cap" and not measured.unusable:
        asked = int(evidence.last(MeasureResult).call.arguments.get("max_runs", limits.max_runs))
        cure = "raise --max-runs" if asked >= limits.max_runs else "the planner asked for no more"
        yield f"Measuring stopped at {asked} runs before {_goal(measured)}: {cure}."
    if measured.stopped_by == "time cap" and not measured.unusable:
        yield f"Measuring stopped for time before {_goal(measured)}: raise --budget."
    if measured.shape.drift:
        yield "The level of the baseline drifts with time: let the machine settle and measure again."


def _goal(measured: MeasureResult) -> str:
    return "the spread was known" if measured.stop_rule == "spread" else f"the rule {measured.stop_rule} was met"


def _of_machine(evidence: Evidence) -> Iterator[str]:
    machine = evidence.run.machine
    if busy := busy_words(machine.load_1min, len(machine.cpus), own=1.0):  # the program itself has been running
        yield busy


def _of_effect(evidence: Evidence) -> Iterator[str]:
    yield from dict.fromkeys(told for batch in evidence.batches for told in batch.applied.told)
    if (proof := helpful(evidence.verdict)) is None:
        return
    mean, cv = proof.mean, proof.cv
    if mean and price(mean, evidence.run.subject.lower_is_better) == "shown":
        yield f"It has a price: the mean is {interval(mean)} times the baseline's."
    if cv and cv.direction != "less":
        yield f"The spread may have fallen with the mean only: the CV is {interval(cv)} times the baseline's."
    batch = evidence.confirming
    fallen = batch.compared.moved if batch and batch.compared else ()
    if fallen and not any(moved.fell for moved in fallen):
        names = "; ".join(f"{moved.column} {moved.words}" for moved in fallen)
        yield f"It helps, but not shown by way of the factor ({names}): it may work in another way than thought."


def _of_order(measured: MeasureResult, shape: DistributionShape) -> Iterator[str]:
    if measured.warm_up:
        first = "1 run" if measured.warm_up == 1 else f"{number(measured.warm_up)} runs"
        yield f"The first {first} differ from all later ones (warm-up) and are left out."
    if shape.drift:
        yield "The level shifts with the order of the runs (drift)."
    if shape.lag1 is not None and shape.lag1 > LINKED:
        rho = number(shape.lag1, 2)
        yield f"Neighbouring runs resemble each other (rank correlation {rho}): slowness comes in spells."


def of_form(shape: DistributionShape, unit: str) -> Iterator[str]:
    """Say what the form of a distribution shows."""
    if len(shape.modes) > 1:
        modes = (f"{quantity(mode.position, unit)} ({percent(mode.weight, 2)} of the runs)" for mode in shape.modes)
        yield f"There are {len(shape.modes)} modes: {', '.join(modes)}."
    tails = [name for name, heavy in (("right", shape.right_tail), ("left", shape.left_tail)) if heavy]
    if tails:
        yield f"The {' and the '.join(tails)} tail is heavier than a normal law's."
    if shape.all_equal:
        yield "All runs gave the same outcome."
    elif shape.clock_too_coarse:
        yield f"The clock of the outcome is too coarse: it steps by {quantity(shape.resolution, unit)}."
    elif shape.resolution is not None:
        yield f"The outcome has a grain: it steps by {quantity(shape.resolution, unit)}."
