"""What steps cost by the clock, from the recorded times alone; nothing where no clock ran, as over recorded runs."""

from __future__ import annotations

from statistics import median

from ..tools.apply_mitigation import OUT_OF_TIME
from ..tools.case import Finished, Record
from ..tools.measure import MeasureResult
from ..tools.subject import Limits

REPORT_S, JUDGE_S, ANALYSIS_S = 3.0, 0.5, 3.0
"""The report with its plots, one comparison, and the steps from the cut to the look-up: at least so long each. Beside a
program that has used up its quota they took 3.6 and 2.7 s. On a slower or busier machine the steps so far tell."""
USUAL_S = 1.4
"""An analysis that took longer tells of a machine on which the report takes longer, too: with six processes at work on
two cores two took 1.2 and 1.5 s, and their reports 2.0 and 1.7 s."""
START_S = 3.5
"""A start that took longer tells of a machine on which all that comes after takes longer, too: at rest it took 3.2 s,
in a control group that had used up its quota 4.2 s, with six processes at work on two cores 7 to 12 s."""
SHARE = 0.5
"""Of the budget at most is kept for what comes after measuring: a tiny one is for runs, and is not kept anyway."""
ANALYSIS = ("label", "fit_tree", "rank_factors", "look_up")
LEAST_PAIRS = 10
"""A batch for which the budget leaves fewer pairs is not offered."""

PROOF_RUNS = 4
"""Of the program, before the pairs of a mitigation."""


def kept_s(record: Record, limits: Limits) -> float:
    """Seconds of the budget to keep for what comes after measuring, where a clock runs."""
    return after_s(record, limits) if record.clocked else 0.0


def after_s(record: Record, limits: Limits, now_s: float = 0.0) -> float:
    """Seconds for what comes after measuring: analysis, comparison, verdict, report; at the first call, `now_s`."""
    return min(_after(record, now_s), SHARE * limits.budget_s)


def time_left(record: Record, limits: Limits) -> bool:
    """Tell whether the budget leaves anything for more runs, or for steps that could be done without."""
    return record.spent_s + kept_s(record, limits) < limits.budget_s


def run_s(record: Record, mitigation: str = "") -> float:
    """Seconds that one run of a pair takes, with what lies between two runs: switching, probes, our own work.

    Known from the pairs of this mitigation, else of the others, else from the baseline.
    """
    baseline = record.succeeded("measure")[-1]
    runs, plain = _runs(baseline), _program_s(baseline)
    if not record.clocked:
        return plain
    applied = record.succeeded("apply_mitigation")
    own = [_each(call) for call in applied if call.arguments.get("mitigation") == mitigation]
    seen = [each for each in own or map(_each, applied) if each]
    return median(seen) if seen else max(baseline.took_s / runs, _alone(baseline, plain))


def _runs(baseline: Finished) -> int:
    measured = baseline.read(MeasureResult)
    return measured.processes or measured.runs + measured.failed + measured.warm_up


def _program_s(baseline: Finished) -> float:
    """Seconds of the program in one run."""
    runs = _runs(baseline)
    return baseline.program_s / runs if runs else 0.0


def affordable_pairs(record: Record, limits: Limits, mitigation: str = "") -> int:
    """Pairs that the rest of the budget pays for, at what a run has taken so far, the proof and the end taken off."""
    if not record.succeeded("measure"):
        return 0
    each_s = run_s(record, mitigation)
    left_s = limits.budget_s - record.spent_s - kept_s(record, limits) - proof_s(record)
    return max(0, int(left_s / (2 * each_s))) if each_s else 0


def proof_s(record: Record) -> float:
    """Seconds that the proof of a mitigation takes before its pairs; what its pairs cost holds those of later ones."""
    return PROOF_RUNS * run_s(record) if record.clocked else 0.0


def _each(call: Finished) -> float:
    """Seconds of one run of the pairs of a call, its proof included; 0 where it has none."""
    runs = 2 * int((call.result or {}).get("pairs", 0))
    return max(call.took_s, _alone(call, call.program_s)) / runs if runs else 0.0


def _alone(call: Finished, program_s: float) -> float:
    """Seconds of the program where one run follows the other; a call that was cut off and went on took more."""
    return 0.0 if (call.result or {}).get("hosts") else program_s


def _after(record: Record, now_s: float) -> float:
    """What comes after measuring takes as long as such steps have taken, and the floors at least."""
    took = {call.tool: call.took_s for call in record.calls}
    judging = max([JUDGE_S, *(call.took_s for call in record.calls if call.tool == "compare")])
    analysed = sum(took.get(tool, 0.0) for tool in ANALYSIS)
    done = record.only_tries or "rank_factors" in took
    slower = max(1.0, analysed / USUAL_S if analysed else _started_s(record, now_s) / START_S)
    return judging + slower * (REPORT_S if done else REPORT_S + ANALYSIS_S) + 2 * _between(record)


def _started_s(record: Record, now_s: float) -> float:
    """Seconds from the command to its first call, less a trial run as far as one is known."""
    began = next((call.began_s for call in record.calls if call.began_s is not None), now_s)
    measured = record.succeeded("measure")
    return began - (_program_s(measured[-1]) if measured else 0.0)


def _between(record: Record) -> float:
    """Seconds between the end of a call and the begin of the next, the longest: to choose it, and to write it down."""
    pairs = zip(record.calls, record.calls[1:], strict=False)
    gaps = [
        after.began_s - before.ended_s
        for before, after in pairs
        if before.ended_s is not None and after.began_s is not None and before.tool != "conclude"
    ]
    return max([0.0, *gaps])


def ran_out(call: Finished) -> bool:
    """Tell whether nothing but time kept a mitigation from being tried."""
    return call.error == OUT_OF_TIME
