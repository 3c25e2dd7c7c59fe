"""The outcome of live diagnoses against what the registry of workloads says is right.

Live answers are judged as recorded ones are, by `claims` and by the truth of the workload, with one addition. Nobody
knows what the machine does during a live run. Where nothing is put in that varies (the workload `steady`, and every
steady twin), an answer is right too that names what interferes on this machine (`INTERFERENCE`), and that claims what
keeps it off the program (`SHIELDS`), if the whole interval of its measured spread ratio lies below 1. It is then told
apart as `what the machine does`. Any other claim of a control is a false alarm.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...knowledge.shape import Frozen
from ...tools.remedies import costly
from ...tools.verdict import Verdict, confirmed, factors_found, from_json, matches, title
from ..contest.answer import PRICE, ContestAnswer
from ..recorded.draft import truth_of_workload
from ..workloads.controls import INTERFERENCE, SHIELDS
from ..workloads.registry import has_twin
from ..workloads.workload import Workload
from .intervals import geometric_mean
from .score import Score, claims


class LiveRow(Frozen):
    """One workload, diagnosed once; None: it does not apply."""

    name: str
    """With `, steady` for its twin."""
    why: str = ""
    """Why there is no answer, or no right one."""
    skipped: bool = False
    """It was not run."""
    mitigable: bool = False
    """A mitigation is known to cure it."""
    verdict: str = ""
    right: bool | None = None
    machine: bool = False
    """What is said is what the machine does, where nothing was put in."""
    factor: str | None = None
    cause: bool | None = None
    """The factor is a cause, or moves with one; None where no counter shows one, or there is none."""
    injected: bool | None = None
    """The factor is one of the causes that were put in."""
    false_alarm: bool | None = None
    """Of a control: a mitigation is claimed, or a factor that is not there."""
    mitigation: str | None = None
    cure: bool | None = None
    """The mitigation is one of those that cure it."""
    harm: bool | None = None
    """It is one that was measured not to help."""
    sd_ratio: float | None = None
    sd_low: float | None = None
    sd_high: float | None = None
    mean_ratio: float | None = None
    untold_cost: bool = False
    """The mean got more than 5 % worse, and no warning says so."""
    layers: tuple[str, ...] = ()
    """Metric layers that the last profile had on."""
    runs: int = 0
    seconds: float = 0.0
    run_dir: str = ""


class LiveResults(Frozen):
    """Live diagnoses on one machine."""

    made: str
    command: str
    """The command line."""
    version: str
    commit: str
    knowledge: str
    machine: str
    stopped: str = ""
    """Why not all that was asked for was run."""
    rows: tuple[LiveRow, ...]

    @property
    def sd_ratios(self) -> list[float]:
        """Of each mitigable workload that was run; 1 where nothing was claimed."""
        return [1.0 if row.sd_ratio is None else row.sd_ratio for row in self.rows if row.mitigable and not row.skipped]

    def summary(self) -> dict[str, float | int | None]:
        """Give the numbers that are required."""
        rows, ratios = [row for row in self.rows if not row.skipped], self.sd_ratios
        return {
            "verdicts_right": sum(bool(row.right) for row in rows),
            "of_the_machine": sum(row.machine for row in rows),
            "run": len(rows),
            "causes_true": sum(bool(row.cause) for row in rows),
            "causes_injected": sum(bool(row.injected) for row in rows),
            "causes_asked": sum(row.cause is not None for row in rows),
            "false_alarms": sum(bool(row.false_alarm) for row in rows),
            "controls": sum(row.false_alarm is not None for row in rows),
            "harmful": sum(bool(row.harm) for row in rows),
            "claimed": sum(row.mitigation is not None for row in rows),
            "sd_ratio_geometric_mean": geometric_mean(ratios) if ratios else None,
            "mitigable": len(ratios),
            "untold_cost": sum(row.untold_cost for row in rows),
        }


def skipped(workload: Workload, steady: bool, why: str) -> LiveRow:
    """Say why it was not run."""
    return LiveRow(name=_name(workload, steady), why=why, skipped=True, mitigable=_mitigable(workload, steady))


def judged(workload: Workload, steady: bool, said: dict[str, Any], layers: tuple[str, ...] = ()) -> LiveRow:
    """Score the object that `demo --json` answered with; one with `error` has no answer."""
    if "error" in said:
        why, mitigable = str(said["error"]), _mitigable(workload, steady)
        return LiveRow(name=_name(workload, steady), why=why, right=False, mitigable=mitigable)
    verdict = from_json(said["verdict"])
    answer, truth = _answer(verdict), truth_of_workload(workload.name, steady)
    scores = claims(answer, truth)
    machine = (steady or not has_twin(workload)) and _of_the_machine(answer, verdict)
    right = machine or bool(_met(scores["verdict"]))
    claimed = answer.mitigation or None
    cause = _met(scores["cause@1"])
    return LiveRow(
        name=_name(workload, steady),
        why="" if right else said["headline"],
        mitigable=bool(truth.accepted),
        verdict=answer.verdict,
        right=right,
        machine=machine,
        factor=next(iter(answer.causes), None),
        cause=cause,
        injected=None if cause is None else bool({*answer.causes[:1]} & {*truth.causes}),
        false_alarm=False if machine else _met(scores["false_alarm"]),
        mitigation=claimed,
        cure=None if claimed is None or machine else claimed in truth.accepted,
        harm=None if claimed is None else not machine and claimed in truth.must_not_help,
        layers=layers,
        runs=said["runs"],
        seconds=said["seconds"],
        run_dir=said["run_dir"],
        **_effect(verdict, said["warnings"]),
    )


def _answer(verdict: Verdict) -> ContestAnswer:
    proof, causes = confirmed(verdict), tuple(part.factor for part in factors_found(verdict))
    return ContestAnswer(verdict=title(verdict), causes=causes, mitigation=proof.mitigation if proof else "")


def _of_the_machine(answer: ContestAnswer, verdict: Verdict) -> bool:
    """Tell whether what is said of a program that does not vary itself is what interferes on this machine."""
    if not answer.causes or answer.causes[0] not in INTERFERENCE:
        return False
    proof = confirmed(verdict)
    if proof is None:
        return matches(answer.verdict, ("cause explained, remedy refuted", "cause explained, remedy not tried"))
    return answer.mitigation in SHIELDS and proof.claim.direction == "less"


def _effect(verdict: Verdict, warnings: Sequence[str]) -> dict[str, Any]:
    """Give what a mitigation that is claimed does to spread and mean; nothing where none is."""
    if (proof := confirmed(verdict)) is None:
        return {}
    sd, mean = proof.sd, proof.mean.ratio if proof.mean else None
    costs = mean is not None and costly(mean, lower_is_better=True)
    return {
        "sd_ratio": sd and sd.ratio,
        "sd_low": sd and sd.low,
        "sd_high": sd and sd.high,
        "mean_ratio": mean,
        "untold_cost": costs and not any(PRICE in warning for warning in warnings),
    }


def _met(score: Score) -> bool | None:
    return None if score.value is None else bool(score.value)


def _name(workload: Workload, steady: bool) -> str:
    return f"{workload.name}, steady" if steady else workload.name


def _mitigable(workload: Workload, steady: bool) -> bool:
    return bool(truth_of_workload(workload.name, steady).accepted)
