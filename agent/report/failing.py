"""Failed runs: how many, what they said last, what goes with failing, and under which mitigation it changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from ...tools.failures import FailedArms, Failures, failed_words
from ...tools.mitigation.preconditions import unmet
from ...tools.ranking import Failing, RankedFactor
from ...tools.results import MeasureResult, ProfileResult
from ...tools.statistics.values import LEAST_IN_CLASS
from ...tools.trial_results import ApplyResult
from ..again import again
from .evidence import Evidence, unit
from .numbers import number, p_value, quantity, ratio


def headline(evidence: Evidence) -> Iterator[str]:
    """What goes with failing, and which mitigation changes how often the program fails, where that is known."""
    if found := _failing(evidence):
        names = ", ".join(_name(one, evidence) for one in found.first)
        goes = f"with failing goes {names}" if names else "nothing that was counted goes with failing"
        failures = _together([one for profile in evidence.profiles for one in profile.failures])
        what = f" ({'most often ' * (len(failures) > 1)}{failures[0].reason})" if failures else ""
        yield f"{number(found.failed)} of {number(found.runs)} profiled runs failed{what}, and {goes}."
    yield from of_mitigations(evidence)


def of_mitigations(evidence: Evidence) -> Iterator[str]:
    """Name mitigations under which it fails more or less often."""
    for key, arms in _claimed(evidence).items():
        yield f"Under {key} it {arms.words}."


def under(evidence: Evidence) -> dict[str, Any]:
    """Mitigation to how often the program failed under it and without it, in the last of its batches."""
    last = {one.applied.mitigation: one.compared.failing for one in evidence.batches if one.compared}
    return {key: arms.model_dump(mode="json") for key, arms in last.items() if arms}


def remarks(evidence: Evidence) -> Iterator[str]:
    """Tell of failures in one remark; none where no run failed."""
    if told := " ".join(sentences(evidence)):
        yield told


def sentences(evidence: Evidence) -> Iterator[str]:
    """Count what failed, with the last line that it said, and say what goes with failing."""
    measured = evidence.measured
    if measured is None:
        return
    sound = [batch.applied for batch in evidence.batches if not batch.applied.broke]
    steps: list[MeasureResult | ProfileResult | ApplyResult] = [measured, *evidence.profiles, *sound]
    failed = sum(one.failed for one in steps)
    if not failed:
        return
    failures = [failure for one in steps for failure in one.failures]
    what = f" ({failed_words(_together(failures))})" if failures else ""
    runs = "1 run" if failed == 1 else f"{number(failed)} runs"
    yield f"{runs} failed and count{'s' * (failed == 1)} nowhere{what}."
    found = _failing(evidence)
    if found:
        yield from _explained(found, evidence)
        return
    yield "Check that what makes them fail is not what makes runs slow."
    if evidence.profiles:
        yield f"To say what goes with failing, a profile needs {LEAST_IN_CLASS} failed runs and as many others."


def _together(failures: Sequence[Failures]) -> tuple[Failures, ...]:
    """Add up those of one reason."""
    runs = Counter[str]()
    for one in failures:
        runs[one.reason] += one.runs
    return tuple(Failures(reason=reason, runs=count) for reason, count in runs.most_common())


def _failing(evidence: Evidence) -> Failing | None:
    """The last look that had enough failed runs."""
    looks = [ranking.failing for ranking in evidence.rankings if ranking.failing]
    return looks[-1] if looks else None


def _explained(found: Failing, evidence: Evidence) -> Iterator[str]:
    times = number(found.longer, 2)
    longer = "as long as" if times == "1" else f"{times} times as long as"
    failed = f"{number(found.failed)} failed, and took {longer} the others (medians)"
    yield f"Of {number(found.runs)} profiled runs {failed}."
    if not found.factors:
        yield (
            f"None of {number(found.clusters)} groups of counters goes with failing by more than luck "
            f"({p_value(found.p_value)})."
        )
        return
    for factor in found.first:
        shown = unit(factor.column, evidence.columns)
        yield (
            f"Failed runs have {'more' if factor.auc >= 0.5 else 'less'} {factor.column}: median "
            f"{quantity(factor.slow_median, shown)}, others {quantity(factor.fast_median, shown)}, "
            f"AUC {ratio(factor.auc, factor.auc_low, factor.auc_high)}, family-wise {p_value(factor.p_value)}."
        )
        yield from _known(factor, evidence)
    yield "That goes with failing; it may be what makes a run fail, or what a run does as it fails."


def _known(factor: RankedFactor, evidence: Evidence) -> Iterator[str]:
    """What the knowledge base says, and what would tell a cause: a mitigation under which it fails less."""
    run, known = evidence.run, evidence.run.knowledge.factors.get(factor.factor)
    if known is None:
        return
    yield f"{known.name}: {known.description.partition('. ')[0].strip().rstrip('.')}."
    ready = (run.knowledge.mitigations[key] for key in known.mitigations)
    for one in (one for one in ready if one.apply and not unmet(one.applies, run.machine, run.subject, None)):
        yield f"`{again('try', (one.key,), run.subject)}` tells whether it fails less then."
        return


def _name(factor: RankedFactor, evidence: Evidence) -> str:
    known = evidence.run.knowledge.factors.get(factor.factor)
    return f"{known.name.lower()} ({factor.column})" if known else factor.column


def _claimed(evidence: Evidence) -> dict[str, FailedArms]:
    """Mitigations under which it fails more or less often, by the last batch that shows it."""
    found = ((one.applied.mitigation, one.compared.failing) for one in evidence.batches if one.compared)
    return {key: arms for key, arms in found if arms and arms.claim}
