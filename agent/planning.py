"""The planner of one diagnosis; where it is a model, that is loaded first and ended at last."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from ..knowledge.errors import VgoError
from ..prompts.render import versions
from .model.chosen import ModelChoice, open_source
from .model.facts import ModelFacts, facts_of
from .model.language_model import LanguageModel, ModelFailed
from .planners import PLANNERS
from .planners.base import Planner
from .planners.compact import digest
from .planners.grammar import PLACES
from .planners.llama import NOTATIONS, Llama

VOCABULARY = "vgo.vocabulary"
"""Key in the metadata of a GGUF: digest of the words that it was trained on."""
LLAMA = "llama"
"""Name of the planner that asks a model."""


@dataclass(frozen=True)
class Planning:
    """Who chooses."""

    planner: Planner
    model: ModelFacts | None = None


@contextmanager
def planning(name: str, wish: ModelChoice | None) -> Iterator[Planning]:
    """Give a planner; raises VgoError for a model that cannot be used at all."""
    if name != LLAMA or wish is None:
        yield Planning(PLANNERS[name]())
        return
    with open_source(wish) as model:
        facts = told_by(model, wish)
        yield Planning(asking(model, wish, facts), facts)


def told_by(model: LanguageModel, wish: ModelChoice) -> ModelFacts:
    """Load the model, and ask what it is."""
    try:
        described = model.describe()
    except ModelFailed as error:
        raise VgoError(
            f"The model {wish.spec} cannot be used: {error}; choose another with --model, or --planner rules."
        ) from error
    facts = facts_of(described, wish, versions("model"))
    if facts.notation not in NOTATIONS:
        raise VgoError(
            f"The model {wish.spec} writes the notation {facts.notation!r}, which this version does not know; "
            f"known are {', '.join(NOTATIONS)}."
        )
    if NOTATIONS[facts.notation] is PLACES and described["metadata"].get(VOCABULARY) != digest():
        raise VgoError(
            f"The model {wish.spec} was trained on other words than this version writes; take the one that comes along "
            "(--model shipped), or train it again."
        )
    return facts


def asking(model: LanguageModel, wish: ModelChoice, facts: ModelFacts) -> Llama:
    """Make the planner of a model."""
    return Llama(model, wish, facts.notation, facts.context, facts.characters_a_token)
