"""The verdict on one mitigation that the user chose, and on what a person applied by hand."""

from __future__ import annotations

from .apply_mitigation import ApplyResult
from .case import Case, Finished, Record
from .claim import Claim, Names, TooFew, interval, sentence
from .compare import CompareResult, confirmations
from .comparison import direction
from .experiment.race import MEASURE_OF
from .measure import MeasureResult
from .plan import Aim, TrialPlan
from .screen_levels import ScreenResult
from .verdicts import ConcludeResult, brings, say, with_claims

NO_TWIN = "the two series were not interleaved, so whatever else changed in between counts too"


def concluded_plan(case: Case) -> ConcludeResult:
    """Read the record of a trial or a search; no factor was looked for."""
    measured = case.record.succeeded("measure")
    if not measured:
        return say("insufficient data", "Nothing was measured.", ())
    if unusable := measured[-1].read(MeasureResult).unusable:
        return say("insufficient data", unusable, measured[-1:])
    found = concluded_by_hand(case) or _broken(case) or _confirmed(case) or _not_confirmed(case) or _not_tried(case)
    return found.model_copy(update={"mitigation": case.plan.mitigation, "values": _values(case)})


def broken(record: Record) -> dict[str, str]:
    """By mitigation, what it did to the program, which refutes it."""
    applied = (call.read(ApplyResult) for call in record.succeeded("apply_mitigation"))
    return {one.mitigation: one.broke for one in applied if one.broke}


def _broken(case: Case) -> ConcludeResult | None:
    """It breaks the program, makes it hang or makes it far slower: nothing else needs to be known."""
    for key, broke in broken(case.record).items():
        applied = [call for call in case.record.succeeded("apply_mitigation") if call.read(ApplyResult).broke]
        return say("did not help", f"{_called(key, case)} {broke}.", applied)
    return None


def _called(key: str, case: Case) -> str:
    return f"{key} ({_named(case)})" if _named(case) else key


def concluded_by_hand(case: Case) -> ConcludeResult | None:
    """The weaker claim: a later series is steadier than the one before the change; None where none is."""
    for call, result in _compared(case, batch=0):
        if result.comparison.direction == "less":
            now = brings(result.comparison, result.comparison.spread)
            found = say(
                "steadier afterwards",
                f"{result.mitigation}, applied by hand, brings {now}; {NO_TWIN}.",
                (_source(call, case), call),
            )
            return _with_numbers(found, call, result, case).model_copy(update={"mitigation": result.mitigation})
    return None


def _confirmed(case: Case) -> ConcludeResult | None:
    """An independent batch says so, whatever chose the mitigation or its level."""
    for call, result in _compared(case, batch=2):
        if not _improved(call, result, case):
            return None
        applied = _source(call, case)
        mean = f"the mean to {result.comparison.shown('mean')} of the baseline's"
        what = mean if _aim(case) == "mean" else brings(result.comparison, _spread(call, result, case))
        level = f" ({_named(case)})" if _named(case) else ""
        reason = (
            f"{result.mitigation}{level} brings {what}, confirmed by a batch of randomised pairs that did not choose "
            "it."
        )
        found = _with_numbers(say("mitigated", reason, (applied, call)), call, result, case)
        return found.model_copy(update={"command": applied.read(ApplyResult).command})
    return None


def _improved(call: Finished, result: CompareResult, case: Case) -> bool:
    """Tell whether a batch shows what was asked for."""
    less_is_better = _aim(case) == "sd" or case.subject.lower_is_better
    return direction(_decides(call, result, case)) == ("less" if less_is_better else "more")


def _spread(call: Finished, result: CompareResult, case: Case) -> Claim | TooFew:
    """The claim that decides: of a batch that confirms, in its family."""
    return confirmations(case.record).get(str(call.arguments["call"]), result.comparison.spread)


def _not_confirmed(case: Case) -> ConcludeResult | None:
    """Compared, and not shown."""
    compared = [*_compared(case, batch=2), *_compared(case, batch=1), *_compared(case, batch=0)]
    if not compared:
        return None
    call, result = compared[0]
    decides = _decides(call, result, case)
    about, numbers = (_source(call, case), call), f"{MEASURE_OF[_aim(case)]} ratio {interval(decides)}"
    name = f"{result.mitigation} ({_named(case)})" if _named(case) else result.mitigation
    if direction(decides) == "undecided" and not (isinstance(decides, Claim) and decides.refuted):
        reason = f"{name}: the pairs cannot tell it from no effect ({numbers}); raise --pairs or --budget."
        found = say("inconclusive", reason, about)
    elif result.batch == 2 and _compared(case, batch=1):
        reason = f"{name} scattered less in one batch and a second did not confirm it ({numbers}); raise --pairs."
        found = say("inconclusive", reason, about)
    elif result.batch == 1 and direction(decides) == "less":
        reason = f"{name} scattered less ({numbers}), and nothing was left of the budget to confirm it; raise --budget."
        found = say("inconclusive", reason, about)
    else:
        applied = "was applied by hand" if result.batch == 0 else "was in force"
        found = say("did not help", f"{name} {applied}. {_told(decides, name, case)}", about)
    return _with_numbers(found, call, result, case)


def _told(decides: Claim | TooFew, name: str, case: Case) -> str:
    assert isinstance(decides, Claim)  # too few are told before
    excluded = f" A ratio of {decides.margin:g} is excluded." if decides.direction == "undecided" else ""
    return sentence(decides, Names("the baseline", name, case.subject.lower_is_better)) + excluded


def _decides(call: Finished, result: CompareResult, case: Case) -> Claim | TooFew:
    """The claim of what was asked for."""
    return result.comparison.claims["mean"] if _aim(case) == "mean" else _spread(call, result, case)


def _not_tried(case: Case) -> ConcludeResult:
    """Nothing was compared."""
    record = case.record
    screened = record.succeeded("screen_levels")
    if screened and screened[-1].read(ScreenResult).best is None:
        return say("did not help", _no_level(screened[-1].read(ScreenResult)), screened[-1:])
    applied = [call for call in record.succeeded("apply_mitigation") if not call.read(ApplyResult).in_force]
    if applied:
        return say("inconclusive", applied[-1].read(ApplyResult).summary, applied[-1:])
    tools = ("apply_mitigation", "screen_levels", "apply_by_hand")
    errors = [call.error for call in record.calls if call.tool in tools and call.error]
    reason = errors[-1].rstrip(".") if errors else "too little of the budget was left to try it; raise --budget"
    if any(call.tool == "apply_by_hand" and call.error for call in record.calls):
        reason = f"{case.plan.mitigation} is for a person to apply ({reason}); go on with `vgo-agent try --after RUN`"
    return say("inconclusive", f"{reason}.", record.succeeded("measure")[-1:])


def _no_level(screened: ScreenResult) -> str:
    unproved = [level for level in screened.levels if level.summary is None]
    if len(unproved) == len(screened.levels):
        return f"No level of {screened.parameter} could be tried: {unproved[0].dropped}."
    return f"No level of {screened.parameter} is better than the baseline by more than luck ({screened.rounds} rounds)."


def _compared(case: Case, batch: int) -> list[tuple[Finished, CompareResult]]:
    both = ((call, call.read(CompareResult)) for call in case.record.succeeded("compare"))
    return [(call, result) for call, result in both if result.batch == batch]


def _source(call: Finished, case: Case) -> Finished:
    """The measuring call that a comparison looked at."""
    return case.record.call(str(call.arguments["call"]))


def _with_numbers(found: ConcludeResult, call: Finished, result: CompareResult, case: Case) -> ConcludeResult:
    told = with_claims(found, result.comparison, _spread(call, result, case))
    return told.model_copy(update={"confirming": call.call_id})


def _aim(case: Case) -> Aim:
    return case.plan.search.minimise if case.plan.search else "sd"


def _values(case: Case) -> dict[str, str]:
    return chosen_values(case.record, case.plan) or dict(case.plan.values)


def chosen_values(record: Record, plan: TrialPlan) -> dict[str, str]:
    """Values of the parameters, with the level that the screening left; empty before that."""
    screened, search = record.succeeded("screen_levels"), plan.search
    best = screened[-1].read(ScreenResult).best if screened else None
    return {**plan.values, search.parameter: best} if search and best is not None else {}


def _named(case: Case) -> str:
    return ", ".join(f"{name}={value}" for name, value in _values(case).items())
