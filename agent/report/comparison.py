"""A comparison of recorded runs in words for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from ...prompts.render import render
from ...tools.recorded_comparison.compare import Contrasted
from ...tools.statistics.comparison.bootstrap import Ratio
from ...tools.statistics.comparison.compare import Comparison
from ...tools.statistics.comparison.screen import Screened
from ..terminal import folded, table
from .numbers import number, p_value, percent, quantity, ratio
from .tell import NAMES

MOST_DIFFERENCES = 20
LONGEST = 40
"""Characters of a fact that are shown."""
ARMS = ("ARM", "RUNS", "MEAN RATIO", "SD RATIO [95 %]", "P", "Q (BH)", "P (HOLM)", "VERDICT", "CLAIM")


def text(found: Contrasted) -> str:
    """Give the words of a terminal: one arm in full, or a line for each of several."""
    words = _one(found, found.arms[0]) if len(found.arms) == 1 else _several(found)
    return folded(words)


def _one(found: Contrasted, arm: Screened) -> str:
    one = arm.comparison
    return render(
        "comparison.txt.j2",
        verdict=one.verdict,
        names=f": {arm.name} against {found.baseline}",
        sentence=_sentence(found, arm),
        table=table(("", found.baseline, arm.name, "RATIO [95 %]"), [_row(r, found.unit) for r in one.ratios]),
        tests=list(_tests(found, one)),
        differs=_differs(found),
        facts=_facts(found),
        notes=[*found.notes, *one.notes, *_gaps(found)],
        steps=list(_steps(one)),
    )


def _several(found: Contrasted) -> str:
    claimed = [arm.claim for arm in found.arms]
    steadier, less = claimed.count("steadier"), claimed.count("less steady")
    inner = dict.fromkeys(note for arm in found.arms for note in arm.comparison.notes)
    return render(
        "comparison.txt.j2",
        verdict=f"{steadier} of {len(found.arms)} steadier",
        names=f" than {found.baseline}",
        sentence=f"{less} less steady, {len(claimed) - steadier - less} without a claim; {_metric(found)}.",
        table=table(ARMS, [_arm(found, arm) for arm in found.arms]),
        tests=["Q screens: measure those arms again. CLAIM holds although so many arms were tried."],
        differs=_differs(found),
        facts=_facts(found),
        notes=[*found.notes, *inner, *_gaps(found)],
        steps=[],
    )


def _metric(found: Contrasted) -> str:
    better = "lower" if found.lower_is_better else "higher"
    return f"{found.metric}{f' in {found.unit}' if found.unit else ''}, {better} is better"


def _sentence(found: Contrasted, arm: Screened) -> str:
    one = arm.comparison
    each, block = found.samples.get(arm.name, 1), found.blocks.get(arm.name, 1)
    first, second = (number(n // each) for n in (one.baseline_runs, one.other_runs))
    runs = f"{first} pairs" if one.paired else f"{first} and {second} runs, not paired"
    if block > 1:
        runs += f", in blocks of {block}"
    if each > 1 and one.paired:
        runs = f"{number(one.baseline_runs)} pairs of samples of {first} pairs of runs"
    elif each > 1:
        both = f"{number(one.baseline_runs)} samples of {first} runs and {number(one.other_runs)} of {second}"
        runs = f"{both}, not paired"
    sd = one.ratio("sd")
    reason = f" {one.reason[0].upper()}{one.reason[1:]}." if one.reason else ""
    return f"SD ratio {ratio(sd.value, sd.low, sd.high)} over {runs} of {_metric(found)}.{reason}"


def _row(one: Ratio, unit: str) -> tuple[str, ...]:
    def show(value: float | None) -> str:
        return percent(value) if one.statistic == "cv" else quantity(value, unit)

    return (
        NAMES.get(one.statistic, one.statistic),
        show(one.baseline),
        show(one.other),
        ratio(one.value, one.low, one.high),
    )


def _tests(found: Contrasted, one: Comparison) -> Iterator[str]:
    each = ", ".join(f"{test.statistic} {p_value(test.adjusted)}" for test in one.tests)
    yield f"Spread: {p_value(one.p_value)} (permutation, Holm: {each})."
    yield f"Location: {p_value(one.p_location)} (mean ratio {_interval(one.ratio('mean'))}); it decides nothing here."
    sds = "" if one.relative_distance is None else f", {number(one.relative_distance, 2)} SDs of the baseline"
    modes = f"modes {one.baseline_modes} -> {one.other_modes}"
    yield f"Wasserstein distance {quantity(one.distance, found.unit)}{sds}; {modes}."


def _arm(found: Contrasted, arm: Screened) -> tuple[str, ...]:
    one = arm.comparison
    return (
        arm.name,
        number(one.other_runs // found.samples.get(arm.name, 1)),
        ratio(one.ratio("mean").value),
        _interval(one.ratio("sd")),
        *(_p(p) for p in (one.p_value, arm.q_value, arm.p_adjusted)),
        one.verdict,
        arm.claim if arm.claim in ("steadier", "less steady") else "none",
    )


def _p(p: float) -> str:
    return p_value(p).removeprefix("p ").removeprefix("= ")


def _interval(one: Ratio) -> str:
    return ratio(one.value, one.low, one.high)


def _differs(found: Contrasted) -> str:
    """Lay out what differs in the systems under test."""
    names = [found.baseline, *(arm.name for arm in found.arms)]
    rows = [(fact.name, *(_short(value) for value in fact.values)) for fact in found.systems.differs]
    more = f"\n... and {len(rows) - MOST_DIFFERENCES} more (--json names all)" if len(rows) > MOST_DIFFERENCES else ""
    return f"{table(('DIFFERS', *names), rows[:MOST_DIFFERENCES])}{more}" if rows else ""


def _facts(found: Contrasted) -> str:
    equal = len(found.systems.equal)
    if not equal and not found.systems.differs:
        return "Nothing is known about the systems under test."
    return f"{number(equal)} known facts of the systems under test are equal (--json names them)." if equal else ""


def _short(value: str | None) -> str:
    value = "not told" if value is None else value
    return value if len(value) <= LONGEST else f"{value[: LONGEST - 3]}..."


def _gaps(found: Contrasted) -> Iterator[str]:
    for name, alone in found.alone.items():
        what = "samples" if name in found.samples else "runs"
        yield f"{alone} {what} of {found.baseline} or {name} have no partner: left out."
    for arm in found.arms:
        if arm.comparison.dropped:
            what = "pairs" if arm.comparison.paired else "runs"
            yield f"{arm.comparison.dropped} {what} without a finite {found.metric} were left out for {arm.name}."


def _steps(one: Comparison) -> Iterator[str]:
    if one.runs_needed is not None:
        yield f"about {number(one.runs_needed)} runs an arm would show a fall of the SD to 0.66 four times in five."
    if one.verdict in ("steadier", "less steady") and not one.paired:
        yield "confirm it with pairs measured in random order."
