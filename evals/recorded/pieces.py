"""The runs of a recording: those of a trial, and the pairs with one mitigation."""

from __future__ import annotations

import statistics
import time

from ...agent.session import try_once
from ...knowledge.errors import VgoError
from ...tools.execution.bench import Bench
from ...tools.execution.series import Series
from ...tools.experiment.applied import AppliedConditions
from ...tools.experiment.experiment import Experiment, carry_out
from ...tools.experiment.schedules import Crossover
from ...tools.row import BASELINE
from ...tools.subject import Subject

TRIALS, TRIALS_S = 3, 30.0
"""Trial runs, and the seconds after which there is no further one."""


def trial_s(bench: Bench, subject: Subject) -> float:
    """Run outside the data: a broken command is told at once; give the usual seconds of a run."""
    times: list[float] = []
    while len(times) < TRIALS and sum(times) < TRIALS_S:
        began = time.monotonic()
        try_once(bench.spawner, bench.way(bench.launch), subject)
        times.append(time.monotonic() - began)
    return statistics.median(times)


def series_name(mitigation: str) -> str:
    """Name the series of a mitigation's pairs."""
    return f"pairs-{mitigation}"


def run_pairs(series: Series, conditions: AppliedConditions, mitigation: str, pairs: int, block: int) -> str:
    """Run all pairs in random order, no look between; say so where the program cannot run under the mitigation."""
    schedule = Crossover((BASELINE, mitigation), pairs, f"recording:{mitigation}", block)
    try:
        carry_out(Experiment(conditions, schedule), series)
    except VgoError as error:
        last = series.rows[-1] if series.rows else None
        if last and last["condition"] == mitigation and not last["ok"]:
            return f"the program fails under it: {error}"
        raise
    return ""
