"""A comparison of recorded runs in words for a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ...tools.claim import WORDS, Claim, Names, TooFew, disagreement, in_a_word, interval, runs_needed, sentence, word
from ...tools.comparison import MEASURES, Stratified, direction
from ...tools.document import Block, Headline, Note, Table, TableColumn
from ...tools.recorded.columns import listed
from ...tools.recorded_comparison.compare import ComparedOutcome, Contrasted, ContrastedArm, ContrastedCells
from ...tools.statistics.comparison.bootstrap import BootstrapRatio
from ..render.text import blocks_text
from .analysis import between
from .numbers import ABSENT, number, other_level, p_cell, p_value, percent, quantity, ratio, statistic_name

Again = Callable[..., str]
"""Writes the command line that was given, with more options."""
LONGEST = 40
"""Characters of a fact that are shown."""
ARMS = ("arm", "runs", "spread ratio", "level", "SD ratio", "CV ratio", "mean ratio", "p, alone", "verdict")


def text(found: Contrasted, again: Again) -> str:
    """Give the words of a terminal: one arm in full, or a line for each of several."""
    heap = tuple(_heap(found, again))
    return blocks_text(
        tuple(_arm_blocks(found, found.arms[0], heap) if len(found.arms) == 1 else _several(found, heap))
    )


def _heap(found: Contrasted, again: Again) -> Iterator[Block]:
    """Say of what kinds of runs the arms are thrown together, and what is found within these."""
    if not found.strata:
        return
    kinds = found.strata.columns
    chosen = f"{listed(kinds)} {'were' if len(kinds) > 1 else 'was'} chosen and did not just happen"
    mixture = f"{between(found.strata, found.metric)}, so the verdict above is about the mixture."
    yield f"{mixture} {_within(found)}If {chosen}, look at the cells: `{again('--by', ','.join(kinds))}`."


def _within(found: Contrasted) -> str:
    claims = {name: one for name, one in found.within.items() if isinstance(one, Claim)}
    said = [sentence(one, Names(found.baseline, name, found.lower_is_better)) for name, one in claims.items()]
    if len(said) == 1:
        return f"Within the cells, taken together: {said[0]} "
    each = (f"{name} {in_a_word(one)} ({interval(one)})" for name, one in claims.items())
    return f"Within the cells, taken together: {'; '.join(each)}. " if said else ""


def _arm_blocks(found: Contrasted, arm: ContrastedArm, heap: Sequence[Block]) -> Iterator[Block]:
    one = arm.described
    as_one = " as one heap" if heap else ""
    yield Headline(f"{in_a_word(arm.spread)}{as_one}: {arm.name} against {found.baseline}", _sentence(found, arm))
    yield from heap
    arms = [TableColumn(name, verbatim=True) for name in (found.baseline, arm.name)]
    columns: tuple[TableColumn | str, ...] = ("", *arms, "ratio [95 %]")
    yield Table(columns, [_row(ratio, arm, found.unit) for ratio in one.ratios])
    yield from _tests(found, arm)
    yield from _systems(found)
    yield from map(Note, (*found.notes, *one.notes, *_gaps(found)))
    yield from (Note(step, "Next") for step in _steps(arm))


def _several(found: Contrasted, heap: Sequence[Block]) -> Iterator[Block]:
    said = [direction(arm.spread) for arm in found.arms]
    less, more = said.count("less"), said.count("more")
    without = len(said) - less - more
    yield Headline(
        f"{less} of {len(found.arms)} {word('less')}{' as one heap' if heap else ''}: each against {found.baseline}",
        f"{more} {word('more')}, {without} without a claim; {_metric(found)}.",
    )
    yield from heap
    yield Table(ARMS, [_arm(found, arm) for arm in found.arms])
    yield "LEVEL is what is left to each arm, so that all are right together as asked for (Holm)."
    yield from _systems(found)
    inner = dict.fromkeys(note for arm in found.arms for note in arm.described.notes)
    yield from map(Note, (*found.notes, *_disagreeing(found), *inner, *_gaps(found)))


def by_cell(found: ContrastedCells, again: Again) -> str:
    """Give the words of a comparison within cells: for each arm what all say together, then a line a cell."""
    finer = []
    if found.strata:
        by = ",".join((*found.columns, *found.strata.columns))
        said = f"within the cells, {between(found.strata, found.metric)}; if these were chosen, look within them too"
        finer = [Note(f"{said}: `{again('--by', by)}`.", "Next")]
    return blocks_text([*(block for name, one in found.arms.items() for block in _cells(found, name, one)), *finer])


def _cells(found: ContrastedCells, name: str, one: Stratified) -> Iterator[Block]:
    together, names = one.together, Names(found.baseline, name, found.lower_is_better)
    said = sentence(together, names) if isinstance(together, Claim) else f"Not taken together: {together.why}."
    without = len(one.cells) - together.units[0]
    apart = f", {without} of them without a ratio" if without else ""
    others = (
        f"of the {WORDS[claim.measure]} {interval(claim)}" for claim in one.beside.values() if isinstance(claim, Claim)
    )
    if beside := ", ".join(others):
        said += f" Beside it the ratio {beside}."
    cells = f"{len(one.cells)} cells of {', '.join(found.columns)}{apart}; {_metric(found)}."
    yield Headline(f"{in_a_word(together)}: {name} against {found.baseline}", f"{said} {cells}")
    if one.disagree:
        sides = (one.of("less"), one.of("more"))
        told = ". ".join(f"{in_a_word(one.cells[side[0]]).capitalize()}: {_cell_names(side)}" for side in sides)
        yield f"The cells disagree: {told}. What they say together is no advice for any of them."
    units = {cell: ", ".join(map(number, dict.fromkeys(claim.units))) for cell, claim in one.cells.items()}
    rows = [(cell, units[cell], interval(claim), in_a_word(claim)) for cell, claim in one.cells.items()]
    yield Table(("cell", "units", "spread ratio", "verdict"), rows)
    yield from map(Note, (*(f"{cell} is left out: {why}" for cell, why in found.left_out[name].items()), *found.notes))


def _cell_names(names: Sequence[str], most: int = 8) -> str:
    """List cells, whose names have commas of their own."""
    more = [f"{len(names) - most} more"] if len(names) > most else []
    return "; ".join([*names[:most], *more])


def _disagreeing(found: Contrasted) -> Iterator[str]:
    for arm in found.arms:
        if said := disagreement(arm.spread, arm.claims["sd"]):
            yield f"{arm.name}: {said}"


def _metric(found: ComparedOutcome) -> str:
    better = "lower" if found.lower_is_better else "higher"
    return f"{found.metric}{f' in {found.unit}' if found.unit else ''}, {better} is better"


def _sentence(found: Contrasted, arm: ContrastedArm) -> str:
    one = arm.described
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
    if isinstance(arm.spread, Claim) and arm.spread.runs > block:
        runs += f", {arm.spread.runs} neighbours as one, since they depend on each other"
    return f"{_claimed(found, arm)} {runs[0].upper()}{runs[1:]}; {_metric(found)}."


def _claimed(found: Contrasted, arm: ContrastedArm) -> str:
    if isinstance(arm.spread, TooFew):
        return f"Which of them is {word('less')} cannot be told: {arm.spread.why}."
    said = sentence(arm.spread, Names(found.baseline, arm.name, found.lower_is_better))
    return " ".join(filter(None, (said, disagreement(arm.spread, arm.claims["sd"]))))


def _row(one: BootstrapRatio, arm: ContrastedArm, unit: str) -> tuple[str, ...]:
    def show(value: float | None) -> str:
        return percent(value) if one.statistic == "cv" else quantity(value, unit)

    claimed = next((claim for measure, claim in arm.claims.items() if measure == one.statistic), None)
    shown = ratio(one.value, one.low, one.high)
    if isinstance(claimed, Claim):
        shown = f"{interval(claimed)}{other_level(claimed)}"
    return statistic_name(one.statistic), show(one.baseline), show(one.other), shown


def _tests(found: Contrasted, arm: ContrastedArm) -> Iterator[str]:
    tested = ((statistic_name(measure), claim) for measure, claim in arm.claims.items() if isinstance(claim, Claim))
    if shown := "; ".join(f"{name} {p_value(claim.p_value)}" for name, claim in tested):
        yield f"By exchange of runs: {shown}. The spread decides."
    one = arm.described
    sds = "" if one.relative_distance is None else f", {number(one.relative_distance, 2)} SDs of the baseline"
    modes = f"modes {one.baseline_modes} -> {one.other_modes}"
    yield f"Wasserstein distance {quantity(one.distance, found.unit)}{sds}; {modes}."


def _arm(found: Contrasted, arm: ContrastedArm) -> tuple[str, ...]:
    spread = arm.spread
    return (
        arm.name,
        number(arm.described.other_runs // found.samples.get(arm.name, 1)),
        interval(spread),
        percent(spread.level) if isinstance(spread, Claim) else ABSENT,
        *(interval(arm.claims[measure]) for measure in MEASURES[1:]),
        p_cell(spread.p_value) if isinstance(spread, Claim) else ABSENT,
        in_a_word(spread),
    )


def _systems(found: Contrasted) -> Iterator[Block]:
    equal, differs = len(found.systems.equal), found.systems.differs
    names = (TableColumn(name, verbatim=True) for name in (found.baseline, *(arm.name for arm in found.arms)))
    yield Table(("differs", *names), [(fact.name, *map(_short, fact.values)) for fact in differs])
    if equal:
        yield f"{number(equal)} known facts of the systems under test are equal (--json names them)."
    elif not differs:
        yield "Nothing is known about the systems under test."


def _short(value: str | None) -> str:
    value = "not told" if value is None else value
    return value if len(value) <= LONGEST else f"{value[: LONGEST - 3]}..."


def _gaps(found: Contrasted) -> Iterator[str]:
    for name, alone in found.alone.items():
        what = "samples" if name in found.samples else "runs"
        yield f"{alone} {what} of {found.baseline} or {name} have no partner: left out."
    yield from dict.fromkeys(one for arm in found.arms for one in _constant(found, arm))
    for arm in found.arms:
        if arm.described.dropped:
            what = "pairs" if arm.described.paired else "runs"
            yield f"{arm.described.dropped} {what} without a finite {found.metric} were left out for {arm.name}."


def _constant(found: Contrasted, arm: ContrastedArm) -> Iterator[str]:
    for span in (one for one in arm.described.ratios if one.statistic == "range"):
        for name, extent in ((found.baseline, span.baseline), (arm.name, span.other)):
            if extent == 0:
                yield f"All runs of {name} have the same {found.metric}: what it is rounded to may hide a spread."


def _steps(arm: ContrastedArm) -> Iterator[str]:
    spread = arm.spread
    if isinstance(spread, TooFew):
        return
    if spread.direction == "undecided" and (needed := runs_needed(spread)):
        yield (
            f"about {number(needed)} runs an arm would show a fall of the spread to {spread.margin:g} four times in "
            "five."
        )
    if spread.direction in ("less", "more") and not arm.described.paired:
        yield "confirm it with pairs measured in random order."
