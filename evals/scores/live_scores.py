"""The outcome of live diagnoses against what the registry of workloads says is right.

Live answers are judged as recorded ones are, by `claims` and by the truth of the workload, with one addition. Nobody
knows what the machine does during a live run. Where nothing is put in that varies (the workload `steady`, and every
steady twin), an answer is right too that names what interferes on this machine (`INTERFERENCE`), and that claims what
keeps it off the program (`SHIELDS`), if the whole interval of its measured spread ratio lies below 1. It is then told
apart as `what the machine does`. Any other claim of a control is a false alarm.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ...agent.render.markdown import markdown_page
from ...agent.render.terminal import terminal_text
from ...agent.report.numbers import ABSENT, number, percent, ratio
from ...knowledge.shape import Frozen
from ...tools.document import Document, Facts, Listing, Table
from ...tools.remedies import costly
from ...tools.verdict import Verdict, confirmed, factors_found, from_json, matches, title
from ..contest.answer import PRICE, ContestAnswer
from ..recorded.draft import truth_of_workload
from ..workloads.registry import has_twin
from ..workloads.workload import INTERFERENCE, SHIELDS, Workload
from .effects import Score
from .evaluate import LIVE_SD_RATIO
from .results import Origin, made_by
from .score import claims
from .summary import geometric_mean, wilson
from .tables import TextTable


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


class LiveResults(Origin):
    """Live diagnoses on one machine."""

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


class LiveColumn(NamedTuple):
    """A column of the table of live diagnoses."""

    name: str
    cell: Callable[[LiveRow], str]
    words: str = ""
    """What it is, for a reader who may ask."""


COLUMNS = (
    LiveColumn("workload", lambda row: row.name),
    LiveColumn("verdict", lambda row: "not run" if row.skipped else row.verdict or "none"),
    LiveColumn(
        "right",
        lambda row: "machine" if row.machine else _word(row.right),
        "the verdict is; `machine`: nothing was put in, and what is said is what the machine itself does: "
        "interference is named, and a mitigation only if the interval of its spread ratio lies below 1",
    ),
    LiveColumn("factor", lambda row: row.factor or ABSENT, "the first that is claimed to go with slow runs"),
    LiveColumn(
        "true",
        lambda row: _word(row.cause),
        "it is a cause or moves with one; not asked where no counter shows a cause, or nothing is to be mended",
    ),
    LiveColumn("put in", lambda row: _word(row.injected), "it is a cause that the workload puts in"),
    LiveColumn(
        "false alarm",
        lambda row: _word(row.false_alarm),
        "of controls and steady twins: a mitigation is claimed, or a factor that is not there",
    ),
    LiveColumn("mitigation", lambda row: row.mitigation or ABSENT),
    LiveColumn(
        "cures",
        lambda row: "harmful" if row.harm else _word(row.cure),
        "the mitigation is known to cure the workload; `harmful`: it was measured not to help",
    ),
    LiveColumn(
        "SD ratio",
        lambda row: ABSENT if row.sd_ratio is None else ratio(row.sd_ratio, row.sd_low, row.sd_high),
        "of the claimed mitigation, with its interval. What is claimed is decided by the mean absolute "
        "deviation from the median, which a few outliers widen less. A workload for which a cure is "
        "known is mitigable, also where no counter shows its cause, and counts as 1 where none is claimed",
    ),
    LiveColumn(
        "mean", lambda row: number(row.mean_ratio, 3), "ratio of the means, with the mitigation over without it"
    ),
    LiveColumn("layers", lambda row: " ".join(row.layers) or ABSENT),
    LiveColumn("runs", lambda row: ABSENT if row.skipped else str(row.runs)),
    LiveColumn("s", lambda row: ABSENT if row.skipped else f"{row.seconds:.0f}"),
)


def live_table(results: LiveResults) -> TextTable:
    """Give one row a workload."""
    rows = (tuple(column.cell(row) for column in COLUMNS) for row in results.rows)
    return TextTable(tuple(column.name for column in COLUMNS), tuple(rows))


def live_lines(results: LiveResults) -> list[str]:
    """Sum it up in words."""
    found = results.summary()
    asked = found["causes_asked"]
    right = _share("verdict right", found["verdicts_right"], found["run"])
    own = f"; {found['of_the_machine']} of them what the machine does" if found["of_the_machine"] else ""
    lines = [
        right + own,
        _share("factor true where there is one to name", found["causes_true"], asked),
        _share("factor one that was put in", found["causes_injected"], asked),
        _share("false alarms on controls", found["false_alarms"], found["controls"]),
        _share("harmful claims of a mitigation", found["harmful"], found["claimed"]),
    ]
    mean = found["sd_ratio_geometric_mean"]
    if mean is not None:
        lines.append(
            f"SD ratio {number(mean, 3)} (geometric mean over {found['mitigable']} mitigable workloads; "
            f"at most {LIVE_SD_RATIO} is required)"
        )
    lines.append(f"mean more than 5 % worse without a word: {found['untold_cost']}")
    return lines


def live_words(results: LiveResults) -> str:
    """Write the table, what it comes to, and what failed and why."""
    return terminal_text(_document(results))


def live_markdown(results: LiveResults) -> str:
    """Write the same as Markdown."""
    return markdown_page(_document(results))


def _document(results: LiveResults) -> Document:
    wrong = (f"{row.name}: {'not run: ' if row.skipped else ''}{row.why}" for row in results.rows if row.why)
    blocks = (
        made_by(results),
        f"The machine: {results.machine}.",
        results.stopped,
        Table(*live_table(results)),
        Listing(tuple(live_lines(results))),
        Listing(tuple(wrong)),
        Facts(tuple((column.name, column.words) for column in COLUMNS if column.words)),
    )
    return Document("Live: the workloads run for real", "live evaluation", blocks)


def _word(value: bool | None) -> str:
    return {None: ABSENT, True: "yes", False: "no"}[value]


def _share(words: str, hits: float | int | None, of: float | int | None) -> str:
    if not of or hits is None:
        return f"{words}: {ABSENT}"
    low, high = wilson(hits / of, int(of))
    return f"{words}: {hits} of {of} ({percent(hits / of, 3)} [{percent(low, 3)}, {percent(high, 3)}])"
