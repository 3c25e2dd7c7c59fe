"""A state and its menu as one short line of words from a closed list: all that the small model that comes along reads.

No name that a user, a file or the knowledge base gave stands in it. A factor or a mitigation is the number of its place
in a slot of the menu, which is what the answer says, too; what was measured is a step of a scale. Everything that the
rule policy decides by can be read from it. What there is no room for is counted (`cut`).
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ...tools.case import open_candidates, turns
from ...tools.claim import Claim, Direction, word
from ...tools.record import Record
from ...tools.trial_results import CompareResult
from .base import Menu, View

Words = Iterator[str]
MOST_FACTORS, MOST_LOOK_UPS, MOST_SECONDS, MOST_OPEN, MOST_COMPARED = 8, 6, 3, 8, 8
MOST_WORDS = 170
"""Of a line; no state comes to more."""
PLACES = 64
"""Places that have a word; what stands further back on the menu is cut."""
ASK = "do"
"""Stands behind the line, before the answer."""
SECTIONS = ("now", "baseline", "layers", "classes", "factors", "known", "confirm", "try", "seen", "may")
STATES = ("none", "unusable", "steady", "varies", "tail", "stand", "distort", "waiting", "blind", "asks", "reached")
ALLOWED = {"none": "allow_none", "process": "allow_process", "system": "allow_system"}
DIRECTIONS: Mapping[Direction, str] = {
    "less": word("less"),
    "more": "worse",
    "equivalent": "same",
    "undecided": "unsure",
}
BATCHES = 3
"""0 is a change by hand."""
COUNTS: Mapping[str, int] = {
    "spent": 10,
    "tried": 9,
    "left": 9,
    "errors": 3,
    "modes": 3,
    "profiles": 3,
    "looks": 3,
    "untold": 9,
    "offered": 9,
    "gone": 4,
    "round": 4,
    "of": 9,
    "failed": 4,
    "idle": 4,
    "cut": 9,
    "x": 9,
}
"""Family of words to its greatest number, which stands for more as well."""
SCALES: Mapping[str, tuple[float, ...]] = {
    "pays": (10, 20, 40, 80, 160, 320),
    "needs": (10, 20, 40, 80, 160, 320),
    "runs": (10, 30, 60, 120, 240, 480),
    "cv": (0.01, 0.03, 0.1, 0.3, 1.0),
    "slow": (0.05, 0.15, 0.3, 0.5),
    "tree": (0.6, 0.7, 0.8, 0.9),
    "suspect": (0.05, 0.1, 0.2, 0.3, 0.4),
    "contrary": (0.05, 0.1, 0.2, 0.3, 0.4),
    "unseen": (0.05, 0.1, 0.2, 0.3, 0.4),
    "p": (0.0001, 0.001, 0.01, 0.05, 0.2),
    "sd": (0.25, 0.5, 0.66, 0.8, 0.95, 1.05, 1.25, 2.0),
}
"""Family of words to the bounds between its steps; the three of factors are of the distance of the AUC from 0.5."""
UNDEFINED = "?"
"""Behind the name of a scale: there is no such number."""
SPOKEN = (
    "measure",
    "profile",
    "label",
    "fit_tree",
    "rank_factors",
    "look_up",
    "screen_levels",
    "apply_mitigation",
    "apply_by_hand",
    "compare",
    "conclude",
)
"""Tools that the small model was trained with, in the order of its words; on all others the rule policy decides."""
WORDS: tuple[str, ...] = (
    *SECTIONS,
    *STATES,
    *ALLOWED.values(),
    *(f"{word}{batch}" for word in DIRECTIONS.values() for batch in range(BATCHES)),
    *(f"{name}{number}" for name, most in COUNTS.items() for number in range(most + 1)),
    *(f"{name}{step}" for name, bounds in SCALES.items() for step in (*range(len(bounds) + 1), UNDEFINED)),
    *SPOKEN,
    *map(str, range(PLACES)),
    ASK,
)


def spoken(listed: Menu) -> Menu:
    """Keep what there is a word for."""
    return {tool: slots for tool, slots in listed.items() if tool in SPOKEN}


def digest() -> str:
    """Hash the vocabulary: a model that was trained on another one reads nonsense."""
    return hashlib.sha256("\n".join(WORDS).encode()).hexdigest()


def line(view: View, listed: Menu) -> str:
    """Write the state before a decision; the same record gives the same line."""
    return " ".join(word for name, section in LINE.items() for word in (name, *section(view, listed)))


def _now(view: View, _: Menu) -> Words:
    record, limits, tried = view.record, view.limits, len(view.findings.applied)
    yield _count("spent", int(10 * record.spent_s / limits.budget_s))
    yield _count("tried", tried)
    yield _count("left", max(0, limits.max_mitigations - tried))
    yield _step("pays", view.affordable_pairs())
    yield ALLOWED[limits.allow]
    yield _count("errors", _failing(record))


def _failing(record: Record) -> int:
    """Calls that have failed since the last that did not."""
    ended = [call.result is None for call in record.calls]
    return ended[::-1].index(False) if False in ended else len(ended)


def _baseline(view: View, _: Menu) -> Words:
    baseline = view.findings.measured
    if baseline is None:
        yield "none"
        return
    yield "unusable" if baseline.unusable else "steady" if baseline.steady else "varies"
    yield _step("cv", baseline.outcome.cv)
    yield _step("runs", baseline.runs)
    yield _step("needs", baseline.pairs_needed)
    yield _count("modes", len(baseline.shape.modes))
    if baseline.shape.right_tail or baseline.shape.left_tail:
        yield "tail"


def _layers(view: View, _: Menu) -> Words:
    seen = view.findings.profiled
    if seen is None:
        yield "none"
        return
    yield _count("profiles", len(view.findings.profiles))
    yield "stand" if seen.standing else "distort"
    if seen.later:
        yield "waiting"


def _classes(view: View, _: Menu) -> Words:
    labelled = view.findings.labelled
    fitted = view.findings.tree
    if labelled is None:
        yield "none"
        return
    classes = labelled.classes
    yield _step("slow", classes.n_slow / (classes.n_slow + classes.n_fast))
    if fitted is not None:
        yield _step("tree", fitted.tree.cross_validated)


def _factors(view: View, listed: Menu) -> Words:
    ranked = view.findings.ranking
    if ranked is None:
        yield "none"
        return
    waiting = _places(listed, "look_up")
    yield _count("looks", len(view.findings.rankings))
    for factor in ranked.factors[:MOST_FACTORS]:
        kind = "suspect" if factor.suspect else "contrary" if factor.visible else "unseen"
        yield _step(kind, abs(factor.auc - 0.5))
        yield _step("p", factor.p_value)
        yield from _place(waiting.get((factor.factor,)))
    yield from _cut(len(ranked.factors), MOST_FACTORS)
    yield _count("untold", sum((factor,) in waiting for factor in ranked.uncounted))


def _known(view: View, _: Menu) -> Words:
    looked = view.findings.looked_up
    tried = {call.mitigation for call in view.findings.called("apply_mitigation")}
    if not looked:
        yield "none"
    for one in looked[-MOST_LOOK_UPS:]:
        yield _count("offered", len(one.offered))
        yield _count("gone", len({candidate.mitigation for candidate in one.candidates} & tried))
        if one.uncounted:
            yield "blind"
    yield from _cut(len(looked), MOST_LOOK_UPS)


def _confirm(view: View, listed: Menu) -> Words:
    """What waits for its second batch, in the order of the keys, with what the first one showed."""
    places = _places(listed, "apply_mitigation")
    second = sorted((key, place) for (key, batch), place in places.items() if batch == 2)
    shown = {one.mitigation: one for one in view.findings.comparisons if one.batch == 1}
    if not second:
        yield "none"
    for key, place in second[:MOST_SECONDS]:
        yield from _place(place)
        yield _step("sd", _ratio(shown[key]) if key in shown else None)
    yield from _cut(len(second), MOST_SECONDS)


def _try(view: View, listed: Menu) -> Words:
    turn, scope = turns(view.findings), {one.mitigation: one.scope for one in open_candidates(view)}
    places = _places(listed, "apply_mitigation")
    ready = sorted((turn[key], place, key) for (key, batch), place in places.items() if batch == 1 and key in turn)
    if not ready:
        yield "none"
    for when, place, key in ready[:MOST_OPEN]:
        yield from _place(place)
        yield _count("round", when.round)
        yield _count("of", when.look_up)
        if scope[key] != "process" and view.limits.allow != "system":
            yield "asks"
    yield from _cut(len(ready), MOST_OPEN)


def _seen(view: View, _: Menu) -> Words:
    compared = view.findings.comparisons
    yield _count("failed", len(view.findings.refusals))
    yield _count("idle", sum(not batch.applied.in_force for batch in view.findings.batches))
    if view.findings.reached(view.limits.target_ratio):
        yield "reached"
    for one in compared[-MOST_COMPARED:]:
        yield f"{DIRECTIONS[one.comparison.direction]}{one.batch}"
        yield _step("sd", _ratio(one))
    yield from _cut(len(compared), MOST_COMPARED)


def _ratio(compared: CompareResult) -> float | None:
    spread = compared.comparison.spread
    return spread.ratio if isinstance(spread, Claim) else None


def _may(_: View, listed: Menu) -> Words:
    for tool in SPOKEN:
        if tool in listed:
            yield tool
            yield from (_count("x", len(slot.choices)) for slot in listed[tool])


LINE: Mapping[str, Callable[[View, Menu], Words]] = dict(
    zip(SECTIONS, (_now, _baseline, _layers, _classes, _factors, _known, _confirm, _try, _seen, _may), strict=True)
)
"""Sections in the order of the line, by the word that each begins with."""


def _places(listed: Menu, tool: str) -> dict[tuple[Any, ...], int]:
    """Choices of the first slot of a tool to their places."""
    slots = listed.get(tool, ())
    return {values: place for place, values in enumerate(slots[0].choices)} if slots else {}


def _place(place: int | None) -> Words:
    if place is not None and place < PLACES:
        yield str(place)


def _cut(there: int, shown: int) -> Words:
    if there > shown:
        yield _count("cut", there - shown)


def _count(name: str, number: int) -> str:
    return f"{name}{min(number, COUNTS[name])}"


def _step(name: str, value: float | None) -> str:
    return f"{name}{UNDEFINED if value is None else bisect_right(SCALES[name], value)}"
