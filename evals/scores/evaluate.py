"""From cases and contestants to results: gates before anything is asked, then every answer scored."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from fnmatch import fnmatchcase
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from ...knowledge.errors import VgoError
from ..contest.answer import ContestAnswer
from ..contest.contestants import factory_of
from ..recorded.gate import UnsoundCase, load_cases
from ..recorded.recorded_case import USUAL, Given, RecordedCase
from ..run import CONTESTANTS, Contest, EvaluationPace, EvaluationTask, registry, rows
from .effects import Score
from .results import Results, ScoredAnswer, case_description, origin
from .score import KINDS
from .summary import Summed, by_case, cases_by, summarise

AnswerKey = tuple[str, str, int]
"""Contestant, case and seed."""
Tell = Callable[[int, int, ScoredAnswer], None]
"""Hears how many answers there are, of how many, and the newest."""


class Chosen(NamedTuple):
    """Cases that were asked for."""

    sound: tuple[RecordedCase, ...]
    broken: tuple[UnsoundCase, ...]
    known: tuple[RecordedCase, ...]
    """All sound ones that there are, whether asked for or not."""


def choose(folder: Path, pattern: str, split: str | None) -> Chosen:
    """Find the cases by name and split, past the gates; raises VgoError where there is none."""
    every = load_cases(folder)
    known = tuple(case for case in every if isinstance(case, RecordedCase))
    named = tuple(case for case in known if fnmatchcase(case.file.key, pattern))
    broken = tuple(case for case in every if isinstance(case, UnsoundCase) and fnmatchcase(case.key, pattern))
    if not named and not broken:
        keys = ", ".join(case.key if isinstance(case, UnsoundCase) else case.file.key for case in every)
        raise VgoError(f"No case in {folder} is called {pattern}; there are: {keys}.")
    sound = tuple(case for case in named if split is None or case.file.split == split)
    if not sound and not broken:
        raise VgoError(f"No case called {pattern} is in the split {split}; leave --split out.")
    return Chosen(sound, broken, known)


def evaluate(
    chosen: Chosen,
    names: Sequence[str],
    seeds: Sequence[int],
    pace: EvaluationPace,
    tell: Tell,
    where: str = CONTESTANTS,
    given: Given = USUAL,
) -> Results:
    """Have every contestant answer every case under every seed; what is there when Ctrl-C comes is kept."""
    made = origin()
    missing = _missing(names, chosen.known, where)
    present = [name for name in names if name not in missing]
    contest = Contest(tuple(case.folder for case in chosen.known), where, given)
    tasks = [EvaluationTask(name, case.folder, seed) for case in chosen.sound for seed in seeds for name in present]
    again = [task for task in tasks if pace.twice and task.seed == seeds[0]]
    wanted = len(tasks) + len(again)
    found: dict[AnswerKey, ScoredAnswer] = {}
    stopped = ""
    try:
        answers = chain(rows(contest, tasks, pace), rows(contest._replace(hash_seed="2"), again[::-1], pace))
        for told_of, row in enumerate(answers, 1):
            asked = (row.contestant, row.case, row.seed)
            found[asked] = replayed(found[asked], row.answer) if asked in found else row
            tell(told_of, wanted, row)
    except KeyboardInterrupt:
        if not found:
            raise
        stopped = f"Stopped by Ctrl-C after {told_of} of {wanted} answers: what follows is of these alone."
    return Results(
        **made,
        layers=given.layers,
        allow=given.allow,
        seeds=tuple(seeds),
        contestants=tuple(present),
        cases=tuple(case_description(case) for case in chosen.sound),
        broken=chosen.broken,
        missing=missing,
        stopped=stopped,
        rows=tuple(sorted(found.values(), key=lambda row: (present.index(row.contestant), row.case, row.seed))),
    )


def replayed(row: ScoredAnswer, again: ContestAnswer) -> ScoredAnswer:
    """Say whether another process, whose sets have another order, gave the same answer."""
    others = [name for name in ContestAnswer.model_fields if getattr(row.answer, name) != getattr(again, name)]
    reason = f"Answered again in another process: {', '.join(others) or 'nothing'} was another."
    return row.model_copy(update={"scores": {**row.scores, "replay": Score(value=float(not others), reason=reason)}})


def _missing(names: Sequence[str], cases: Sequence[RecordedCase], where: str) -> dict[str, str]:
    there, missing = registry(where), {}
    for name in names:
        try:
            factory_of(name, there)(cases)
        except VgoError as error:
            missing[name] = str(error)
    return missing


LIVE_SD_RATIO = 0.374
"""Geometric mean of the SD ratios that the paper reports; it is required of live runs."""


class Required(NamedTuple):
    """One number."""

    score: str
    bound: float
    words: str


REQUIRED = (
    Required("verdict", 0.90, "verdict right"),
    Required("cause@1", 0.90, "cause@1: a true cause, or one that moves with it, named first"),
    Required("false_alarm", 0.05, "false alarms on controls"),
    Required("regret", 1.1, "median regret"),
    Required("replay", 1.0, "answered again in the same way"),
    Required("untold_cost", 0.0, "mean more than 5 % worse without a word"),
)

ALWAYS = ("verdict", "cause@1", "false_alarm", "regret")
"""Without a case that tells these, nothing is shown; whoever claims no mitigation has no cost to tell."""


def bound_of(score: str) -> float:
    """What is required of a score."""
    return next(required.bound for required in REQUIRED if required.score == score)


def missed(results: Results, contestant: str) -> Iterator[str]:
    """Say what is missed, a sentence each, with the cases that miss it; the splits are judged apart."""
    for case in results.broken:
        yield f"The case {case.key} is not sound: {case.reason}"
    told = set(summarise(results, contestant).scores)
    for required in REQUIRED:
        if required.score in ALWAYS and required.score not in told:
            yield f"{contestant}: no case of this choice tells {required.words}; choose more cases."
    for split, cases in cases_by(results, "split").items():
        scores = summarise(results, contestant, cases).scores
        for required in REQUIRED:
            found = scores.get(required.score)
            if found is not None and not reached(required, found):
                guilty = ", ".join(_guilty(results, contestant, required, cases))
                rate = KINDS[required.score].way == "rate"
                share = f"{100 * found.value:.3g} % of" if rate else f"{found.value:.3g} over"
                said = f"{required.words}: {share} {found.n} cases, {bound_words(required)} is required"
                yield f"{contestant}, {split}: {said}; see {guilty}."


def reached(required: Required, found: Summed) -> bool:
    """Tell whether a number is as it has to be."""
    # Means of means over seeds: a share that is 0.9 on paper may be a rounding error below it.
    slack = 1e-9
    more = KINDS[required.score].more_is_better
    return found.value >= required.bound - slack if more else found.value <= required.bound + slack


def bound_words(required: Required) -> str:
    """Write the bound: `at least 90 %`."""
    kind = KINDS[required.score]
    bound = f"{100 * required.bound:g} %" if kind.way == "rate" else f"{required.bound:g}"
    return f"{'at least' if kind.more_is_better else 'at most'} {bound}"


def _guilty(results: Results, contestant: str, required: Required, cases: Collection[str]) -> Iterator[str]:
    mine = [row for row in results.rows if row.contestant == contestant and row.case in cases]
    for case, value in by_case(mine, required.score).items():
        good = 1.0 if KINDS[required.score].more_is_better else required.bound
        if (value < good) if KINDS[required.score].more_is_better else (value > good):
            yield case
