"""What may be done next: every tool that says that it is legal, with the values of its arguments; and what it costs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ..tools.case import Choices, Situation, Slot, program_s
from ..tools.findings import Findings
from ..tools.record import Record, ToolError
from ..tools.registry import TOOLS
from ..tools.steps.apply_mitigation import ApplyMitigationTool
from ..tools.steps.compare import CompareTool
from ..tools.steps.conclude import ConcludeTool
from ..tools.steps.rank_factors import RankFactorsTool
from ..tools.subject import NO_PLAN, Limits, TrialPlan

REPORT_S, JUDGE_S, ANALYSIS_S = 3.0, 0.5, 3.0
"""The report with its plots, one comparison, and the steps from the cut to the look-up: at least so long each. Beside a
program that has used up its quota they took 3.6 and 2.7 s. Where all takes longer, the steps so far tell."""
USUAL_S = 1.4
"""An analysis that took longer tells of a machine on which the report takes longer, too: with six processes at work on
two cores two took 1.2 and 1.5 s, and their reports 2.0 and 1.7 s."""
START_S = 3.5
"""A start that took longer tells of a machine on which all that comes after takes longer, too: at rest it took 3.2 s,
in a control group that had used up its quota 4.2 s, with six processes at work on two cores 7 to 12 s."""
SHARE = 0.5
"""Of the budget at most is kept for what comes after measuring: a tiny one is for runs, and is not kept anyway."""


def kept_s(record: Record, limits: Limits) -> float:
    """Seconds of the budget to keep for what comes after measuring, where a clock runs."""
    return after_s(record, limits) if record.clocked else 0.0


def after_s(record: Record, limits: Limits, now_s: float = 0.0) -> float:
    """Seconds for what comes after measuring: analysis, comparison, verdict, report; at the first call, `now_s`."""
    return min(_after(record, now_s), SHARE * limits.budget_s)


def _after(record: Record, now_s: float) -> float:
    """What comes after measuring takes as long as such steps have taken, and the floors at least."""
    took = {call.tool: call.took_s for call in record.calls}
    judging = max([JUDGE_S, *(call.took_s for call in record.calls if call.tool == CompareTool.name)])
    analysed = sum(took_s for tool, took_s in took.items() if tool in TOOLS and TOOLS[tool].analyses)
    done = record.only_tries or RankFactorsTool.name in took
    stretched = max(1.0, analysed / USUAL_S if analysed else _started_s(record, now_s) / START_S)
    return judging + stretched * (REPORT_S if done else REPORT_S + ANALYSIS_S) + 2 * _between(record)


def _started_s(record: Record, now_s: float) -> float:
    """Seconds from the command to its first call, less a trial run as far as one is known."""
    began = next((call.began_s for call in record.calls if call.began_s is not None), now_s)
    return began - program_s(Findings(record))


def _between(record: Record) -> float:
    """Seconds between the end of a call and the begin of the next, the longest: to choose it, and to write it down."""
    pairs = zip(record.calls, record.calls[1:], strict=False)
    gaps = [
        after.began_s - before.ended_s
        for before, after in pairs
        if before.ended_s is not None and after.began_s is not None and before.tool != ConcludeTool.name
    ]
    return max([0.0, *gaps])


@dataclass(frozen=True)
class Legal:
    """Tools that may be called now."""

    tools: Mapping[str, Choices] = field(default_factory=dict)
    """By name, in the order of the rule policy; arguments without a slot are free within their schema."""
    ran_out: tuple[str, ...] = ()
    """What only the budget keeps from being done, in words."""

    @property
    def batches(self) -> frozenset[tuple[str, int]]:
        """(mitigation, batch) that may be applied."""
        slots = self.tools.get(ApplyMitigationTool.name, ())
        return frozenset((mitigation, batch) for mitigation, batch in (slots[0].choices if slots else ()))

    def check(self, tool: str, arguments: Mapping[str, Any]) -> None:
        """Raise ToolError when a call is not legal now."""
        if tool not in self.tools:
            raise ToolError(f"{tool} is not legal now; legal are {', '.join(self.tools)}.")
        for slot in self.tools[tool]:
            _check(tool, slot, arguments)


def _check(tool: str, slot: Slot, arguments: Mapping[str, Any]) -> None:
    schema = TOOLS[tool].arguments.model_fields
    given = tuple(arguments.get(name, schema[name].default) for name in slot.names)
    if given not in slot.choices:
        listed = "; ".join(", ".join(map(str, choice)) for choice in slot.choices)
        raise ToolError(f"{tool} takes for {' and '.join(slot.names)} one of {listed}.")


def situation(record: Record, limits: Limits, plan: TrialPlan = NO_PLAN) -> Situation:
    """Say how things stand, with the time to keep for the end."""
    return Situation(record, limits, plan=plan, kept_s=kept_s(record, limits))


def legal(record: Record, limits: Limits, plan: TrialPlan = NO_PLAN) -> Legal:
    """Work out what may be done next from the finished calls."""
    return legal_in(situation(record, limits, plan))


def legal_in(now: Situation) -> Legal:
    """Ask every tool."""
    tools, more = dict(_open(now)), dict(_open(now.without_end))
    missed = (TOOLS[tool].missed(tools.get(tool), choices) for tool, choices in more.items())
    return Legal(tools, tuple(words for each in missed for words in each))


def _open(now: Situation) -> Iterator[tuple[str, Choices]]:
    for tool in TOOLS.values():
        if (choices := tool.legal(now)) is not None:
            yield tool.name, choices


def was_legal(record: Record, number: int, limits: Limits, plan: TrialPlan) -> bool:
    """Judge a call by those that had ended before it."""
    call = record.calls[number]
    try:
        legal(replace(record, calls=record.calls[:number]), limits, plan).check(call.tool, call.arguments)
    except ToolError:
        return False
    return True
