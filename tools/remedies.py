"""Which remedy the record supports: the best that is proved, else what came of every mitigation that was tried."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..knowledge.loader import Knowledge
from .apply_mitigation import stopped_early
from .case import Case, changes_system
from .claim import Claim, TooFew
from .compare import confirmations, reached
from .comparison import direction
from .plan import TrialPlan
from .record import Finished, Record
from .results import LookUpResult
from .trial_results import ApplyResult, CompareResult, ScreenResult
from .verdict import Confirmed, NotTried, Observed, Refuted, Remedy, TriedRemedy, Undecided

DENIED = "not approved"
"""How the error of a call begins that nobody approved."""
COSTLY = 1.05
"""A mean so many times worse than the baseline's is a price."""


def costly(mean: float, lower_is_better: bool) -> bool:
    """Tell whether a ratio of means is a price: more than 5 % worse."""
    return mean > COSTLY if lower_is_better else mean < 1 / COSTLY


def remedy(case: Case) -> Remedy:
    """Read the record from the strongest statement down to the weakest."""
    return _confirmed(case) or _observed(case) or _unproved(case)


def batches(mitigation: str, record: Record) -> tuple[Finished, ...]:
    """Calls that applied a mitigation."""
    calls = record.succeeded("apply_mitigation")
    return tuple(call for call in calls if call.read(ApplyResult).mitigation == mitigation)


def broken(record: Record) -> dict[str, str]:
    """By mitigation, what it did to the program, which refutes it."""
    applied = (call.read(ApplyResult) for call in record.succeeded("apply_mitigation"))
    return {one.mitigation: one.broke for one in applied if one.broke}


def not_accepted(record: Record, knowledge: Knowledge) -> dict[str, str]:
    """Mitigations that were denied and change a promise, with it."""
    denied = (str(call.arguments.get("mitigation")) for call in record.calls if call.error.startswith(DENIED))
    known = knowledge.mitigations
    return {key: known[key].changes_promise for key in denied if key in known and known[key].changes_promise}


def chosen_values(record: Record, plan: TrialPlan) -> dict[str, str]:
    """Values of the parameters, with the level that the screening left; empty before that."""
    screened, search = record.succeeded("screen_levels"), plan.search
    best = screened[-1].read(ScreenResult).best if screened else None
    return {**plan.values, search.parameter: best} if search and best is not None else {}


def values_of(record: Record, plan: TrialPlan) -> dict[str, str]:
    """Values of the parameters of the mitigation that the user chose."""
    return chosen_values(record, plan) or dict(plan.values)


def _compared(case: Case) -> list[tuple[Finished, CompareResult]]:
    return [(call, call.read(CompareResult)) for call in case.record.succeeded("compare")]


def _decides(call: Finished, result: CompareResult, case: Case) -> Claim | TooFew:
    """The claim of what was asked for: of a batch that confirms, in its family."""
    if case.plan.search and case.plan.search.minimise == "mean":
        return result.comparison.claims["mean"]
    return confirmations(case.record).get(str(call.arguments["call"]), result.comparison.spread)


def _shows(claim: Claim | TooFew, case: Case) -> bool:
    less_is_better = case.subject.lower_is_better or not (isinstance(claim, Claim) and claim.measure == "mean")
    return direction(claim) == ("less" if less_is_better else "more")


def _confirmed(case: Case) -> Confirmed | None:
    """The best mitigation that an independent batch confirms; one with a price only where no other is confirmed."""
    shown = [(call, result, _decides(call, result, case)) for call, result in _compared(case) if result.batch == 2]
    proved = [one for one in shown if isinstance(one[2], Claim) and _shows(one[2], case)]

    def order(one: tuple[Finished, CompareResult, Claim | TooFew]) -> tuple[bool, float]:
        mean = one[1].comparison.described.ratio("mean").value
        high = one[2].high if isinstance(one[2], Claim) else None
        return mean is not None and costly(mean, case.subject.lower_is_better), high or 0.0

    if not proved:
        return None
    call, result, claim = min(proved, key=order)
    assert isinstance(claim, Claim)
    applied = batches(result.mitigation, case.record)[-1].read(ApplyResult)
    done = not case.plan.mitigation and reached(case.record, case.limits.target_ratio)
    return Confirmed(
        **_claimed(call, result, claim, case), command=applied.command, untried=() if done else case.no_time
    )


def _observed(case: Case) -> Observed | None:
    """A later series is claimed to scatter less than the one before the change."""
    for call, result in _compared(case):
        spread = result.comparison.spread
        if result.batch == 0 and isinstance(spread, Claim) and spread.direction == "less":
            return Observed(**_claimed(call, result, spread, case))
    return None


def _claimed(call: Finished, result: CompareResult, claim: Claim, case: Case) -> dict[str, Any]:
    known = case.knowledge.mitigations.get(result.mitigation)
    return {
        "mitigation": result.mitigation,
        "values": values_of(case.record, case.plan) if case.plan.mitigation else {},
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
    declined = _declined(case.record)
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
    """A fall that matters is neither shown by two batches nor excluded."""
    refuted = isinstance(trial.claim, Claim) and trial.claim.refuted
    return trial.less or trial.claim is not None and direction(trial.claim) == "undecided" and not refuted


def _cut_short(case: Case) -> bool:
    """Tell whether the budget left a batch with fewer pairs than it was to have."""
    both = ((call, call.read(ApplyResult)) for call in case.record.succeeded("apply_mitigation"))
    return any(
        one.pairs + one.failed < int(call.arguments["pairs"]) and not one.broke and not stopped_early(one.looks)
        for call, one in both
        if one.in_force
    )


def _trials(case: Case) -> Iterator[TriedRemedy]:
    """Every mitigation that was compared, or that showed itself harmful before, in the order of the trials."""
    harm, values = broken(case.record), values_of(case.record, case.plan) if case.plan.mitigation else {}
    compared = _compared(case)
    for key in dict.fromkeys((*(result.mitigation for _, result in compared), *harm)):
        claims = [_decides(call, result, case) for call, result in compared if result.mitigation == key]
        less = any(_shows(claim, case) for claim in claims)
        last = claims[-1] if claims else None
        yield TriedRemedy(mitigation=key, values=values, claim=last, less=less, refuted_by=harm.get(key, ""))
    screened = case.record.succeeded("screen_levels")
    if screened and not compared and (none := _no_level(screened[-1].read(ScreenResult))):
        yield TriedRemedy(mitigation=case.plan.mitigation, refuted_by=none)


def _no_level(screened: ScreenResult) -> str:
    """Say that all levels were run and none is better; empty where one is, or none could be run."""
    if screened.best is not None or all(level.summary is None for level in screened.levels):
        return ""
    return f"has no level of {screened.parameter} that is better by more than luck ({screened.rounds} rounds)"


def _waiting(case: Case) -> tuple[str, ...]:
    """What a planner could have tried and did not, in words; empty where it went on to the end."""
    if case.plan.mitigation:
        return ()
    return tuple(key if batch == 1 else f"a second batch of {key}" for key, batch in sorted(case.applicable))


def _declined(record: Record) -> tuple[str, ...]:
    """Name what could be tried here and was not, since the user has said: no system change in this diagnosis."""
    if not record.no_system:
        return ()
    offered = [one for call in record.succeeded("look_up") for one in call.read(LookUpResult).offered]
    tried = {call.arguments.get("mitigation") for call in record.succeeded("apply_mitigation")}
    refused = (one.mitigation for one in offered if changes_system(one.scope) and one.mitigation not in tried)
    return tuple(dict.fromkeys(refused))


def _why_not_of_plan(case: Case) -> str:
    """Say what kept the chosen mitigation from being tried; empty where that was the budget."""
    record = case.record
    screened = record.succeeded("screen_levels")
    if screened and (found := screened[-1].read(ScreenResult)).best is None:
        return f"no level of {found.parameter} could be tried ({found.levels[0].dropped})"
    applied = [one for call in record.succeeded("apply_mitigation") if not (one := call.read(ApplyResult)).in_force]
    if applied:
        return applied[-1].summary.rstrip(".")
    tools = ("apply_mitigation", "screen_levels", "apply_by_hand")
    errors = [call for call in record.calls if call.tool in tools and call.error]
    why = errors[-1].error.rstrip(".") if errors else ""
    if any(call.tool == "apply_by_hand" for call in errors):
        return f"{case.plan.mitigation} is for a person to apply ({why}); go on with `vgo-agent try --after RUN`"
    return why


def _why_not(case: Case) -> str:
    """Say why a diagnosis compared no mitigation."""
    record = case.record
    if case.limits.allow == "none":
        return "--allow none forbids it"
    errors = [call.error for call in record.calls if call.tool == "apply_mitigation" and call.error]
    if errors:
        return f"what was to be tried was refused ({errors[0].rstrip('.')})"
    proofs = [call.read(ApplyResult) for call in record.succeeded("apply_mitigation")]
    if proofs:
        return proofs[0].summary.rstrip(".")
    looked = [call.read(LookUpResult) for call in record.succeeded("look_up")]
    reasons = [unmet for result in looked for candidate in result.candidates for unmet in candidate.unmet]
    return f"none can be tried here ({reasons[0].rstrip('.')})" if reasons else "none is known for what was found"
