"""Which remedy the record supports: the best that is proved, else what came of every mitigation that was tried."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Literal

from ..knowledge.loader import Knowledge
from .case import Case, changes_system
from .claim import PRICE, Claim, TooFew, interval
from .comparison import direction
from .findings import CallResult, Findings
from .record import Record
from .trial_results import ApplyResult, CompareResult, ScreenResult, stopped_early
from .verdict import Confirmed, NotTried, Observed, Refuted, Remedy, TriedRemedy, Undecided

DENIED = "not approved"
"""How the error of a call begins that nobody approved."""


def costly(mean: float, lower_is_better: bool) -> bool:
    """Tell whether a ratio of means is a price: more than 5 % worse."""
    return mean > PRICE if lower_is_better else mean < 1 / PRICE


def price(mean: Claim, lower_is_better: bool) -> Literal["shown", "excluded", "open"]:
    """Tell whether a mean surely is such a price, surely is none, or may be one: by its interval."""
    low, high = mean.low, math.inf if mean.high is None else mean.high
    best, worst = (low, high) if lower_is_better else (1 / high if high else math.inf, 1 / low if low else math.inf)
    return "shown" if best > PRICE else "excluded" if worst <= PRICE else "open"


def remedy(case: Case) -> Remedy:
    """Read the record from the strongest statement down to the weakest."""
    return _confirmed(case) or _observed(case) or _unproved(case)


def not_accepted(record: Record, knowledge: Knowledge) -> dict[str, str]:
    """Mitigations that were denied and change a promise, with it."""
    denied = (call.mitigation for call in record.calls if call.error.startswith(DENIED))
    known = knowledge.mitigations
    return {key: known[key].changes_promise for key in denied if key in known and known[key].changes_promise}


def _decides(compared: CallResult[CompareResult], case: Case) -> Claim | TooFew:
    """The claim of what was asked for: of a batch that confirms, in its family."""
    found = compared.result.comparison
    if case.plan.search and case.plan.search.minimise == "mean":
        return found.claims["mean"]
    return case.findings.confirmations.get(str(compared.call.arguments["call"]), found.spread)


def _helps(case: Case) -> Literal["less", "more"]:
    """What of the measure that decides would help."""
    of_mean = case.plan.search is not None and case.plan.search.minimise == "mean"
    return "more" if of_mean and not case.subject.lower_is_better else "less"


def _shows(claim: Claim | TooFew, case: Case) -> bool:
    return direction(claim) == _helps(case)


def _confirmed(case: Case) -> Confirmed | None:
    """The best mitigation that an independent batch confirms; one with a price only where no other is confirmed."""
    second = [(one, _decides(one, case)) for one in case.findings.ended(CompareResult) if one.result.batch == 2]
    proved = [(one, claim) for one, claim in second if isinstance(claim, Claim) and _shows(claim, case)]

    def order(one: tuple[CallResult[CompareResult], Claim]) -> tuple[bool, float]:
        mean = one[0].result.comparison.described.ratio("mean").value
        return mean is not None and costly(mean, case.subject.lower_is_better), one[1].high or 0.0

    if not proved:
        return None
    compared, claim = min(proved, key=order)
    applied = {batch.applied.mitigation: batch.applied for batch in case.findings.batches}[compared.result.mitigation]
    done = not case.plan.mitigation and case.findings.reached(case.limits.target_ratio)
    return Confirmed(**_claimed(compared, claim, case), command=applied.command, untried=() if done else case.no_time)


def _observed(case: Case) -> Observed | None:
    """A later series is claimed to scatter less than the one before the change."""
    for compared in case.findings.ended(CompareResult):
        spread = compared.result.comparison.spread
        if compared.result.batch == 0 and isinstance(spread, Claim) and spread.direction == "less":
            return Observed(**_claimed(compared, spread, case))
    return None


def _claimed(compared: CallResult[CompareResult], claim: Claim, case: Case) -> dict[str, Any]:
    call, result = compared
    known = case.knowledge.mitigations.get(result.mitigation)
    return {
        "mitigation": result.mitigation,
        "values": case.findings.values_of(case.plan) if case.plan.mitigation else {},
        "claim": claim,
        **{
            name: other
            for name, other in result.comparison.claims.items()
            if name != "spread" and isinstance(other, Claim)
        },
        "comparison": call.call_id,
        "promise": known.changes_promise if known else "",
    }


def _unproved(case: Case) -> Remedy:
    declined = _declined(case.findings)
    trials = list(_trials(case))
    undecided = tuple(one for one in trials if not one.refuted_by and _leaves_open(one))
    waiting = _waiting(case)
    untried = waiting or (case.no_time if undecided or not (trials and case.plan.mitigation) else ())
    if undecided or untried:
        ended_by = "planner" if waiting else "budget" if untried or _cut_short(case) else "pairs"
        return Undecided(undecided=undecided, untried=untried, ended_by=ended_by, declined=declined)
    if trials:
        return Refuted(trials=tuple(trials), declined=declined)
    if case.plan.mitigation and not (why := _why_not_of_plan(case)):
        return Undecided(untried=(case.plan.mitigation,))
    return NotTried(why=why if case.plan.mitigation else _why_not(case), declined=declined)


def _leaves_open(trial: TriedRemedy) -> bool:
    """A help that matters is neither shown by two batches nor excluded."""
    if trial.less or trial.claim is None:
        return trial.less
    return (
        isinstance(trial.claim, TooFew)
        or trial.claim.direction == "undecided"
        and not trial.claim.excludes(trial.helps)
    )


def _cut_short(case: Case) -> bool:
    """Tell whether the budget left a batch with fewer pairs than it was to have."""
    return any(
        one.pairs + one.failed < int(call.arguments["pairs"]) and not one.broke and not stopped_early(one.looks)
        for call, one in case.findings.ended(ApplyResult)
        if one.in_force
    )


def _trials(case: Case) -> Iterator[TriedRemedy]:
    """Every mitigation that was compared, or that showed itself harmful before, in the order of the trials."""
    found, compared = case.findings, case.findings.ended(CompareResult)
    harm, values = found.broken, found.values_of(case.plan) if case.plan.mitigation else {}
    for key in dict.fromkeys((*(one.result.mitigation for one in compared), *harm)):
        claims = [_decides(one, case) for one in compared if one.result.mitigation == key]
        less = any(_shows(claim, case) for claim in claims)
        last = claims[-1] if claims else None
        yield TriedRemedy(
            mitigation=key, values=values, claim=last, less=less, helps=_helps(case), refuted_by=harm.get(key, "")
        )
    if found.screened and not compared and found.screened.best is None:
        yield from _screened(found.screened, case)


def _screened(screened: ScreenResult, case: Case) -> Iterator[TriedRemedy]:
    """Give the level, of those that were run to the end, that leaves a help open, or comes nearest to one.

    Where a help that matters is excluded for each of them at alpha, it is for all (an intersection-union test).
    """
    ran = [level for level in screened.levels if level.claim is not None and level.summary is not None]
    trials = [
        TriedRemedy(
            mitigation=case.plan.mitigation,
            values={**case.plan.values, screened.parameter: level.level},
            claim=level.claim,
            less=level.claim is not None and _shows(level.claim, case),
            helps=_helps(case),
        )
        for level in [level for level in ran if not level.dropped] or ran
    ]
    nearest = min(trials, key=lambda one: (not _leaves_open(one), _distance(one)), default=None)
    if nearest is None:
        return
    if _leaves_open(nearest) or len(ran) == 1 or not isinstance(nearest.claim, Claim):
        yield nearest
        return
    which = f"the nearest, {nearest.values[screened.parameter]}, has the {nearest.claim.measure} ratio"
    none = f"has no level of {screened.parameter} that helps ({which} {interval(nearest.claim)})"
    yield nearest.model_copy(update={"values": dict(case.plan.values), "refuted_by": none})


def _distance(trial: TriedRemedy) -> float:
    """The ratio that was seen, where a smaller one is nearer to a help; infinite where none was."""
    ratio = trial.claim.ratio if isinstance(trial.claim, Claim) else None
    return math.inf if ratio is None else ratio if trial.helps == "less" else -ratio


def _waiting(case: Case) -> tuple[str, ...]:
    """What a planner could have tried and did not, in words; empty where it went on to the end."""
    if case.plan.mitigation:
        return ()
    return tuple(key if batch == 1 else f"a second batch of {key}" for key, batch in sorted(case.applicable))


def _declined(found: Findings) -> tuple[str, ...]:
    """Name what could be tried here and was not, since the user has said: no system change in this diagnosis."""
    if not found.record.no_system:
        return ()
    refused = (one.mitigation for one in found.offered if changes_system(one.scope))
    return tuple(dict.fromkeys(key for key in refused if key not in found.applied))


def _why_not_of_plan(case: Case) -> str:
    """Say what kept the chosen mitigation from being tried; empty where that was the budget."""
    screened = case.findings.screened
    if screened and screened.best is None:
        return f"no level of {screened.parameter} could be tried ({screened.levels[0].dropped})"
    if applied := [one.applied for one in case.findings.batches if not one.applied.in_force]:
        return applied[-1].summary.rstrip(".")
    tools = ("apply_mitigation", "screen_levels", "apply_by_hand")
    errors = [call for call in case.record.calls if call.tool in tools and call.error]
    why = errors[-1].error.rstrip(".") if errors else ""
    if any(call.tool == "apply_by_hand" for call in errors):
        return f"{case.plan.mitigation} is for a person to apply ({why}); go on with `vgo-agent try --after RUN`"
    return why


def _why_not(case: Case) -> str:
    """Say why a diagnosis compared no mitigation."""
    found = case.findings
    if case.limits.allow == "none":
        return "--allow none forbids it"
    if found.refusals:
        return f"what was to be tried was refused ({found.refusals[0].error.rstrip('.')})"
    if found.batches:
        return found.batches[0].applied.summary.rstrip(".")
    reasons = [unmet for result in found.looked_up for one in result.candidates for unmet in one.unmet]
    return f"none can be tried here ({reasons[0].rstrip('.')})" if reasons else "no setting is known that shortens it"
