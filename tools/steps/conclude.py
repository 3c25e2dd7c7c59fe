"""conclude: the verdict, computed from the record alone; no planner can choose it."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

from ...knowledge.terms import state_words
from ...knowledge.time_states import TimeState
from .. import verdict as v
from ..case import Case, Choices, Situation, Suggestion
from ..failures import failed_words
from ..findings import Findings
from ..ledger.ledger import Ledger
from ..ledger.shares import StateShare
from ..plain_words import plain_words
from ..ranking import RankedFactor, RankResult
from ..record import Arguments, JsonArguments, Outcome
from ..remedies import remedy
from ..results import ConcludeResult, MeasureResult
from ..simulated import World
from ..statistics.values import LEAST_IN_CLASS
from ..tool import Tool
from ..trial_results import CompareResult
from ..verdict_words import headline

OWN_WORK = (TimeState.ON_CPU, TimeState.USER, TimeState.START_AND_END, TimeState.UNSEEN)
"""States that may differ because the program did other work: that they do is no cause."""
LOOKING = ("profile", "label", "fit_tree", "rank_factors")
"""Steps between the baseline and a factor, in their order."""
FINDING = (
    *("measure", "profile", "rank_factors", "look_up", "screen_levels"),
    *("apply_mitigation", "apply_by_hand", "compare"),
)
"""Tools whose results a verdict rests on where nothing is confirmed."""


class ConcludeArguments(Arguments):
    """Nothing to choose."""


def run(arguments: ConcludeArguments, case: Case) -> Outcome:
    """Read the record."""
    verdict = concluded(case)
    words = f"{v.title(verdict)}: {headline(verdict)}"
    return Outcome(ConcludeResult(verdict=verdict, plain=plain_words(verdict, case), summary=words))


def concluded(case: Case) -> v.Verdict:
    """Tell whether the runs can say anything and vary; if so, what makes them slow, and what makes that stop."""
    found = case.findings
    baseline, measuring = found.measured, found.calls("measure")[-1:]
    if baseline is None:
        return v.Unusable(why="nothing was measured", cure="run it again", evidence=())
    if baseline.unusable:
        why, _, cure = baseline.unusable.rstrip(".").rpartition("; ")
        return v.Unusable(why=why, cure=cure, evidence=measuring)
    if baseline.steady and not case.plan.mitigation:
        return v.Steady(
            cv=abs(baseline.outcome.cv or 0.0),
            limit=case.limits.steady_cv,
            fails=_fails(baseline),
            evidence=(*measuring, *found.calls("rank_factors")),
        )
    tried = remedy(case)
    cause = _cause(tried, case)
    if not case.plan.mitigation and not found.rankings:
        tried = _nothing_tried(case)
    return v.Diagnosis(cause=cause, remedy=tried, evidence=_rests_on(tried, found))


def _fails(baseline: MeasureResult) -> str:
    failed = f"{baseline.failed} of {baseline.started} runs failed ({failed_words(baseline.failures)})"
    return failed if baseline.failed else ""


def _rests_on(tried: v.Remedy, found: Findings) -> tuple[str, ...]:
    if not isinstance(tried, v.Confirmed):
        return found.calls(*FINDING)
    batches = (one.call.call_id for one in found.batches if one.applied.mitigation == tried.mitigation)
    return (*found.calls("rank_factors")[-1:], *batches, tried.comparison)


def _nothing_tried(case: Case) -> v.Remedy:
    if case.left & set(LOOKING):
        return v.Undecided(ended_by="planner")
    return v.NotTried(why="no factor was looked at") if _hiding(case.findings) else v.Undecided(untried=case.no_time)


def _cause(tried: v.Remedy, case: Case) -> v.Cause:
    if case.plan.mitigation:
        return v.NotSought()
    looks, suspects = case.findings.rankings, case.findings.suspects
    if not looks:
        return v.NotSought(why=_hiding(case.findings) or _not_looked(case))
    helped, located = isinstance(tried, v.Confirmed | v.Observed), _located(ledger := looks[-1].ledger, suspects, case)
    found = _parts(suspects, tried, case) if suspects else ()
    if isinstance(tried, v.Confirmed | v.Observed) and not suspects:
        found = (_found_by_trying(tried.mitigation, case),)
    # What is known in milliseconds comes before a factor of which they are not known, unless its remedy helped.
    late = [one for one in found if located and not (one.held or helped)]
    parts: tuple[v.Found | v.Located, ...] = (*(one for one in found if one not in late), *located, *late)
    parts, places = tuple(sorted(parts, key=_of_the_host)), looks[-1].places
    if places or found or parts and not _mostly_own_work(ledger, located):
        return v.Explained(parts=(*places, *parts), rest=_rest(ledger, parts) if parts else None)
    if not any(look.blocks for look in looks):
        return v.NotSought(
            why=f"only {looks[-1].factors[0].runs} runs were profiled, and a counter is looked at in at least "
            f"{LEAST_IN_CLASS} slow and {LEAST_IN_CLASS} fast ones; raise --budget or --max-runs"
        )
    return _not_visible(looks, case)


def _parts(suspects: Sequence[RankedFactor], tried: v.Remedy, case: Case) -> tuple[v.Found, ...]:
    """Give each factor that tells something beside the others once, the strongest association first.

    Where a mitigation helped, those that it is known to address come before all others, and of both those whose column
    fell with it: another one that fell may merely follow from them. One that tells nothing beside the others stays
    where the mitigation addresses it and it fell.
    """
    helped = tried if isinstance(tried, v.Confirmed | v.Observed) else None
    addressed, fallen = _addressed(helped, case) if helped else (set[str](), set[str]())

    def place(factor: RankedFactor) -> tuple[bool, bool]:
        return factor.factor not in addressed, factor.column not in fallen

    kept = [factor for factor in suspects if factor.independent is not False or not any(place(factor))]
    first: dict[str, RankedFactor] = {}
    for factor in sorted(kept or suspects[:1], key=place):
        first.setdefault(factor.factor, factor)
    ledger = case.findings.ledger
    return tuple(
        _found_part(factor, case, ledger, factor.column in fallen if helped else None) for factor in first.values()
    )


def _located(ledger: Ledger | None, suspects: Sequence[RankedFactor], case: Case) -> tuple[v.Located, ...]:
    """States that matter and that no factor acts on; the program's own work on a CPU may have been another one."""
    if ledger is None:
        return ()
    known = filter(None, (case.knowledge.factors.get(factor.factor) for factor in suspects))
    acted_on = {one.state for factor in known for one in ledger.held_by(factor.acts_on)}
    return _in_states(ledger, (one for one in ledger.material if one.state not in (*acted_on, *OWN_WORK)))


def _mostly_own_work(ledger: Ledger | None, located: Sequence[v.Located]) -> bool:
    """Tell whether the program's own work makes more of the variance than all states that are located."""
    own = ledger.held_by(OWN_WORK) if ledger else ()
    return sum(one.share for one in own) > sum(one.share for one in located)


def _of_the_host(part: v.Found | v.Located) -> bool:
    """Tell whether a part is what the host of a virtual machine takes: what can be changed here is named before it."""
    held = part.held if isinstance(part, v.Found) else (part,)
    return {one.state for one in held} == {TimeState.STOLEN}


def _rest(ledger: Ledger | None, parts: Sequence[v.Found | v.Located]) -> v.UnexplainedRest | None:
    """What is left of the whole gap and of the variance without the states of the parts."""
    states = [one.held if isinstance(one, v.Found) else (one,) for one in parts]
    if ledger is None or not all(states):
        return None
    named = {one.state for held in states for one in held}
    explained = [one for one in ledger.shares.states if one.state in named]
    gap_ms = ledger.shares.gap_ms - sum(one.gap_ms for one in explained)
    return v.UnexplainedRest(gap_ms=gap_ms, share=1 - sum(one.share for one in explained))


def _in_states(ledger: Ledger, states: Iterable[StateShare]) -> tuple[v.Located, ...]:
    """Locate them, but for what our own looking takes: that is no finding about the program."""
    return tuple(
        v.Located(
            state=TimeState(one.state),
            name=state_words(one.state),
            gap_ms=one.gap_ms,
            gap_interval=one.gap_interval,
            share=one.share,
            what=largest.words if (largest := ledger.cause_of(one.state)) else "",
            recognised=ledger.recognised_in(one.state),
            why=ledger.why(one.state),
        )
        for one in states
        if not ledger.by_looking(one.state)
    )


def _addressed(helped: v.Confirmed | v.Observed, case: Case) -> tuple[set[str], set[str]]:
    """Keys of the factors that a mitigation is known for, and columns that fell with it."""
    compared = (result for call, result in case.findings.ended(CompareResult) if call.call_id == helped.comparison)
    known = {key for key, factor in case.knowledge.factors.items() if helped.mitigation in factor.mitigations}
    return known, {one.column for result in compared for one in result.moved if one.fell}


def _found_part(factor: RankedFactor, case: Case, ledger: Ledger | None = None, fell: bool | None = None) -> v.Found:
    known = case.knowledge.factors.get(factor.factor)
    held = ledger.held_by(known.acts_on) if ledger and known and known.acts_on else ()
    return v.Found(
        factor=factor.factor,
        name=known.name if known else factor.factor,
        column=factor.column,
        auc=factor.auc,
        p_value=factor.p_value,
        fell=fell,
        held=_in_states(ledger, held) if ledger else (),
    )


def _found_by_trying(mitigation: str, case: Case) -> v.Found:
    """The factor whose mitigation helped, though no counter shows it."""
    looked = case.findings.looked_up
    of_it = next((one for one in looked if any(c.mitigation == mitigation for c in one.candidates)), None)
    return v.Found(factor=of_it.factor if of_it else mitigation, name=of_it.name if of_it else mitigation)


def _not_visible(looks: Sequence[RankResult], case: Case) -> v.NotVisible:
    first, p_value = looks[-1].factors[0], min(look.p_value for look in looks)
    less = first.visible and first.contrary
    known = case.knowledge.factors
    return v.NotVisible(
        groups=sum(look.clusters for look in looks),
        p_value=p_value,
        runs=sum(profile.runs for profile in case.findings.profiles),
        slight=_found_part(first, case) if less or first.p_value <= case.limits.alpha else None,
        less=less,
        hidden=tuple(known[key].name for key in looks[-1].uncounted if key in known),
        held=_in_states(ledger, ledger.material) if (ledger := looks[-1].ledger) else (),
    )


def _hiding(found: Findings) -> str:
    """Say that every layer hides what it should show; empty where one does not, or nothing was profiled."""
    if not found.profiles or any(profile.standing for profile in found.profiles):
        return ""
    one = found.profiles[0].distortions[0]
    return (
        f"every layer changes the runs too much to explain them ({'+'.join(one.layers)}: {one.set_aside}); "
        f"{'give the program a longer input, or ' * one.shifts}choose lighter layers with --layer"
    )


def _not_looked(case: Case) -> str:
    """Say why no factor was looked at: a planner may end while it could go on."""
    if due := [tool for tool in LOOKING if tool in case.left]:
        return f"the planner ended before it looked at any factor ({due[0]} was next); take --planner rules"
    return f"the budget of {case.limits.budget_s:g} s ran out before any factor was looked at; raise --budget"


class ConcludeTool(Tool[ConcludeArguments, ConcludeResult], run=run):
    """End with the verdict that the record supports."""

    def legal(self, _: Situation) -> Choices:
        """Always."""
        return ()

    def usual(self, situation: Situation, _: Choices) -> Suggestion | None:
        """Once a confirmed mitigation has reached the target; of a trial, when all of it is done."""
        if situation.plan.mitigation or not situation.findings.reached(situation.limits.target_ratio):
            return None
        return Suggestion({}, "the target is reached and confirmed")

    def simulate(self, world: World, found: Findings, _: JsonArguments, __: random.Random) -> ConcludeResult:
        """Give the verdict that the record really supports."""
        result = run(ConcludeArguments(), world.case(found.record)).result
        assert isinstance(result, ConcludeResult)
        return result
