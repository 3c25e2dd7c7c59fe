"""conclude: the verdict, computed from the record alone; no planner can choose it."""

from __future__ import annotations

from collections.abc import Sequence

from .apply_mitigation import ApplyResult
from .base import Arguments, Outcome
from .candidates import LEAST_IN_CLASS
from .case import Case, Finished, Record, changes_system
from .claim import Claim
from .compare import CompareResult, confirmations, reached
from .conclude_plan import broken, concluded_by_hand, concluded_plan
from .failures import failed_words
from .look_up import LookUpResult
from .measure import MeasureResult
from .profile import ProfileResult
from .rank_factors import RankedFactor, RankResult
from .verdicts import ConcludeResult as ConcludeResult
from .verdicts import Verdict as Verdict
from .verdicts import brings, costly, listed, with_claims
from .verdicts import say as _say

DENIED = "not approved"
"""How the error of a call begins that nobody approved."""
LOOKING = ("profile", "label", "fit_tree", "rank_factors")
"""Steps between the baseline and a factor, in their order."""


class ConcludeArguments(Arguments):
    """Nothing to choose."""


def run(arguments: ConcludeArguments, case: Case) -> Outcome:
    """Read the record from the strongest statement down to the weakest."""
    if case.plan.mitigation:
        return Outcome(_with_refuted(_with_ran_out(concluded_plan(case), case), case))
    found = _early(case) or _mitigated(case) or _by_hand(case) or _unmitigated(case)
    looked = found.verdict != "inconclusive" or bool(case.record.succeeded("rank_factors"))
    early = bool(case.applicable) if looked else bool(case.left & set(LOOKING))
    if found.verdict != "mitigated" and (refused := declined(case.record)):
        said = f"Not tried, since you wanted no system change: {', '.join(refused)}."
        found = found.model_copy(update={"reason": f"{found.reason} {said}"})
    found = found.model_copy(update={"early": early and found.verdict != "mitigated"})
    return Outcome(_with_refuted(_short_of_time(found, case), case))


def _with_refuted(found: ConcludeResult, case: Case) -> ConcludeResult:
    """Add what was refuted since it harmed the program, and what promises are in question."""
    known = case.knowledge.mitigations
    named = known.get(found.mitigation or "")
    helped = found.verdict in ("mitigated", "steadier afterwards")
    return found.model_copy(
        update={
            "broke": broken(case.record),
            "changes_promise": named.changes_promise if named and helped else "",
            "not_accepted": not_accepted(case),
        }
    )


def not_accepted(case: Case) -> dict[str, str]:
    """Mitigations that were denied and change a promise, with it."""
    denied = (str(call.arguments.get("mitigation")) for call in case.record.calls if call.error.startswith(DENIED))
    known = case.knowledge.mitigations
    return {key: known[key].changes_promise for key in denied if key in known and known[key].changes_promise}


def _with_ran_out(found: ConcludeResult, case: Case) -> ConcludeResult:
    return found.model_copy(update={"ran_out": _ran_out(found, case)})


def _short_of_time(found: ConcludeResult, case: Case) -> ConcludeResult:
    """Name what the budget ended before."""
    left = _ran_out(found, case)
    if not left:
        return found
    ended = f"the budget of {case.limits.budget_s:g} s ran out before {listed(left)} could be tried"
    looked = found.verdict == "mitigated" or not case.record.succeeded("profile")
    reason = found.reason if looked else f"{found.reason.rstrip('.')}; {ended}."
    return found.model_copy(update={"ran_out": left, "reason": reason})


def _ran_out(found: ConcludeResult, case: Case) -> tuple[str, ...]:
    """What more time would be for; nothing where the target is reached or nothing can be said."""
    settled = found.verdict in ("insufficient data", "nothing to reduce", "did not help")
    done = found.verdict == "mitigated" and reached(case.record, case.limits.target_ratio)
    return () if settled or done else case.no_time


def _early(case: Case) -> ConcludeResult | None:
    """Verdicts that need no mitigation."""
    record = case.record
    measured = record.succeeded("measure")
    if not measured:
        return _say("insufficient data", "Nothing was measured.", ())
    baseline = measured[-1].read(MeasureResult)
    if baseline.unusable:
        return _say("insufficient data", baseline.unusable, measured[-1:])
    if baseline.steady:
        cv = 100 * abs(baseline.outcome.cv or 0.0)
        limit = 100 * case.limits.steady_cv
        said = f"The CV is {cv:.2g} %, at or below {limit:g} %{_but_fails(baseline)}."
        return _say("nothing to reduce", said, (measured[-1], *record.succeeded("rank_factors")))
    ranked = record.succeeded("rank_factors")
    if not ranked and (hiding := _hiding(record)):
        return _say("inconclusive", hiding, (measured[-1], *record.succeeded("profile")))
    if not ranked:
        return _say("inconclusive", _not_looked(case), measured[-1:])
    looks = [call.read(RankResult) for call in ranked]
    if not looks[-1].visible:
        reason = _nothing(looks, case.limits.alpha) + _tried_blindly(record)
        rest = (*record.succeeded("look_up"), *record.succeeded("compare"))
        verdict: Verdict = "no visible factor" if any(look.blocks for look in looks) else "inconclusive"
        return _mitigated(case) or _say(verdict, reason, (measured[-1], *ranked, *rest))
    return None


def _but_fails(baseline: MeasureResult) -> str:
    whole = baseline.processes or baseline.runs + baseline.warm_up + baseline.failed
    return f"; but {baseline.failed} of {whole} runs failed ({failed_words(baseline.failures)})" * bool(baseline.failed)


def _not_looked(case: Case) -> str:
    """Say why no factor was looked at: a planner may end while it could go on."""
    if next_steps := [tool for tool in LOOKING if tool in case.left]:
        return f"The planner ended before it looked at any factor ({next_steps[0]} was next); take --planner rules."
    return f"The budget of {case.limits.budget_s:g} s ran out before any factor was looked at; raise --budget."


def _tried_blindly(record: Record) -> str:
    """Name what was tried although no counter pointed at it."""
    compared = (call.read(CompareResult).mitigation for call in record.succeeded("compare"))
    tried = dict.fromkeys((*compared, *broken(record)))
    return f" Tried all the same, and not proved to help: {', '.join(tried)}." if tried else ""


def _nothing(looks: Sequence[RankResult], alpha: float) -> str:
    first, p_value = looks[-1].factors[0], min(look.p_value for look in looks)
    if not any(look.blocks for look in looks):
        return (
            f"Only {first.runs} runs were profiled, and a counter is looked at in at least {LEAST_IN_CLASS} slow and "
            f"{LEAST_IN_CLASS} fast ones; raise --budget or --max-runs."
        )
    if first.visible:
        return (
            f"Slow runs show less of {first.column} by more than luck (AUC {first.auc:.2f}, family-wise p "
            f"{first.p_value:.2g}), and it should be low: it is not what makes them slow."
        )
    if p_value <= alpha:
        return (
            f"{first.column} goes with the slow runs by more than luck (family-wise p {first.p_value:.2g}) and by too "
            f"little to matter (AUC {first.auc:.2f})."
        )
    return (
        f"None of {sum(look.clusters for look in looks)} groups of counters goes with the slow runs by more than luck "
        f"(family-wise p {p_value:.2g}); memory layout, hash seeds and hardware leave no counter here."
    )


def _hiding(record: Record) -> str:
    """Say that every layer hides what it should show; empty where one does not, or nothing was profiled."""
    profiles = [call.read(ProfileResult) for call in record.succeeded("profile")]
    if not profiles or any(profile.standing for profile in profiles):
        return ""
    one = profiles[0].distortions[0]
    return (
        f"Every layer changes the runs too much to explain them ({'+'.join(one.layers)}: {one.set_aside}); "
        "give the program a longer input, or choose lighter layers with --layer."
    )


def _mitigated(case: Case) -> ConcludeResult | None:
    """The best mitigation that a second, independent batch confirmed, in the family of all such batches."""
    family = confirmations(case.record)
    calls = [call for call in case.record.succeeded("compare") if call.arguments["call"] in family]
    both = ((call, call.read(CompareResult), family[str(call.arguments["call"])]) for call in calls)
    confirmed = [
        (call, result, spread)
        for call, result, spread in both
        if isinstance(spread, Claim) and spread.direction == "less"
    ]

    # What makes the mean worse is claimed only where nothing else is confirmed.
    def order(one: tuple[Finished, CompareResult, Claim]) -> tuple[bool, float]:
        mean = one[1].comparison.described.ratio("mean").value
        return mean is not None and costly(mean, case.subject.lower_is_better), one[2].high or 0.0

    return _claim(case, *min(confirmed, key=order)) if confirmed else None


def _by_hand(case: Case) -> ConcludeResult | None:
    found = concluded_by_hand(case)
    return _with_factor(found, case.record.latest("rank_factors").read(RankResult).factors[0]) if found else None


def _claim(case: Case, call: Finished, result: CompareResult, spread: Claim) -> ConcludeResult:
    factor, column, remark = _explained(result, case.record)
    applied = _batches(result.mitigation, case.record)
    found = ConcludeResult(
        verdict="mitigated",
        reason=f"{result.mitigation} brings {brings(result.comparison, spread)}, confirmed by a second batch of "
        f"randomised pairs{remark}.",
        factor=factor,
        column=column,
        mitigation=result.mitigation,
        command=applied[-1].read(ApplyResult).command,
        confirming=call.call_id,
        evidence=(case.record.latest("rank_factors").call_id, *(batch.call_id for batch in applied), call.call_id),
        summary=f"mitigated: {result.mitigation}",
    )
    return with_claims(found, result.comparison, spread)


def _unmitigated(case: Case) -> ConcludeResult:
    """A cause is visible, and nothing that was tried is proved to help."""
    record = case.record
    factor = record.latest("rank_factors").read(RankResult).factors[0]
    refuted = broken(record)
    compared = [call.read(CompareResult) for call in record.succeeded("compare")]
    compared = [result for result in compared if result.mitigation not in refuted]
    looked = record.succeeded("look_up")
    rest = (record.latest("rank_factors"), *looked, *record.succeeded("compare"))
    unconfirmed = [r for r in compared if r.comparison.direction == "less"]
    open_questions = [r for r in compared if r.comparison.direction == "undecided" and not r.comparison.refuted]
    if unconfirmed or open_questions:
        name = (unconfirmed or open_questions)[0].mitigation
        how = "scattered less in one batch and is not confirmed" if unconfirmed else "cannot be told from no effect"
        reason = f"{name} {how} with the runs that the limits allow; raise --budget or --max-runs."
        if (name, 2) in case.applicable:
            reason = f"{name} scattered less, and the planner ended before a second batch; take --planner rules."
        return _with_factor(_say("inconclusive", reason, rest), factor)
    tried = len({result.mitigation for result in compared} | refuted.keys())
    more = len({mitigation for mitigation, _ in case.applicable})
    helped = f"{tried} tried, none helped" + (f", and the planner ended before {more} more" if more else "")
    reason = f"{factor.column} goes with the slow runs; {helped if tried else _untried(case)}."
    return _with_factor(_say("cause found, no mitigation helped", reason, rest), factor)


def declined(record: Record) -> tuple[str, ...]:
    """Name what could be tried here and was not, since the user has said: no system change in this diagnosis."""
    if not record.no_system:
        return ()
    offered = [one for call in record.succeeded("look_up") for one in call.read(LookUpResult).offered]
    tried = {call.arguments.get("mitigation") for call in record.succeeded("apply_mitigation")}
    refused = (one.mitigation for one in offered if changes_system(one.scope) and one.mitigation not in tried)
    return tuple(dict.fromkeys(refused))


def _untried(case: Case) -> str:
    """Say why no mitigation was compared."""
    if case.limits.allow == "none":
        return "nothing was tried, since --allow none forbids it"
    errors = [call.error for call in case.record.calls if call.tool == "apply_mitigation" and call.error]
    if errors:
        return f"what was tried was refused ({errors[0].rstrip('.')})"
    proofs = [call.read(ApplyResult) for call in case.record.succeeded("apply_mitigation")]
    if proofs:
        return proofs[0].summary.rstrip(".")
    if more := len({mitigation for mitigation, _ in case.applicable}):
        return f"the planner ended before it tried any of the {more} mitigations that it could"
    if case.no_time:
        return "no mitigation was tried"
    looked = [call.read(LookUpResult) for call in case.record.succeeded("look_up")]
    reasons = [unmet for result in looked for candidate in result.candidates for unmet in candidate.unmet]
    return f"none of its mitigations can be tried here ({reasons[0].rstrip('.')})" if reasons else "none was tried"


def _explained(result: CompareResult, record: Record) -> tuple[str, str | None, str]:
    """Factor and column that a claim is about, and what is to be said of them.

    That is the first suspect whose column fell with the mitigation, else the first of all; where no counter shows
    any, the factor whose mitigation it is: the intervention has found it.
    """
    suspects = [factor for factor in record.latest("rank_factors").read(RankResult).factors if factor.suspect]
    if not suspects:
        looked = (call.read(LookUpResult) for call in record.succeeded("look_up"))
        found = next(one for one in looked if any(c.mitigation == result.mitigation for c in one.offered))
        return found.factor, None, f"; no counter shows {found.name.lower()}, which was found by trying"
    fallen = {moved.column for moved in result.moved if moved.fell}
    first = next((factor for factor in suspects if factor.column in fallen), suspects[0])
    other_way = f"; {first.column}, which goes with slow runs, is not shown to fall, so it helps by another way"
    return first.factor, first.column, "" if first.column in fallen else other_way


def _batches(mitigation: str, record: Record) -> list[Finished]:
    calls = record.succeeded("apply_mitigation")
    return [call for call in calls if call.read(ApplyResult).mitigation == mitigation]


def _with_factor(result: ConcludeResult, factor: RankedFactor) -> ConcludeResult:
    return result.model_copy(update={"factor": factor.factor, "column": factor.column})
