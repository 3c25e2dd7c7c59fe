"""Is every claim of a diagnosis backed? Cited events, quoted results, numbers in the words of the verdict."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ...agent.finished import FinishedRun
from ...agent.record import bodies
from ...agent.report.evidence import gather
from ...agent.report.mitigations import suspects, untried
from ...agent.report.tell import verdict_words
from ...agent.transcript import ToolEnd, VerdictGiven
from ...tools.compare import CompareResult
from ...tools.conclude import ConcludeResult

NUMBER = re.compile(r"(?<![\w.,`-])[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?(?![\w`])")
"""A number that stands by itself: not part of a name, a version or a file."""
SCALES = tuple(10.0**power for power in (0, 2, 3, 6, 9, -3, -6, -9)) + (2.0**-10, 2.0**-20, 2.0**-30)
"""Per cent, and the units in which a value may be written."""
LONG = 1000
LEVEL = 95.0
"""Of every interval, in per cent; it stands in the templates."""


def problems(run: FinishedRun) -> Iterator[str]:
    """Name what is not backed, a sentence each."""
    yield from _cited(run)
    yield from _quoted(run)
    yield from _unfounded(run)


def _cited(run: FinishedRun) -> Iterator[str]:
    ends = {event.seq: event.body for event in run.events}
    for verdict in bodies(run.events, VerdictGiven):
        for place in verdict.evidence:
            body = ends.get(place)
            if not isinstance(body, ToolEnd):
                yield f"event {place} is cited and is no end of a call"
            elif body.result is None:
                yield f"event {place} is cited and has no result"


def _quoted(run: FinishedRun) -> Iterator[str]:
    """What the verdict claims of a mitigation is what the confirming comparison says."""
    conclusion = run.record.latest("conclude").read(ConcludeResult)
    if conclusion.verdict != "mitigated":
        return
    calls = [call for call in run.record.succeeded("compare") if call.call_id == conclusion.confirming]
    if not calls:
        yield f"the verdict rests on {conclusion.confirming}, which is no finished comparison"
        return
    compared = calls[0].read(CompareResult)
    if compared.mitigation != conclusion.mitigation or compared.batch != 2:
        yield f"{conclusion.confirming} is batch {compared.batch} of {compared.mitigation}, not what is claimed"
    if compared.comparison.verdict != "steadier":
        yield f"{conclusion.confirming} says {compared.comparison.verdict}"
    if conclusion.sd_ratio != compared.comparison.ratio("sd"):
        yield f"the SD ratio of the verdict is not that of {conclusion.confirming}"


def _unfounded(run: FinishedRun) -> Iterator[str]:
    """Numbers in the sentence of the verdict that no result, and no limit, rounds to."""
    evidence = gather(run)
    sentence, _ = verdict_words(evidence, untried(evidence), suspects(evidence))
    sentence = re.sub(r"`[^`]*`", "", sentence)
    known = {LEVEL}
    for call in run.record.calls:
        known.update(_numbers(call.result or {}))
    known.update(_numbers(run.limits.model_dump()))
    for found in NUMBER.finditer(sentence):
        if not _is_founded(found[0].replace(",", ""), known):
            yield f"the verdict says {found[0]}, which no tool gave"


def _numbers(value: Any) -> Iterator[float]:
    """Every number in a result, those within its words too, and how many things a list has."""
    if isinstance(value, str):
        yield from (float(found[0].replace(",", "")) for found in NUMBER.finditer(value))
    elif isinstance(value, (Mapping, list, tuple)):
        yield float(len(value))
        # A column of cells holds what no sentence quotes.
        if len(value) < LONG:
            for each in value.values() if isinstance(value, Mapping) else value:
                yield from _numbers(each)
    elif isinstance(value, (int, float)):
        yield float(value)


def _is_founded(word: str, known: set[float]) -> bool:
    """Tell whether some known number, in some unit, is written like this at as many digits."""
    said = float(word)
    digits = len(word.lstrip("+-0.").partition("e")[0].replace(".", "")) or 1
    return any(_rounds_to(value * scale, said, digits) for value in known for scale in SCALES)


def _rounds_to(value: float, said: float, digits: int) -> bool:
    return value == said or abs(value - said) <= 0.5000001 * 10.0 ** (_exponent(said) - digits + 1)


def _exponent(value: float) -> int:
    return int(f"{value:e}".partition("e")[2]) if value else 0
