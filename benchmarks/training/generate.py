"""States with what the rule policy does there: from simulated diagnoses, and from recorded cases of the train split.

A state is met by the rule policy itself or after steps that it would not have taken: some share of the decisions of a
diagnosis is drawn from all legal ones, so that the model also learns to go on from another's mistakes.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Literal, NamedTuple

from vgo_agent.agent.planners.base import Choice, Menu, Planner, Rules, View, calls, menu
from vgo_agent.agent.planners.compact import ASK, SPOKEN, WORDS, line, spoken
from vgo_agent.agent.planners.compact import PLACES as WORDED
from vgo_agent.agent.planners.grammar import PLACES, write
from vgo_agent.evals.contest.contestants import RandomLegal
from vgo_agent.evals.simulator.diagnosis import diagnose
from vgo_agent.evals.simulator.world import drawn
from vgo_agent.tools.registry import TOOLS

Split = Literal["train", "held-out"]
STRAY = (0.0, 0.05, 0.15, 0.3, 0.6)
"""Shares of decisions that are drawn; each diagnosis has one of them."""
COPIES = 3
"""Of the same state at most: all diagnoses begin alike."""
WORLDS: dict[Split, int] = {"train": 0, "held-out": 1_000_000_000}
"""Where the seeds of worlds begin, so that no world is in both."""
STRIDE = 10_000_000
"""Between the worlds of one seed and the next."""
COMMON, MOST_TIMES = 0.05, 10
"""An answer with this share of the states is not repeated; of one with a hundredth of it, ten times."""
PARTS = 4
"""Of the states of one seed, each of its own worlds."""
PLAIN = ("measure", "profile", "label", "fit_tree", "rank_factors", "compare")
PLAIN_SHARE = 0.3
"""Of the states with these answers that are kept: they are much alike, and soon learnt."""


class TrainingExample(NamedTuple):
    """A state and the call that the rule policy makes there."""

    line: str
    answer: str


@dataclass
class Straying:
    """The rule policy, but for some decisions that are drawn; it keeps the states that it met."""

    seed: int
    share: float
    met: list[TrainingExample] = field(default_factory=list)
    name: str = "straying"

    def choose(self, view: View) -> Choice:
        """Note what the rule policy would do, and do it, mostly."""
        usual = Rules().choose(view)
        if pair := labelled(view, usual):
            self.met.append(pair)
        strays = random.Random(f"stray:{self.seed}:{view.decisions}").random() < self.share
        return RandomLegal(self.seed).choose(view) if strays else usual


def labelled(view: View, usual: Choice) -> TrainingExample | None:
    """Write a state and its answer; None where there is nothing to choose, no word for it, or it was done before."""
    listed = spoken(menu(view))
    made = any((call.tool, dict(call.arguments)) == (usual.tool, dict(usual.arguments)) for call in view.record.calls)
    if calls(listed) == 1 or made or usual.tool not in listed:
        return None
    places = places_of(usual, listed)
    return (
        TrainingExample(line(view, listed), write(usual.tool, listed[usual.tool], places, PLACES))
        if places_fit(places)
        else None
    )


def places_fit(places: Sequence[int]) -> bool:
    """Tell whether each place has a word."""
    return all(place < WORDED for place in places)


def places_of(choice: Choice, listed: Menu) -> list[int]:
    """Find a choice on the menu; what it leaves out has the default of the schema."""
    fields = TOOLS[choice.tool].arguments.model_fields
    return [
        slot.choices.index(tuple(choice.arguments.get(name, fields[name].default) for name in slot.names))
        for slot in listed[choice.tool]
    ]


def simulated(states: int, seed: int, split: Split, part: int = 0) -> list[TrainingExample]:
    """Give so many states of simulated diagnoses; the same for the same seed and part."""
    found: list[TrainingExample] = []
    seen: Counter[TrainingExample] = Counter()
    number = WORLDS[split] + seed * STRIDE + part * STRIDE // PARTS
    while len(found) < states:
        world = drawn(number)
        straying = Straying(number, world.chance("stray").choice(STRAY))
        diagnose(world, straying)
        chance = world.chance("plain")
        met = [pair for pair in straying.met if pair.answer.split()[0] not in PLAIN or chance.random() < PLAIN_SHARE]
        found += _few(met, seen)
        number += 1
    return found[:states]


def simulated_parts(states: int, seed: int, split: Split) -> list[TrainingExample]:
    """Do the same in several processes; how many there are changes nothing."""
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        many = [(states + part) // PARTS for part in range(PARTS)]
        parts = pool.map(partial(_part, seed, split), many, range(PARTS))
        return [pair for part in parts for pair in part]


def _part(seed: int, split: Split, states: int, part: int) -> list[TrainingExample]:
    return simulated(states, seed, split, part)


def recorded(cases: Path, split: Split, seeds: Sequence[int]) -> list[TrainingExample]:
    """Give the states of diagnoses of recorded cases; each seed strays by another share."""
    from vgo_agent.evals.contest.loop import PlannerContestant
    from vgo_agent.evals.recorded.recorded_case import USUAL, read_case

    seen: Counter[TrainingExample] = Counter()
    found: list[TrainingExample] = []
    for folder in sorted(path.parent for path in cases.glob("*/case.yaml")):
        case = read_case(folder)
        if case.file.split != split:
            continue
        shown = USUAL.to(case).shown
        for nth, seed in enumerate(seeds):
            straying = Straying(seed, STRAY[2 * nth % len(STRAY)])
            PlannerContestant("straying", partial(_given, straying)).answer(shown, seed)
            found += _few(straying.met, seen)
    return found


def _given(planner: Planner, _: int) -> Planner:
    return planner


def _few(met: Sequence[TrainingExample], seen: Counter[TrainingExample]) -> Iterator[TrainingExample]:
    for pair in met:
        seen[pair] += 1
        if seen[pair] <= COPIES:
            yield pair


def balanced(pairs: Sequence[TrainingExample]) -> list[TrainingExample]:
    """Repeat states whose answer is seldom right, the more the seldomer it is."""
    counts = Counter(pair.answer for pair in pairs)
    times = {answer: round(math.sqrt(COMMON * len(pairs) / count)) for answer, count in counts.items()}
    return [pair for pair in pairs for _ in range(min(MOST_TIMES, max(1, times[pair.answer])))]


def write_pairs(path: Path, pairs: Sequence[TrainingExample]) -> None:
    """Write one pair a line."""
    path.write_text("".join(f"{pair.line}\t{pair.answer}\n" for pair in pairs), encoding="ascii")


def read_pairs(path: Path) -> list[TrainingExample]:
    """Read what `write_pairs` wrote."""
    return [TrainingExample(*row.split("\t")) for row in path.read_text(encoding="ascii").splitlines()]


UNKNOWN, BEGIN, END = 0, 1, 2
IS_UNKNOWN, IS_CONTROL, IS_USERS, IS_BYTE = 2, 3, 4, 6
"""Types of tokens in GGUF."""
TEMPLATE = "{{ bos_token }} {{ messages[-1]['content'] }} " + ASK
"""The chat template: the line as it is, then the word that asks."""


class Token(NamedTuple):
    """One entry of the tokenizer."""

    text: str
    type: int


TOKENS: tuple[Token, ...] = (
    Token("<unk>", IS_UNKNOWN),
    Token("<s>", IS_CONTROL),
    Token("</s>", IS_CONTROL),
    # What is no word falls back to bytes; without them llama.cpp would end the process.
    *(Token(f"<0x{byte:02X}>", IS_BYTE) for byte in range(256)),
    *(Token(f" {word}", IS_USERS) for word in WORDS),
    *(Token(tool, IS_USERS) for tool in SPOKEN),
)
IDS = {token.text: number for number, token in enumerate(TOKENS)}


def question(line: str) -> list[int]:
    """Tokens of a prompt; raises KeyError for a word that is none."""
    return [BEGIN, *(IDS[f" {word}"] for word in line.split()), IDS[f" {ASK}"]]


def reply(answer: str) -> list[int]:
    """Tokens of an answer, the end among them; raises KeyError for a place that has no word."""
    tool, *places = answer.split()
    return [IDS[tool], *(IDS[f" {place}"] for place in places), END]
