"""A study in words: its tables, answers and what it recommends, as a document."""

from __future__ import annotations

import shlex
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...tools import document as doc
from ...tools.claim import Claim, in_a_word, interval
from ...tools.row import Row
from ...tools.run_table import RUNS
from ...tools.statistics.values import IntervalEstimate
from ...tools.study.design import StudyDesign, by_reason
from ...tools.study.effects import Effect
from ...tools.study.spreads import Against
from ...tools.study.study import Study
from ...tools.subject import Subject
from ..render.text import blocks_text, terminal_text
from ..run_folder import REQUEST
from ..session import ShownAnswer
from .numbers import ABSENT, number, percent, ratio, scale

_ENDS = "the ends are the paper's normalised minimum and maximum, which more runs only widen."
_EFFECTS = (
    "Ratios of the mean absolute deviation from the median, and of the mean, over all settings that are otherwise the "
    "same; of an interaction (x), by how much both together differ from what each does alone. p-values are of the "
    "spread, adjusted by Holm over all effects. Rounds were resampled whole."
)


@dataclass(frozen=True)
class StudyResult:
    """A study that has ended."""

    subject: Subject
    study: Study
    rows: tuple[Row, ...]
    folder: Path

    @property
    def answer(self) -> Mapping[str, Any]:
        """All that it found."""
        return summary(self)

    def shown(self, saved: Sequence[Path] = ()) -> ShownAnswer:
        """All that it found, and its words."""
        files = [path.name for path in sorted(self.folder.glob("[!.]*.*"))]
        return ShownAnswer({**self.answer, "files": files}, text(self))


def planned(design: StudyDesign, rounds: int) -> str:
    """Say what a study would run, and what it would skip."""
    said = f"{len(design.settings)} settings, {rounds} rounds at most, on {design.machine}."
    changes = doc.Table(("setting", "changes"), [(one.name, one.shell_words()) for one in design.settings])
    return blocks_text((said, "Nothing was run.", changes, *_skipped(design)))


def _skipped(design: StudyDesign) -> list[str]:
    return [f"Skipped {one}." for one in by_reason(design.skipped)]


def summary(studied: StudyResult) -> dict[str, Any]:
    """Give the whole answer as JSON has it."""
    values = studied.study.model_dump(mode="json")
    answer = {"command": list(studied.subject.command), "headline": studied.study.headline, **values}
    return {"folder": str(studied.folder), **answer}


def document(studied: StudyResult) -> doc.Document:
    """Give the whole answer, with figures settings, effects and cores."""
    study = studied.study
    captions = {
        "settings": f"Each mark is a run over the mean of its setting: {_ENDS}",
        "effects": "95 % intervals, each for itself.",
        "cores": "How the variability and the mean go with the number of cores.",
    }
    figures = {name: doc.Figure(name, caption) for name, caption in captions.items()}
    effects = (_EFFECTS, figures["effects"], _effects(study.effects)) if study.effects else ()
    reserved = (study.reservation.answer, figures["cores"], _cores(studied))
    changes = tuple((f"`{one.name}`", f"`{one.shell_words()}`") for one in studied.study.design.settings)
    return doc.Document(
        shlex.join(studied.subject.command),
        "thread study",
        (
            doc.Headline("", study.verdict),
            (
                f"{study.rounds} rounds of {study.planned} on a machine with {study.design.machine}; each round ran "
                "every setting once, in random order."
            ),
            *map(doc.Note, study.notes),
            *_advice(study),
            doc.Section("Each setting", (figures["settings"], _settings(studied))),
            doc.Section("Against the environment as given", (_held_against(study),)),
            doc.Section("Effects and interactions", effects),
            doc.Section("Cores used, and left to the system", reserved),
            doc.Section("Clock of the CPUs", (_clocks(studied.rows),)),
            doc.Section("Left out", (doc.Listing(tuple(_left_out(study))),)),
            doc.Section("The settings", (doc.Facts(changes),), folded=True),
            f"Every run is in `{RUNS}`; what was asked is in `{REQUEST}`.",
        ),
    )


def text(studied: StudyResult) -> str:
    """Tell the answer in a terminal."""
    return f"{terminal_text(document(studied))}\nReport: {studied.folder / 'report.html'}"


def _advice(study: Study) -> Iterator[doc.Block]:
    if advice := study.advice:
        in_shell = doc.Command("\n".join(advice.shell), "In a shell")
        with_slurm = doc.Command("\n".join(advice.slurm), "With Slurm")
        yield doc.Section(f"Recommended: {advice.setting}", (in_shell, with_slurm, *advice.notes))


def _left_out(study: Study) -> list[str]:
    """Name settings that failed in their warm-up run, that turned out the same here, and levels that cannot be had."""
    failed = [f"Failed, so not run in rounds: {one.setting}: {one.failure}." for one in study.tried if one.failure]
    same: dict[str, list[str]] = {}
    for one in study.tried:
        if one.alike:
            same.setdefault(one.alike, []).append(one.setting)
    alike = (f"The same here as {one}, by what the runtime says: {', '.join(others)}." for one, others in same.items())
    return [*failed, *alike, *_skipped(study.design)]


def _settings(studied: StudyResult) -> doc.Table:
    spreads, unit = studied.study.spreads, studied.subject.unit
    mean = scale(unit, max((one.mean or 0.0 for one in spreads), default=0.0))

    def between(found: IntervalEstimate | None, factor: float) -> str:
        return f" [{number(found.low * factor, 3)}, {number(found.high * factor, 3)}]" if found else ""

    rows: list[tuple[doc.Cell, ...]] = [
        (
            one.setting,
            f"{one.runs} ({one.failed} failed)" if one.failed else str(one.runs),
            one.mean,
            mean.show(one.sd) + between(one.sd_interval, mean.factor),
            percent(one.cv) + between(one.cv_interval, 100),
            *(one.minimum, one.maximum, one.cpus_busy),
        )
        for one in spreads
    ]
    busy = doc.TableColumn("CPUs busy", digits=3)
    return doc.Table(
        ("setting", "runs", doc.TableColumn("mean", unit), "SD [95 %]", "CV [95 %]", "min/mean", "max/mean", busy), rows
    )


def _held_against(study: Study) -> doc.Table:
    """Tabulate each setting against the environment as given; the confirming batch comes last."""
    rows = [_held(one.setting, one.against) for one in study.spreads if one.against]
    if study.confirmed and study.chosen:
        rows.append(_held(f"{study.chosen}, in runs of its own", study.confirmed))
    return doc.Table(("setting", "spread ratio", "level", "CV ratio", "mean ratio", "p, alone", "spread"), rows)


def _held(name: str, against: Against) -> tuple[str, ...]:
    spread, parts = against.spread, (against.cv, against.mean)
    level, p = (percent(spread.level), number(spread.p_value, 2)) if isinstance(spread, Claim) else (ABSENT, ABSENT)
    return name, interval(spread), level, *(interval(part) for part in parts), p, in_a_word(spread)


def _effects(effects: Sequence[Effect]) -> doc.Table:
    rows: list[tuple[doc.Cell, ...]] = [
        (named(one), *(ratio(part.value, part.low, part.high) for part in (one.spread, one.mean)), one.p_value)
        for one in effects
    ]
    p = doc.TableColumn("p (Holm)", digits=2)
    return doc.Table(("effect", "spread ratio [95 %]", "mean ratio [95 %]", p), rows)


def named(one: Effect) -> str:
    """Name an effect: `wait: active for default`; an interaction has two of them."""
    parts = zip(one.factors, one.levels, one.reference, strict=True)
    return " x ".join(f"{factor}: {level} for {reference}" for factor, level, reference in parts)


def _cores(studied: StudyResult) -> doc.Table:
    """Tabulate how the variability grows with the number of cores; nothing where there is one number alone."""
    steps, by_name = studied.study.reservation.steps, {one.setting: one for one in studied.study.spreads}
    rows: list[tuple[doc.Cell, ...]] = []
    for step in steps if len(steps) > 1 else ():
        one, held = by_name[step.setting], step.against_all
        of_all = (interval(held.spread), in_a_word(held.spread)) if held else (ABSENT, "every core")
        rows.append((step.cores, step.spare, step.threads, one.mean, one.cv, one.minimum, one.maximum, *of_all))
    mean, cv = doc.TableColumn("mean", studied.subject.unit), doc.TableColumn("CV", doc.SHARE, 3)
    return doc.Table(
        ("cores", "left", "threads", mean, cv, "min/mean", "max/mean", "spread ratio to all cores", "spread"), rows
    )


def _clocks(rows: Sequence[Mapping[str, Any]]) -> doc.Table:
    """Tabulate the clock of the CPUs under each setting, over its runs; nothing where it could not be read."""
    seen: dict[str, list[tuple[float, float, float]]] = {}
    for row in rows:
        if row["ok"] == 1 and "freq.mean_mhz" in row:
            mean = row["freq.mean_mhz"]
            ends = row.get("freq.min_mhz", mean), row.get("freq.max_mhz", mean)
            seen.setdefault(row["condition"], []).append((mean, *ends))
    clocks: list[tuple[doc.Cell, ...]] = []
    for name, values in seen.items():
        means, lows, highs = zip(*values, strict=True)
        sd = statistics.stdev(means) if len(means) > 1 else None
        clocks.append((name, statistics.fmean(means), min(lows), max(highs), sd))
    return doc.Table(("setting", "mean MHz", "lowest", "highest", doc.TableColumn("SD over runs", digits=3)), clocks)
