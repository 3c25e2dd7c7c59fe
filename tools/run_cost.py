"""What one run of the program costs by the clock, from the recorded times alone."""

from __future__ import annotations

from statistics import median

from .case import Finished
from .findings import Findings

PROOF_RUNS = 4
"""Of the program, before the pairs of a mitigation."""


def run_s(findings: Findings, mitigation: str = "") -> float:
    """Seconds that one run of a pair takes, with what lies between two runs: switching, probes, our own work.

    Known from the pairs of this mitigation, else of the others, else from the baseline. Where no clock ran, as over
    recorded runs, these are seconds of the program.
    """
    baseline, plain_s = findings.record.latest("measure"), program_s(findings)
    if not findings.record.clocked:
        return plain_s
    applied = findings.record.succeeded("apply_mitigation")
    own = [_each_s(call) for call in applied if call.arguments.get("mitigation") == mitigation]
    seen = [each for each in own or map(_each_s, applied) if each]
    return median(seen) if seen else max(baseline.took_s / _runs(findings), _alone_s(baseline, plain_s))


def program_s(findings: Findings) -> float:
    """Seconds of the program in one run of the baseline; 0 before it."""
    runs = _runs(findings)
    return findings.record.latest("measure").program_s / runs if runs else 0.0


def proof_s(findings: Findings) -> float:
    """Seconds that the proof of a mitigation takes before its pairs; what its pairs cost holds those of later ones."""
    return PROOF_RUNS * run_s(findings) if findings.record.clocked else 0.0


def _runs(findings: Findings) -> int:
    measured = findings.measured
    return measured.processes or measured.runs + measured.failed + measured.warm_up if measured else 0


def _each_s(call: Finished) -> float:
    """Seconds of one run of the pairs of a call, its proof included; 0 where it has none."""
    runs = 2 * int((call.result or {}).get("pairs", 0))
    return max(call.took_s, _alone_s(call, call.program_s)) / runs if runs else 0.0


def _alone_s(call: Finished, program_s: float) -> float:
    """Seconds of the program where one run follows the other; a call that was cut off and went on took more."""
    return 0.0 if (call.result or {}).get("hosts") else program_s
