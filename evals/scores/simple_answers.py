"""What simpler rules make of the same runs, without an experiment: what a diagnosis of a made program has to beat."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ...knowledge.time_states import TimeState
from ...tools.ranking import RankResult
from .score import BY_RULE


class SimpleAnswer(NamedTuple):
    """A cause that is named without being proved."""

    state: TimeState | None = None
    factor: str = ""


def simple_answers(ranking: RankResult | None) -> Mapping[str, SimpleAnswer]:
    """Answer by each rule; without a ranking, as after too few runs, nothing is named.

    constant: the program's own work, whatever was measured; greedy: the column that slow runs have most surely more of;
    paper: the one that a model loses most without (the VGO paper, Section 4); ledger: the state with the largest gap,
    and what its largest part looks like. None asks whether that may be luck.
    """
    answers = dict.fromkeys(BY_RULE, SimpleAnswer()) | {"constant": SimpleAnswer(TimeState.USER)}
    if ranking is None:
        return answers
    if ranking.factors:
        greedy = max(ranking.factors, key=lambda one: one.auc)
        paper = max(ranking.factors, key=lambda one: one.importance)
        answers |= {"greedy": SimpleAnswer(None, greedy.factor), "paper": SimpleAnswer(None, paper.factor)}
    if ranking.ledger and ranking.ledger.shares.states:
        largest = max(ranking.ledger.shares.states, key=lambda one: one.gap_ms)
        part = ranking.ledger.cause_of(largest.state)
        looks_like = part.recognised.factor if part and part.recognised else ""
        answers["ledger"] = SimpleAnswer(TimeState(largest.state), looks_like)
    return answers
