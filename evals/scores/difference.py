"""What became of the answers from one evaluation to the next."""

from __future__ import annotations

from collections.abc import Iterator

from ...knowledge.shape import Frozen
from .results import Results, ScoredAnswer
from .score import CLOCK, KINDS
from .summary import Duel, by_case, paired, summed

SHOWN = ("verdict", "cause@1", "false_alarm", "mitigation", "harm", "evidence")
"""Scores whose change in a single case is told."""
TESTED = ("verdict", "cause@1")


class Changed(Frozen):
    """One score of one contestant in one case, averaged over the seeds; None: it did not apply."""

    contestant: str
    case: str
    score: str
    old: float | None
    new: float | None


class Answered(Frozen):
    """One answer that is another than before: verdict, first cause, mitigation."""

    contestant: str
    case: str
    seed: int
    old: str
    new: str


class Delta(Frozen):
    """One score of one contestant over the cases that both evaluations have."""

    contestant: str
    score: str
    old: float
    new: float
    better: bool


class Difference(Frozen):
    """Between two evaluations; empty where the answers were scored the same."""

    gone: tuple[str, ...]
    """Contestants that the new one does not have."""
    joined: tuple[str, ...]
    """Those that only the new one has."""
    only_old: tuple[str, ...]
    """Cases that the new one does not have."""
    only_new: tuple[str, ...]
    other_data: tuple[str, ...]
    """Cases whose files are not the same, so that a change may come from there."""
    answers: tuple[Answered, ...]
    """Answers to the same data that are others, however they are scored."""
    changed: tuple[Changed, ...]
    deltas: tuple[Delta, ...]
    tests: tuple[Duel, ...]
    """Old against new, where an answer changed."""

    @property
    def empty(self) -> bool:
        """Tell whether nothing is different."""
        others = (self.gone, self.joined, self.only_old, self.only_new, self.other_data)
        return not (any(others) or self.answers or self.changed or self.deltas)


def difference(old: Results, new: Results) -> Difference:
    """Compare contestant by contestant, on the cases and seeds that both evaluations have."""
    before, after = ({case.key: case.manifest for case in results.cases} for results in (old, new))
    both = before.keys() & after.keys()
    names = [name for name in new.contestants if name in old.contestants]
    mine = {name: (_rows(old, new, name), _rows(new, old, name)) for name in names}
    answers = tuple(one for name in names for one in _answers(name, *mine[name]))
    changed = tuple(change for name in names for change in _changes(name, *mine[name]))
    deltas = tuple(delta for name in names for delta in _deltas(name, *mine[name]))
    tests = (paired(*mine[name], f"{name}, old", f"{name}, new", score) for name in names for score in TESTED)
    return Difference(
        gone=tuple(name for name in old.contestants if name not in names),
        joined=tuple(name for name in new.contestants if name not in names),
        only_old=tuple(sorted(before.keys() - both)),
        only_new=tuple(sorted(after.keys() - both)),
        other_data=tuple(sorted(case for case in both if before[case] != after[case])),
        answers=answers,
        changed=changed,
        deltas=deltas,
        tests=tuple(test for test in tests if test.only_first or test.only_second),
    )


def _rows(of: Results, other: Results, contestant: str) -> list[ScoredAnswer]:
    """Rows of a contestant that have a counterpart."""
    there = {(row.case, row.seed) for row in other.rows if row.contestant == contestant}
    return [row for row in of.rows if row.contestant == contestant and (row.case, row.seed) in there]


def _answers(contestant: str, old: list[ScoredAnswer], new: list[ScoredAnswer]) -> Iterator[Answered]:
    before = {(row.case, row.seed): _answer_words(row) for row in old}
    for row in new:
        was, now = before[row.case, row.seed], _answer_words(row)
        if was != now:
            yield Answered(contestant=contestant, case=row.case, seed=row.seed, old=was, new=now)


def _answer_words(row: ScoredAnswer) -> str:
    answer = row.answer
    parts = (answer.verdict or row.unfinished, answer.causes[0] if answer.causes else "", answer.mitigation)
    return ", ".join(filter(None, parts))


def _changes(contestant: str, old: list[ScoredAnswer], new: list[ScoredAnswer]) -> list[Changed]:
    found = []
    for score in SHOWN:
        before, after = by_case(old, score), by_case(new, score)
        for case in sorted(before.keys() | after.keys()):
            pair = before.get(case), after.get(case)
            if pair[0] != pair[1]:
                found.append(Changed(contestant=contestant, case=case, score=score, old=pair[0], new=pair[1]))
    return found


def _deltas(contestant: str, old: list[ScoredAnswer], new: list[ScoredAnswer]) -> list[Delta]:
    found = []
    for score, kind in KINDS.items():
        if score == CLOCK:
            continue
        cases = [by_case(rows, score) for rows in (old, new)]
        both = sorted(cases[0].keys() & cases[1].keys())
        first, second = (summed({case: one[case] for case in both}, score) for one in cases)
        if first is None or second is None or first.value == second.value:
            continue
        better = (second.value > first.value) == kind.more_is_better
        found.append(Delta(contestant=contestant, score=score, old=first.value, new=second.value, better=better))
    return found
