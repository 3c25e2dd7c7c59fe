"""Behaviour cloning: the model learns to write the call that the rule policy makes in each state."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from numpy.typing import NDArray

from .generate import TrainingExample, question, reply
from .network import Array, Size, Weights, begin, logits

STEP = 32
"""Rows are filled up to a multiple of this, so that few shapes are compiled."""
MOST_REPLY = 6
Ints = NDArray[np.int32]


@dataclass(frozen=True)
class TrainingRecipe:
    """How to train; part of what makes the same model again."""

    seed: int = 1
    steps: int = 2000
    batch: int = 32
    rate: float = 3e-3
    warm_up: int = 100
    decay: float = 0.01
    """Of weights (AdamW)."""
    seconds: float = float("inf")
    """No step begins after so long, by the clock; the rate then has not fallen to its end."""


class TrainingBatch(NamedTuple):
    """Rows of one length."""

    tokens: Ints
    places: Ints
    """(rows, MOST_REPLY): where the tokens to be told are told from."""
    wanted: Ints
    counts: NDArray[np.float32]
    """1 where a token is wanted, 0 behind the end."""


def batch_of(pairs: Sequence[TrainingExample]) -> TrainingBatch:
    """Put questions and replies into rows."""
    asked = [(question(pair.line), reply(pair.answer)) for pair in pairs]
    shape = (len(pairs), MOST_REPLY)
    tokens = np.zeros((len(pairs), _filled(max(map(_length, pairs)))), np.int32)
    places, wanted, counts = np.zeros(shape, np.int32), np.zeros(shape, np.int32), np.zeros(shape, np.float32)
    for row, (first, second) in enumerate(asked):
        text = [*first, *second[:-1]]
        tokens[row, : len(text)] = text
        places[row, : len(second)] = np.arange(len(first) - 1, len(text))
        wanted[row, : len(second)] = second
        counts[row, : len(second)] = 1
    return TrainingBatch(tokens, places, wanted, counts)


def _length(pair: TrainingExample) -> int:
    """Tokens of a row: begin, line, ask, and the reply without its end."""
    return len(pair.line.split()) + len(pair.answer.split()) + 2


def _filled(length: int) -> int:
    return -(-length // STEP) * STEP


def batches(pairs: Sequence[TrainingExample], recipe: TrainingRecipe) -> Iterator[TrainingBatch]:
    """Draw batches without end: each of rows of about one length, so that little is filled up."""
    chance = np.random.default_rng(recipe.seed)
    groups: dict[int, list[TrainingExample]] = {}
    for pair in pairs:
        groups.setdefault(_filled(_length(pair)), []).append(pair)
    sizes = np.array([len(group) for group in groups.values()], np.float64)
    drawn = [_in_turn(group, recipe.batch, chance) for group in groups.values()]
    while True:
        yield batch_of(next(drawn[chance.choice(len(drawn), p=sizes / sizes.sum())]))


def _in_turn(
    group: Sequence[TrainingExample], size: int, chance: np.random.Generator
) -> Iterator[list[TrainingExample]]:
    """Deal a group out again and again; one that is smaller than a batch is dealt more than once for it."""
    waiting: list[int] = []
    while True:
        while len(waiting) < size:
            waiting += chance.permutation(len(group)).tolist()
        taken, waiting = waiting[:size], waiting[size:]
        yield [group[number] for number in taken]


def train(
    pairs: Sequence[TrainingExample], size: Size, recipe: TrainingRecipe, tell: Callable[[int, float], None]
) -> dict[str, NDArray[np.float32]]:
    """Train from drawn weights; `tell` hears the loss now and then."""
    warm_up = min(recipe.warm_up, recipe.steps // 2)
    schedule = optax.warmup_cosine_decay_schedule(0.0, recipe.rate, warm_up, recipe.steps, recipe.rate / 100)
    optimiser = optax.chain(
        optax.clip_by_global_norm(1.0), optax.adamw(schedule, b2=0.98, weight_decay=recipe.decay, mask=_matrices)
    )

    def step(weights: Weights, state: Any, batch: TrainingBatch) -> tuple[Weights, Any, Array]:
        value, slope = jax.value_and_grad(loss)(weights, batch, size)
        change, state = optimiser.update(slope, state, weights)
        return optax.apply_updates(weights, change), state, value

    stepped, began = jax.jit(step, donate_argnums=(0, 1)), time.monotonic()
    weights: Weights = {name: jnp.asarray(value) for name, value in begin(size, recipe.seed).items()}
    state = optimiser.init(weights)
    for number, batch in zip(range(1, recipe.steps + 1), batches(pairs, recipe), strict=False):
        weights, state, value = stepped(weights, state, batch)
        if number % 100 == 0 or number == recipe.steps:
            tell(number, float(value))
            if time.monotonic() - began > recipe.seconds:
                break
    return {name: np.asarray(value) for name, value in weights.items()}


def _matrices(weights: Weights) -> dict[str, bool]:
    """Gains are not pulled towards nought."""
    return {name: value.ndim > 1 for name, value in weights.items()}


def loss(weights: Weights, batch: TrainingBatch, size: Size) -> Array:
    """Mean cross-entropy of the tokens that are wanted."""
    said = logits(weights, batch.tokens, batch.places, size)
    each = optax.softmax_cross_entropy_with_integer_labels(said, batch.wanted)
    return (each * batch.counts).sum() / batch.counts.sum()


def agreement(weights: Weights, pairs: Sequence[TrainingExample], size: Size, rows: int = 256) -> float:
    """Share of states in which every token of the reply is the likeliest: tool and all places."""
    said = jax.jit(lambda known, batch: jnp.argmax(logits(known, batch.tokens, batch.places, size), axis=-1))
    ordered = sorted(pairs, key=lambda pair: len(pair.line))
    right = 0
    for start in range(0, len(ordered), rows):
        batch = batch_of(ordered[start : start + rows])
        right += int(((np.asarray(said(weights, batch)) == batch.wanted) | (batch.counts == 0)).all(axis=1).sum())
    return right / len(pairs)
