"""What each mechanism costs on this machine, forced on and off, at several doses.

`python -m vgo_agent.evals.programs.costs` prints it. A mechanism that costs nothing at its doses makes nulls of
programs that were to have a cause, so that the share of nulls is not the one that is said.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path
from statistics import median

from scipy.stats import mannwhitneyu

from ...agent.render.text import markdown_page
from ...agent.report.numbers import number
from ...knowledge.shape import Frozen
from ...tools.document import Document, Table
from .compose import alone
from .maker import DRAWN, LUCK, NOTHING, forced_times, lacking, limited_group, written
from .parts import Language, Mechanism, parts

BASE_MS, DOSES_MS, RUNS = 20.0, (4.0, 20.0, 80.0), 9
ON = 1


class MechanismCost(Frozen):
    """One mechanism at one dose."""

    key: str
    language: Language
    planned_ms: float
    on_ms: float
    off_ms: float
    p_value: float
    """Of runs with it being longer by luck (Mann-Whitney, one-sided)."""

    @property
    def cost_ms(self) -> float:
        """What it adds."""
        return self.on_ms - self.off_ms


def cost(one: Mechanism, language: Language, planned_ms: float, folder: Path, runs: int = RUNS) -> MechanismCost:
    """Measure one; `folder` is new, and lies on a disk."""
    program = alone(one, language, BASE_MS, planned_ms)
    built = written(program, folder / "program", folder / "sealed")
    with limited_group(built[DRAWN].group):
        times = forced_times(program, built, runs)
    return MechanismCost(
        key=one.key,
        language=language,
        planned_ms=program.truth.inserted[0].planned_ms,
        on_ms=median(times[ON]),
        off_ms=median(times[NOTHING]),
        p_value=mannwhitneyu(times[ON], times[NOTHING], alternative="greater").pvalue,
    )


def costs(keys: tuple[str, ...], runs: int = RUNS) -> Iterator[MechanismCost]:
    """Measure those of these keys, all without any, at each dose that differs from the one before."""
    lacks = lacking()
    for one in parts().mechanisms:
        if (keys and one.key not in keys) or {*one.needs} & lacks:
            continue
        for language in one.languages:
            if language in lacks:
                continue
            before = 0.0
            for planned_ms in DOSES_MS:
                with tempfile.TemporaryDirectory(dir=".") as folder:
                    found = cost(one, language, planned_ms, Path(folder).resolve() / "one", runs)
                if found.planned_ms != before:
                    yield found
                before = found.planned_ms


def costs_document(found: Sequence[MechanismCost], runs: int) -> Document:
    """Give the table."""
    rows = tuple(
        (one.key, one.language, *(number(ms, 3) for ms in (one.planned_ms, one.on_ms, one.off_ms, one.cost_ms)))
        + ("yes" if one.p_value < LUCK else "no",)
        for one in found
    )
    heads = ("mechanism", "language", "planned ms", "median on", "median off", "costs ms", "measurable")
    busy = f"{os.cpu_count()} CPUs, load {os.getloadavg()[1]:.2g}, {date.today()}"
    made = f"Made by `python -m vgo_agent.evals.programs.costs --markdown FILE` ({busy}): {runs} runs forced on, "
    told = "as many off, in random order, in a program of one process with a base load of 20 ms on a quiet machine. "
    last = f"Measurable: longer with it, with less than {LUCK:g} of luck (Mann-Whitney, one-sided)."
    noted = (
        "On a busy machine small doses are lost in the noise, waiting for a CPU adds to most, and two threads that "
        "hardly ever run at once cost each other little."
    )
    return Document("What mechanisms cost", "mechanism costs", (made + told + last, noted, Table(heads, rows)))


def main() -> None:
    """Measure here and now, in the working directory; each is told as it comes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("keys", nargs="*", help="of mechanisms; all by default")
    parser.add_argument("--runs", type=int, default=RUNS, help="of each kind")
    parser.add_argument("--markdown", type=Path, help="write the table there")
    asked = parser.parse_args()
    unknown = sorted({*asked.keys} - {one.key for one in parts().mechanisms})
    if unknown:
        parser.error(f"no mechanism is called {', '.join(unknown)}")
    found = []
    for one in costs(tuple(asked.keys), asked.runs):
        found.append(one)
        measurable = "" if one.p_value < LUCK else "  not measurable"
        print(
            f"{one.key:20} {one.language:7} planned {one.planned_ms:8.2f}  on {one.on_ms:8.2f}  off {one.off_ms:8.2f}  "
            f"costs {one.cost_ms:8.2f}{measurable}",
            flush=True,
        )
    if asked.markdown:
        asked.markdown.write_text(markdown_page(costs_document(found, asked.runs)))


if __name__ == "__main__":
    main()
