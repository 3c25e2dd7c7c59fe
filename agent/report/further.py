"""The experiments that may follow a diagnosis, as `further_steps.txt.j2` names them."""

from __future__ import annotations

import math
import shlex
from typing import Any

from ...tools.conclude import ConcludeResult
from ...tools.verdict import Diagnosis, NotSought, Undecided, Verdict, helpful, left_for_time
from ...tools.verdict_words import listed
from ..finished import FinishedRun
from ..record import bodies
from ..transcript import RunStart
from .evidence import Evidence
from .numbers import number, quantity
from .proposal import proposed

IN_UNIT = ("sd", "mean", "median", "p95", "p99")
"""Responses of a surface that have the unit of the outcome."""


def resume_command(run: FinishedRun) -> str:
    """Give a run as much time again as it had, or as much as what is left may take."""
    asked_s = bodies(run.events, RunStart)[0].limits.budget_s if run.events else run.limits.budget_s
    longest_s = max((call.took_s for call in run.record.calls if call.tool == "apply_mitigation"), default=0.0)
    left = left_for_time(run.record.latest("conclude").read(ConcludeResult).verdict)
    more_s = max(asked_s, 10 * math.ceil(len(left) * longest_s / 10))
    return f"vgo-agent resume {shlex.quote(run.run_dir)} --budget {more_s:g}"


def further(evidence: Evidence, command: str) -> dict[str, Any]:
    """What other experiments would tell: a surface that was asked, a study of threads, or a sweep."""
    hosts = evidence.hosts
    one, varies, sweep = evidence.predicted, _unsolved(evidence.verdict), proposed(evidence)
    return {
        "ran_out": listed(left_for_time(evidence.verdict)),
        "resume": resume_command(evidence.run),
        "predicted": one,
        "settings": ", ".join(f"{name}={value}" for name, value in one.config.items()) if one else "",
        "lowest": quantity(one.value, one.unit if one.response in IN_UNIT else "") if one else "",
        "within": f"{number(one.low, 3)} to {number(one.high, 3)}" if one and one.high is not None else "",
        "source": shlex.quote(one.source) if one else "",
        "threads": varies and evidence.run.machine.program_openmp and len(evidence.run.machine.cpus) > 1,
        "command": command,
        "sweep": sweep,
        "drain": " ".join(hosts.drain) if hosts else "",
        "slow_hosts": ",".join(slow.host for slow in hosts.slow) if hosts else "",
    }


def _unsolved(verdict: Verdict) -> bool:
    """Nothing helps yet, and more than one mitigation was in question."""
    if not isinstance(verdict, Diagnosis) or helpful(verdict):
        return False
    return isinstance(verdict.remedy, Undecided) or not isinstance(verdict.cause, NotSought)
