"""Live diagnoses as a table and in words, for the terminal and for Markdown alike."""

from __future__ import annotations

from ...agent.report.numbers import ABSENT, number, percent, ratio
from ...agent.terminal import table
from .intervals import wilson
from .live_scores import LiveResults, LiveRow
from .required import LIVE_SD_RATIO
from .tables import TextTable

HEADER = (
    *("workload", "verdict", "right", "factor", "true", "put in", "false alarm", "mitigation", "cures"),
    *("SD ratio", "mean", "layers", "runs", "s"),
)
LEGEND = {
    "right": "the verdict is; `machine`: nothing was put in, and what is said is what the machine itself does: "
    "interference is named, and a mitigation only if the interval of its spread ratio lies below 1",
    "factor": "the first that is claimed to go with slow runs",
    "true": "it is a cause or moves with one; not asked where no counter shows a cause, or nothing is to be mended",
    "put in": "it is a cause that the workload puts in",
    "false alarm": "of controls and steady twins: a mitigation is claimed, or a factor that is not there",
    "cures": "the mitigation is known to cure the workload; `harmful`: it was measured not to help",
    "SD ratio": "of the claimed mitigation, with its interval. What is claimed is decided by the mean absolute "
    "deviation from the median, which a few outliers widen less. A workload for which a cure is "
    "known is mitigable, also where no counter shows its cause, and counts as 1 where none is claimed",
    "mean": "ratio of the means, with the mitigation over without it",
}


def live_table(results: LiveResults) -> TextTable:
    """Give one row a workload."""
    return TextTable(HEADER, tuple(_cells(row) for row in results.rows))


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
    wrong = [f"{row.name}: {row.why}" for row in results.rows if row.why and not row.skipped]
    left = [f"{row.name}: not run: {row.why}" for row in results.rows if row.skipped]
    legend = [f"{name}: {words}" for name, words in LEGEND.items()]
    head = [line for line in (results.stopped, results.machine) if line]
    blocks = [head, [table(*live_table(results))], live_lines(results), legend, wrong, left]
    return "\n\n".join("\n".join(block) for block in blocks if block)


def live_markdown(results: LiveResults) -> str:
    """Write the same as Markdown."""
    from ...prompts.render import render

    shown = {"table": live_table(results), "lines": live_lines(results), "legend": LEGEND}
    return render("live.md.j2", results=results, **shown)


def _cells(row: LiveRow) -> tuple[str, ...]:
    if row.skipped:
        return (row.name, "not run", *[ABSENT] * (len(HEADER) - 2))
    sd = ABSENT if row.sd_ratio is None else ratio(row.sd_ratio, row.sd_low, row.sd_high)
    return (
        row.name,
        row.verdict or "none",
        "machine" if row.machine else _word(row.right),
        row.factor or ABSENT,
        _word(row.cause),
        _word(row.injected),
        _word(row.false_alarm),
        row.mitigation or ABSENT,
        "harmful" if row.harm else _word(row.cure),
        sd,
        number(row.mean_ratio, 3),
        " ".join(row.layers) or ABSENT,
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
