"""look_up: what is known about a factor, and which of its mitigations apply here."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Literal

from ...knowledge.errors import VgoError
from ...knowledge.schema import KnownFactor, Mitigation
from ...knowledge.time_states import TimeState
from ..case import Case, Choices, Situation, Slot, Suggestion
from ..findings import Findings
from ..ledger.ledger import Ledger
from ..mitigation.by_hand import command_line
from ..mitigation.preconditions import beyond_reach, unmet
from ..mitigation.scripts import refuse_own
from ..record import Arguments, JsonArguments, Outcome, ToolError
from ..results import Candidate, LookUpResult
from ..run_table import described
from ..simulated import World
from ..tool import Tool


class LookUpArguments(Arguments):
    """A factor of the last ranking, by key or column."""

    factor: str


def run(arguments: LookUpArguments, case: Case) -> Outcome:
    """Look the factor up by key, then by column, then by the words that describe the column."""
    asked, known = arguments.factor, case.knowledge
    if factor := known.factors.get(asked):
        return _entry(asked, "key", factor, case)
    if factor := known.factor_of(asked):
        return _entry(asked, "column", factor, case)
    return _entry(asked, "search", _nearest(asked, case), case)


def _nearest(column: str, case: Case) -> KnownFactor:
    """Ask the index with the column's description; chromadb costs a second, so only here."""
    from ...knowledge.index import search

    words = f"{column} {described([column], case.record.all_layers.values())[0].description}"
    for passage in search(words):
        if passage.kind == "factor":
            return case.knowledge.factors[passage.key]
    raise ToolError(f"The knowledge base has nothing on {column}.")


def _entry(asked: str, found_by: Literal["key", "column", "search"], factor: KnownFactor, case: Case) -> Outcome:
    known = _in_order([case.knowledge.mitigations[key] for key in factor.mitigations], case)
    listed = tuple(_candidate(mitigation, case) for mitigation in known)
    ready = [candidate.mitigation for candidate in listed if candidate.automatic and not candidate.unmet]
    result = LookUpResult(
        asked=asked,
        found_by=found_by,
        factor=factor.key,
        name=factor.name,
        description=factor.description,
        candidates=listed,
        uncounted=not factor.signals,
        references=tuple(f"{ref.title} {ref.url}".strip() for ref in factor.references),
        summary=f"{factor.name}: {len(listed)} mitigations known, can be tried here: {', '.join(ready) or 'none'}.",
    )
    return Outcome(result)


def _in_order(known: Sequence[Mitigation], case: Case) -> list[Mitigation]:
    """As the factor lists them, save that a limit that is set goes first, and what can do harm last.

    A limit explains more than what competes. Real-time policies come after all that cannot take the machine, then what
    changes a promise, and last what asks for a reboot. Of those that do as much harm, the one comes first whose largest
    state leaves the least spread if it did not vary.
    """
    ledger = case.findings.ledger

    def place(one: Mitigation) -> tuple[tuple[bool, ...], float]:
        return _harm(one, case.machine.limited), _left(case.knowledge.states_of(one.key), ledger)

    return sorted(known, key=place)


def _harm(mitigation: Mitigation, limited: Sequence[str]) -> tuple[bool, bool, bool, bool]:
    promise, reboot = bool(mitigation.changes_promise), mitigation.scope == "reboot"
    return mitigation.lifts not in limited, reboot, promise, mitigation.real_time


def _candidate(mitigation: Mitigation, case: Case) -> Candidate:
    apply = mitigation.apply
    return Candidate(
        mitigation=mitigation.key,
        name=mitigation.name,
        scope=mitigation.scope,
        automatic=apply is not None,
        unmet=(
            *unmet(mitigation.applies, case.machine, case.subject, case.findings.busy_cpus),
            *out_of_reach(mitigation, case),
            *_acts_elsewhere(mitigation, case),
        ),
        description=mitigation.description,
        when=mitigation.when,
        hurts=mitigation.hurts,
        changes_promise=mitigation.changes_promise,
        steps=mitigation.steps,
        command=_command(mitigation, case),
        writes=tuple(f"{write.path} = {write.value}" for write in apply.write) if apply else (),
    )


def uncounted(case: Case, ledger: Ledger | None = None) -> tuple[str, ...]:
    """Factors that nothing shows and that a process can be rid of here, the most actionable first.

    Where a ledger says which states of the time matter, only those that act on one.
    """
    without = [factor for factor in case.knowledge.factors.values() if factor.hidden]
    if ledger is not None and ledger.material:
        without = [factor for factor in without if not factor.acts_on or ledger.worth_trying(factor.acts_on)]
    without.sort(key=lambda factor: (_left(factor.acts_on, ledger), -factor.actionable, factor.key))
    return tuple(factor.key for factor in without if first_ready(factor, case))


def meant_states(mitigation: str, case: Case) -> tuple[TimeState, ...]:
    """States of the time that a mitigation is to shorten, for the factor that was looked up and offered it first.

    Empty where it may act on any state.
    """
    offered = (one.factor for one in case.findings.looked_up if any(c.mitigation == mitigation for c in one.candidates))
    return case.knowledge.states_of(mitigation, next(offered, None))


def _acts_elsewhere(mitigation: Mitigation, case: Case) -> Iterator[str]:
    """Say that none of the states that it can shorten matters, or too little, where a ledger tells."""
    states, ledger = case.knowledge.states_of(mitigation.key), case.findings.ledger
    if not states or ledger is None or not ledger.material or ledger.worth_trying(states):
        return
    gap_ms, whole_ms = ledger.gap_ms(states), ledger.shares.gap_ms
    yield f"what it acts on holds {gap_ms:.3g} of the {whole_ms:.3g} ms that slow runs take longer" + (
        f": without it {ledger.sd_left(states):.2g} of the SD is left" if ledger.held_by(states) else ""
    )


def _left(states: Sequence[TimeState], ledger: Ledger | None) -> float:
    """SD ratio that is left if the largest of some states did not vary, to a tenth; 1 where nothing tells."""
    return round(ledger.sd_left(states), 1) if ledger is not None else 1.0


def first_ready(factor: KnownFactor, case: Case) -> str | None:
    """Name the first mitigation of process scope that the tool can try here; None: there is none."""
    known = (case.knowledge.mitigations[key] for key in factor.mitigations)
    of_process = (mitigation for mitigation in known if mitigation.apply and mitigation.scope == "process")
    return next((one.key for one in of_process if not _candidate(one, case).unmet), None)


def _command(mitigation: Mitigation, case: Case) -> str:
    """Write the line by hand; a machine may lack what it names, and `unmet` says so."""
    try:
        return command_line(mitigation, case.subject, case.machine) if mitigation.apply else ""
    except VgoError:
        return ""


def out_of_reach(mitigation: Mitigation, case: Case) -> tuple[str, ...]:
    """Say why the tool cannot apply it, or must not after all that profiles have shown of the program."""
    return beyond_reach(mitigation, case.machine, case.subject, case.findings.peak_bytes)


def _not_looked_up(situation: Situation) -> tuple[str, ...]:
    findings = situation.findings
    if findings.ranking is None or (findings.measured and findings.measured.steady):
        return ()
    asked = {str(call.arguments.get("factor")) for call in findings.called("look_up")}
    suspects = dict.fromkeys(factor.factor for factor in findings.suspects)
    return tuple(factor for factor in (*suspects, *findings.ranking.uncounted) if factor not in asked)


class LookUpTool(Tool[LookUpArguments, LookUpResult], run=run, analyses=True):
    """Look up a factor and its mitigations."""

    def legal(self, situation: Situation) -> Choices | None:
        """Suspects, and factors that no counter shows, once each; all but the first look-up need time to spare."""
        factors = () if situation.plan.mitigation else _not_looked_up(situation)
        if not factors or not (situation.time_to_spare or not situation.findings.looked_up):
            return None
        return (Slot(("factor",), tuple((factor,) for factor in factors)),)

    def usual(self, situation: Situation, choices: Choices) -> Suggestion:
        """The most important of them."""
        factor, ranking = choices[0].choices[0][0], situation.findings.ranking
        why = f"what is known about {factor}, and what may help"
        if ranking and factor in ranking.uncounted:
            why = f"no counter shows {factor}: only trying can tell"
        return Suggestion({"factor": factor}, why)

    def simulate(self, world: World, _: Findings, arguments: JsonArguments, __: random.Random) -> LookUpResult:
        """Look up what is really known."""
        return world.looked_up(str(arguments["factor"]))


def telling(mitigation: Mitigation, case: Case) -> tuple[str, ...]:
    """Columns that the mitigation should lower, and those that were found to go with slow runs."""
    found = (factor.column for factor in case.findings.factors if factor.visible)
    return tuple(dict.fromkeys((*mitigation.moves, *found)))


def applicable_here(key: str, case: Case) -> Mitigation:
    """Find a mitigation that the tool can apply to the program; another one is for the planner to choose."""
    mitigation = case.knowledge.mitigations.get(key)
    if mitigation is None or mitigation.apply is None:
        raise ToolError(f"{key} is not a mitigation that the tool can apply.")
    if reasons := unmet(mitigation.applies, case.machine, case.subject, case.findings.busy_cpus):
        raise ToolError(f"{key} does not apply here: {reasons[0]}")
    return mitigation


def refuse_unread(case: Case) -> None:
    """Refuse what the user's own file would run while nobody has trusted it."""
    try:
        if case.plan.own and case.plan.file:
            refuse_own(case.plan.own, case.plan.file)
    except VgoError as refused:
        raise ToolError(str(refused)) from refused
