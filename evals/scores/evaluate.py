"""From cases and contestants to results: gates before anything is asked, then every answer scored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from ...knowledge.errors import VgoError
from ..contest.answer import ContestAnswer
from ..contest.contestants import factory_of
from ..recorded.gate import UnsoundCase, load_cases
from ..recorded.given import USUAL, Given
from ..recorded.recorded_case import RecordedCase
from ..run import CONTESTANTS, Contest, EvaluationPace, EvaluationTask, registry, rows
from .results import Results, ScoredAnswer, case_description, origin
from .score import Score

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


def named(planners: Sequence[str], where: str = CONTESTANTS) -> tuple[str, ...]:
    """Check the names of contestants; none means all that there are."""
    there = registry(where)
    for name in planners:
        factory_of(name, there)
    return tuple(dict.fromkeys(planners or there))


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
