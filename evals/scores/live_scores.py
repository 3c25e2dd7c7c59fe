"""The outcome of live diagnoses against what the registry of workloads says is right.

Live answers are judged as recorded ones are, by `claims` and by the truth of the workload, with one addition. Nobody
knows what the machine does during a live run. Where nothing is put in that varies (the workload `steady`, and every
steady twin), an answer is right too that names what interferes on this machine (`INTERFERENCE`), and that claims what
keeps it off the program (`SHIELDS`), if the whole interval of its measured spread ratio lies below 1. It is then told
apart as `what the machine does`. Any other claim of a control is a false alarm.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ...agent.report.numbers import ABSENT, number, ratio
from ...tools.claim import Claim
from ...tools.document import Document, Facts, Listing, Table
from ...tools.verdict import confirmed, factors_found, from_json, matches, title
from ..contest.answer import PRICE, ContestAnswer
from ..recorded.draft import truth_of_workload
from ..recorded.schema import Truth
from ..workloads.registry import has_twin
from ..workloads.workload import INTERFERENCE, SHIELDS, Workload
from .effects import Score, untold_cost
from .evaluate import LIVE_SD_RATIO
from .results import Origin, ScoredAnswer, made_by
from .score import CLOCK, KINDS, claims
from .summary import ContestantSummary, summary_of
from .tables import cell

PLANNER = "rules"
COUNTED = ("verdict", "cause@1", "injected@1", "false_alarm", "harm", "untold_cost")
"""Shares that are summed up in words, each of the workloads to which it applies."""


class LiveRow(ScoredAnswer):
    """One workload, diagnosed once; the case is its name, with `, steady` for its twin."""

    contestant: str = PLANNER
    seed: int = 1
    seconds: float = 0.0
    why: str = ""
    """Why there is no answer, or no right one."""
    skipped: bool = False
    """It was not run, and nothing of it is scored."""
    machine: bool = False
    """What is said is what the machine does, where nothing was put in."""
    sd: Claim | None = None
    """Of the claimed mitigation, with its interval."""
    mean: Claim | None = None
    layers: tuple[str, ...] = ()
    """Metric layers that the last profile had on."""
    run_dir: str = ""

    def value(self, score: str) -> float | None:
        """Give one score; None where it does not apply."""
        return self.scores[score].value if score in self.scores else None


class LiveResults(Origin):
    """Live diagnoses on one machine."""

    machine: str
    stopped: str = ""
    """Why not all that was asked for was run."""
    rows: tuple[LiveRow, ...]

    @property
    def summary(self) -> ContestantSummary:
        """Sum up the scores of those that were run, as of recorded answers; but their time is that of the program."""
        found = summary_of(PLANNER, [row for row in self.rows if not row.skipped])
        return found.model_copy(update={"scores": {name: one for name, one in found.scores.items() if name != CLOCK}})


def skipped(workload: Workload, steady: bool, why: str) -> LiveRow:
    """Say why it was not run."""
    return _row(workload, steady, ContestAnswer(verdict="", ended=why), {}, why=why, skipped=True)


def judged(workload: Workload, steady: bool, said: dict[str, Any], layers: tuple[str, ...] = ()) -> LiveRow:
    """Score the object that `demo --json` answered with; one with `error` has no answer."""
    truth = truth_of_workload(workload.name, steady)
    answer = answer_said(said)
    if "error" in said:
        scores = claims(answer, truth) | _effect(answer, None, None, truth)
        return _row(workload, steady, answer, scores, why=answer.ended)
    proof = confirmed(from_json(said["verdict"]))
    sd, mean = (proof.sd, proof.mean) if proof else (None, None)
    scores = claims(answer, truth) | _effect(answer, sd, mean, truth)
    machine = (steady or not has_twin(workload)) and of_the_machine(answer, proof.claim if proof else None)
    if machine:
        reason = "It is what the machine does."
        right = {"verdict": 1.0, "alone": 1.0, "false_alarm": 0.0, "harm": 0.0}
        scores |= {name: Score(value=right[name], reason=reason) for name in right if scores[name].value is not None}
    return _row(
        workload,
        steady,
        answer,
        scores,
        why="" if scores["verdict"].value else said["headline"],
        machine=machine,
        sd=sd,
        mean=mean,
        layers=layers,
        seconds=said["seconds"],
        run_dir=said["run_dir"],
    )


def answer_said(said: dict[str, Any]) -> ContestAnswer:
    """What the object of `diagnose --json` or `demo --json` claims; one with `error` has no verdict."""
    if "error" in said:
        return ContestAnswer(verdict="", ended=str(said["error"]))
    verdict = from_json(said["verdict"])
    proof = confirmed(verdict)
    return ContestAnswer(
        verdict=title(verdict),
        causes=tuple(part.factor for part in factors_found(verdict)),
        mitigation=proof.mitigation if proof else "",
        price_told=any(PRICE in warning for warning in said["warnings"]),
        runs=said["runs"],
    )


def _row(workload: Workload, steady: bool, answer: ContestAnswer, scores: dict[str, Score], **more: Any) -> LiveRow:
    return LiveRow(case=f"{workload.name}{', steady' if steady else ''}", answer=answer, scores=scores, **more)


def of_the_machine(answer: ContestAnswer, claim: Claim | None) -> bool:
    """Tell whether what is said of a program that does not vary itself is what interferes on this machine."""
    if not answer.causes or answer.causes[0] not in INTERFERENCE:
        return False
    if claim is None:
        return matches(answer.verdict, ("cause explained, remedy refuted", "cause explained, remedy not tried"))
    return answer.mitigation in SHIELDS and claim.direction == "less"


def _effect(answer: ContestAnswer, sd: Claim | None, mean: Claim | None, truth: Truth) -> dict[str, Score]:
    """Score what the claimed mitigation did in its own runs; where none is claimed, nothing was changed."""
    left = sd.ratio if sd else None if answer.mitigation else 1.0
    unknown = ", and the ratio of its SDs is not known" if left is None else ""
    gain = Score(value=left, reason=f"{answer.mitigation or 'No mitigation'} is claimed{unknown}.")
    return {
        "sd_ratio": gain if truth.accepted else Score(value=None, reason="No mitigation is known to help."),
        "untold_cost": untold_cost(answer, mean.ratio if mean else None, lower_is_better=True),
    }


class LiveColumn(NamedTuple):
    """A column of the table of live diagnoses."""

    name: str
    cell: Callable[[LiveRow], str]
    words: str = ""
    """What it is, for a reader who may ask."""


def _scored(name: str, score: str) -> LiveColumn:
    return LiveColumn(name, lambda row: _word(row.value(score)), KINDS[score].words)


COLUMNS = (
    LiveColumn("workload", lambda row: row.case),
    LiveColumn("verdict", lambda row: "not run" if row.skipped else row.answer.verdict or "none"),
    LiveColumn(
        "right",
        lambda row: "machine" if row.machine else _word(row.value("verdict")),
        "the verdict is; `machine`: nothing was put in, and what is said is what the machine itself does: "
        "interference is named, and a mitigation only if the interval of its spread ratio lies below 1",
    ),
    LiveColumn("factor", lambda row: next(iter(row.answer.causes), ABSENT), "the first that is claimed"),
    _scored("true", "cause@1"),
    _scored("put in", "injected@1"),
    _scored("false alarm", "false_alarm"),
    LiveColumn("mitigation", lambda row: row.answer.mitigation or ABSENT),
    LiveColumn(
        "cures",
        lambda row: (
            "harmful" if row.value("harm") else _word(row.value("mitigation")) if row.answer.mitigation else ABSENT
        ),
        "the mitigation is known to cure the workload; `harmful`: it was measured not to help",
    ),
    LiveColumn(
        "SD ratio",
        lambda row: ratio(row.sd.ratio, row.sd.low, row.sd.high) if row.sd else ABSENT,
        "of the claimed mitigation, with its interval. What is claimed is decided by the mean absolute "
        "deviation from the median, which a few outliers widen less. A workload for which a cure is "
        "known is mitigable, also where no counter shows its cause, and counts as 1 where none is claimed",
    ),
    LiveColumn(
        "mean", lambda row: number(row.mean.ratio if row.mean else None, 3), "ratio of the means, with it over without"
    ),
    LiveColumn("layers", lambda row: " ".join(row.layers) or ABSENT),
    LiveColumn("runs", lambda row: ABSENT if row.skipped else str(row.answer.runs)),
    LiveColumn("s", lambda row: ABSENT if row.skipped else f"{row.seconds:.0f}"),
)


def live_lines(results: LiveResults) -> list[str]:
    """Sum it up in words."""
    scores, machine = results.summary.scores, sum(row.machine for row in results.rows)
    shares = {name: scores[name] for name in COUNTED if name in scores}
    lines = [f"{KINDS[name].words}: {cell(name, found, 0)} of {found.n}" for name, found in shares.items()]
    if machine:
        lines.append(f"right, since it is what the machine does: {machine}")
    if found := scores.get("sd_ratio"):
        lines.append(
            f"SD ratio {number(found.value, 3)} (geometric mean over {found.n} mitigable workloads; "
            f"at most {LIVE_SD_RATIO} is required)"
        )
    return lines


def live_document(results: LiveResults) -> Document:
    """Give the table, what it comes to, and what failed and why."""
    wrong = (f"{row.case}: {'not run: ' if row.skipped else ''}{row.why}" for row in results.rows if row.why)
    blocks = (
        made_by(results),
        f"The machine: {results.machine}.",
        results.stopped,
        Table(
            tuple(column.name for column in COLUMNS),
            tuple(tuple(column.cell(row) for column in COLUMNS) for row in results.rows),
        ),
        Listing(tuple(live_lines(results))),
        Listing(tuple(wrong)),
        Facts(tuple((column.name, column.words) for column in COLUMNS if column.words)),
    )
    return Document("Live: the workloads run for real", "live evaluation", blocks)


def _word(value: float | None) -> str:
    return ABSENT if value is None else "yes" if value else "no"
