"""The outcome of live diagnoses against what the registry of workloads says is right."""

from __future__ import annotations

from typing import Any

from ...agent.report.numbers import ABSENT, number, percent, ratio
from ...agent.terminal import table
from ...tools.subject import Frozen
from ...tools.verdicts import costly
from ..workloads.registry import find
from ..workloads.workload import Workload
from .intervals import geometric_mean, wilson
from .required import LIVE_SD_RATIO
from .tables import Table

PRICE = "steadier at a price"
"""How the warning begins that tells of a worse mean."""
HEADER = ("workload", "verdict", "right", "factor", "true", "mitigation", "cures", "SD ratio", "mean", "runs", "s")


class LiveRow(Frozen):
    """One workload, diagnosed once; None: it does not apply."""

    name: str
    """With `, steady` for its twin."""
    why: str = ""
    """Why there is no answer."""
    skipped: bool = False
    """It was not run."""
    mitigable: bool = False
    """A mitigation is known to cure it."""
    verdict: str = ""
    right: bool | None = None
    factor: str | None = None
    cause: bool | None = None
    """The factor is a true one; of a twin: no cause is named that is not there."""
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
    runs: int = 0
    seconds: float = 0.0
    run_dir: str = ""


class LiveResults(Frozen):
    """Live diagnoses on one machine."""

    made: str
    version: str
    commit: str
    knowledge: str
    machine: str
    rows: tuple[LiveRow, ...]

    @property
    def sd_ratios(self) -> list[float]:
        """Of each mitigable workload that was run; 1 where nothing was claimed."""
        return [1.0 if row.sd_ratio is None else row.sd_ratio for row in self.rows if row.mitigable and not row.skipped]

    def summary(self) -> dict[str, float | int | None]:
        """Give the numbers that are required."""
        ratios = self.sd_ratios
        return {
            "verdicts_right": sum(bool(row.right) for row in self.rows),
            "run": sum(not row.skipped for row in self.rows),
            "causes_true": sum(bool(row.cause) for row in self.rows),
            "causes_asked": sum(row.cause is not None for row in self.rows),
            "sd_ratio_geometric_mean": geometric_mean(ratios) if ratios else None,
            "mitigable": len(ratios),
            "untold_cost": sum(row.untold_cost for row in self.rows),
        }

    def table(self) -> Table:
        """Give one row a workload."""
        return Table(HEADER, tuple(_cells(row) for row in self.rows))

    def lines(self) -> list[str]:
        """Sum it up in words."""
        found = self.summary()
        lines = [_share("verdict right", found["verdicts_right"], found["run"])]
        lines.append(_share("cause right where there is one to name", found["causes_true"], found["causes_asked"]))
        mean = found["sd_ratio_geometric_mean"]
        if mean is not None:
            lines.append(
                f"SD ratio {number(mean, 3)} (geometric mean over {found['mitigable']} mitigable workloads; "
                f"at most {LIVE_SD_RATIO} is required)"
            )
        lines.append(f"mean more than 5 % worse without a word: {found['untold_cost']}")
        return lines


def skipped(workload: Workload, steady: bool, why: str) -> LiveRow:
    """Say why it was not run."""
    return LiveRow(name=_name(workload, steady), why=why, skipped=True, mitigable=_mitigable(workload, steady))


def judged(workload: Workload, steady: bool, said: dict[str, Any]) -> LiveRow:
    """Score the object that `demo --json` answered with; one with `error` has no answer."""
    name, mitigable = _name(workload, steady), _mitigable(workload, steady)
    if "error" in said:
        return LiveRow(name=name, why=str(said["error"]), right=False, mitigable=mitigable)
    verdict, factor = said["verdict"], said["factor"]
    claimed = said["mitigation"] if verdict == "mitigated" else None
    sd, mean = (said["sd_ratio"] if claimed else None) or {}, said["mean_ratio"] if claimed else None
    costs = mean is not None and costly(mean, lower_is_better=True)
    right = _twin_right(workload, verdict, factor, claimed) if steady else verdict in workload.verdicts
    return LiveRow(
        name=name,
        why="" if right else said["reason"],
        mitigable=mitigable,
        verdict=verdict,
        right=right,
        factor=factor,
        cause=_cause(workload, steady, factor),
        mitigation=claimed,
        cure=None if claimed is None or steady else claimed in workload.cures,
        harm=None if claimed is None else claimed in workload.not_cures,
        sd_ratio=sd.get("value"),
        sd_low=sd.get("low"),
        sd_high=sd.get("high"),
        mean_ratio=mean,
        untold_cost=costs and not any(PRICE in warning for warning in said["warnings"]),
        runs=said["runs"],
        seconds=said["seconds"],
        run_dir=said["run_dir"],
    )


def live_words(results: LiveResults) -> str:
    """Write the table, what it comes to, and what failed and why."""
    wrong = [f"{row.name}: {row.why}" for row in results.rows if row.why and not row.skipped]
    left = [f"{row.name}: not run: {row.why}" for row in results.rows if row.skipped]
    blocks = [[results.machine], [table(*results.table())], results.lines(), wrong, left]
    return "\n\n".join("\n".join(block) for block in blocks if block)


def _name(workload: Workload, steady: bool) -> str:
    return f"{workload.name}, steady" if steady else workload.name


def _mitigable(workload: Workload, steady: bool) -> bool:
    return workload.verdicts[0] == "mitigated" and not steady


def _twin_right(workload: Workload, verdict: str, factor: str | None, claimed: str | None) -> bool:
    """Tell whether a twin was left in peace: nothing was found, or only what interferes on this machine."""
    machine = find("steady")
    if verdict not in (*machine.verdicts, "no visible factor"):
        return False
    return (factor is None or factor in machine.cause) and (claimed is None or claimed in machine.cures)


def _cause(workload: Workload, steady: bool, factor: str | None) -> bool | None:
    if steady:
        return None if factor is None else factor in find("steady").cause
    named = workload.verdicts[0] in ("mitigated", "cause found, no mitigation helped")
    return factor in workload.cause if named else None


def _cells(row: LiveRow) -> tuple[str, ...]:
    if row.skipped:
        return (row.name, "not run", *[ABSENT] * (len(HEADER) - 2))
    sd = ABSENT if row.sd_ratio is None else ratio(row.sd_ratio, row.sd_low, row.sd_high)
    return (
        row.name,
        row.verdict or "none",
        _word(row.right),
        row.factor or ABSENT,
        _word(row.cause),
        row.mitigation or ABSENT,
        _word(row.cure),
        sd,
        number(row.mean_ratio, 3),
        str(row.runs),
        f"{row.seconds:.0f}",
    )


def _word(value: bool | None) -> str:
    return {None: ABSENT, True: "yes", False: "no"}[value]


def _share(words: str, hits: float | int | None, of: float | int | None) -> str:
    if not of or hits is None:
        return f"{words}: {ABSENT}"
    low, high = wilson(hits / of, int(of))
    return f"{words}: {hits} of {of} ({percent(hits / of, 3)} [{percent(low, 3)}, {percent(high, 3)}])"
