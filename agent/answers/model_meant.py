"""Which model is to formulate answers, if any: the one place that knows how models are chosen and opened."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ...knowledge.errors import VgoError
from ..model.choice import ModelChoice
from ..model.chosen import open_source
from ..planners.llama import PROMPT_TOKENS
from ..planners.state import quoted
from ..planning import told_by
from .sentence_choice import MOST_TOKENS
from .speaker import PATIENCE, Speaker

SPEAKS = "json"
"""Notation of models that read words; one that was trained for another can only plan."""


@contextmanager
def speaking(wish: ModelChoice | None, decision_s: float, demanded: bool) -> Iterator[Speaker | None]:
    """Open the model that is wished for, for as long as it is needed; None where that is none that can speak.

    Raises VgoError for one that cannot be used, and where the user demanded one that can only plan.
    """
    if wish is None:
        yield None
        return
    with open_source(wish) as model:
        facts = told_by(model, wish)
        if facts.notation == SPEAKS:
            room = min(PROMPT_TOKENS, facts.context - MOST_TOKENS) * facts.characters_a_token
            yield Speaker(model, quoted(facts.name, 80), PATIENCE * decision_s, wish.seed, int(room))
        elif demanded:
            raise VgoError(f"The model {facts.name} plans and cannot speak; name another, or leave --model out.")
        else:
            yield None
