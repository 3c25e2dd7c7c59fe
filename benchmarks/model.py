"""What a local model costs and keeps to: `python benchmarks/model.py [--write]`; no network, random or own weights.

The rule policy conducts simulated diagnoses, and the model is asked at each state that it has not yet been asked about,
whatever it answers; what counts is the text that it wrote (`model_raw.py`). Explanations are of finished diagnoses of
recorded cases. Times are of this machine, and what they are compared with was measured in the same run. Exit code 1:
a limit was missed.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from conversation import QUESTIONS as SCEPTICAL
from model_counts import Decisions, Large, Said, Timed
from model_page import FEW, held, page
from model_raw import Overheard, claims, legal, strict
from random_gguf import BILLION_AND_A_HALF, write

from vgo_agent.agent.answers.answer import TEMPLATES
from vgo_agent.agent.answers.conversation import Conversation
from vgo_agent.agent.model.chosen import SHIPPED, ModelChoice, model_choice, open_source
from vgo_agent.agent.model.language_model import LanguageModel, ModelProcess
from vgo_agent.agent.planners.base import Choice, Planner, Rules, View
from vgo_agent.agent.planners.llama import ONLY, Llama
from vgo_agent.agent.planning import asking, told_by
from vgo_agent.agent.settings import UserSettings
from vgo_agent.evals.contest.contestants import RandomLegal
from vgo_agent.evals.contest.loop import PlannerContestant
from vgo_agent.evals.recorded.folders import CASES
from vgo_agent.evals.recorded.recorded_case import USUAL, read_case
from vgo_agent.evals.simulator.diagnosis import diagnose
from vgo_agent.evals.simulator.world import drawn
from vgo_agent.knowledge.index import open_index
from vgo_agent.knowledge.loader import load
from vgo_agent.tools.registry import TOOLS
from vgo_agent.tools.simulated import World

QUESTIONS = (
    *SCEPTICAL,
    "what is page_faults?",
    "did pin_to_cpu help?",
    "what does it cost?",
    "how large is the spread?",
    "summarise the run",
)
PAGE = Path(__file__).parents[1] / "docs/results/model.md"
DECISIONS = 1000
EXPLANATIONS = 500
CONTEXT = 16_000
"""Tokens that the small model with random weights reads: its prompts are of short tokens."""
DRAWN = 1.0
"""Temperature of random weights."""


class AskedBefore(Exception):
    """The model has been asked just this."""


@dataclass
class Watched:
    """Passes questions on, and keeps the answers with their times."""

    model: LanguageModel
    once: bool = False
    """Ask nothing twice."""
    temperature: float = 0.0
    """Of the answers, each with a seed of its own: random weights would always choose the same at 0."""
    seen: list[Timed] = field(default_factory=list)
    _before: set[str] = field(default_factory=set)

    def describe(self) -> dict[str, Any]:
        """Describe the model."""
        return self.model.describe()

    def ask(self, request: dict[str, Any], seconds: float) -> dict[str, Any]:
        """Ask, and keep; raises AskedBefore instead of asking the same again."""
        asked = hashlib.sha256(f"{request['messages']} {request['grammar']}".encode()).hexdigest()
        if self.once and asked in self._before:
            raise AskedBefore
        self._before.add(asked)
        began = time.perf_counter()
        drawn_so = {"temperature": self.temperature, "seed": len(self.seen) + 1}
        answer = self.model.ask(request | drawn_so, seconds)
        self.seen.append(Timed(answer, time.perf_counter() - began))
        return answer


def main() -> int:
    """Measure, print, and perhaps write; 1 where a limit is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.relative_to(PAGE.parents[1])}")
    parser.add_argument("--decisions", type=int, default=DECISIONS, help=f"of each small model (default {DECISIONS})")
    parser.add_argument("--explanations", type=int, default=EXPLANATIONS, help=f"how many (default {EXPLANATIONS})")
    parser.add_argument("--without-large", action="store_true", help="leave the model of 1.5 billion weights out")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="vgo-bench-") as folder:
        small = write(
            Path(folder) / "random.gguf",
            BILLION_AND_A_HALF._replace(width=64, layers=2, heads=2, shared_heads=1, feed=128, vocabulary=4000),
        )
        counted = [
            decided("shipped", model_choice(SHIPPED, UserSettings()), asked.decisions),
            decided("random weights", model_choice(str(small), UserSettings()), asked.decisions, DRAWN),
        ]
        said = explained(small, asked.explanations)
        large = None if asked.without_large else large_model(Path(folder))
    limits = list(held(counted, said, large))
    text = page(counted, said, large, limits)
    print(text)
    if asked.write:
        PAGE.write_text(text, encoding="utf-8")
    return 0 if all(one.kept for one in limits) else 1


def decided(name: str, wish: ModelChoice, many: int, temperature: float = 0.0) -> Decisions:
    """Ask a model about so many different states of simulated diagnoses."""
    with open_source(wish) as model:
        facts, watched = told_by(model, wish), Watched(model, True, temperature)
        found = Decisions(name, facts.notation)
        planner = Beside(asking(watched, wish, facts), watched, found, many)
        with suppress(Enough):
            while True:
                found.diagnoses += 1
                diagnose(drawn(found.diagnoses), planner)
        found.timed, found.resident_bytes = watched.seen, int(model.describe()["resident_bytes"])
    return found


@dataclass
class Beside:
    """The rule policy, and beside it a model that is asked the same and not obeyed."""

    model: Llama
    watched: Watched
    found: Decisions
    most: int
    name: str = "beside"
    _rules: Rules = field(default_factory=Rules)

    def choose(self, view: View) -> Choice:
        """Let the rules choose; raises Enough after so many answers."""
        if self.found.asked >= self.most:
            raise Enough
        usual = self._rules.choose(view)
        with suppress(AskedBefore):
            self._judge(view, usual)
        return usual

    def _judge(self, view: View, usual: Choice) -> None:
        found, answers = self.found, len(self.watched.seen)
        found.choosing += 1
        choice = self.model.choose(view)
        if choice.why == ONLY:
            found.choosing -= 1
            return
        found.asked += 1
        if len(self.watched.seen) == answers:  # there was none: neither strict nor legal
            return
        text = str(self.watched.seen[-1].answer["text"])
        found.answered += 1
        found.texts.add(text)
        found.strict += strict(text, found.notation) is not None
        found.legal += legal(text, found.notation, view)
        taken = bool(choice.said and not choice.said.passed_over)
        found.taken += taken
        found.like_rules += taken and _same(choice, usual)


def _same(one: Choice, other: Choice) -> bool:
    """Tell whether two calls are the same; what one leaves out has its default."""
    if one.tool != other.tool:
        return False
    read = TOOLS[one.tool].arguments.model_validate
    return bool(read(one.arguments) == read(other.arguments))


class Enough(Exception):
    """So many decisions were to be taken."""


def explained(model: Path, many: int) -> Said:
    """Ask over the runs of recorded cases until the model has formulated so many answers, drawn at random."""
    said = Said([], 0, [])
    with ModelProcess(model, CONTEXT, 1) as process, open_index() as index:
        watched = Watched(process, temperature=DRAWN)
        known, speaker = load(), Overheard(watched, "random weights")
        for planner, folder in _runs():
            with PlannerContestant("ran", partial(_given, planner)).diagnosed(
                USUAL.to(read_case(folder)).shown, 1
            ) as one:
                talk = Conversation(one.finished, known.digest, speaker, index)
                for question in QUESTIONS:
                    began = time.perf_counter()
                    answer = talk.ask(question)
                    if not answer.known:
                        continue
                    if answer.by == TEMPLATES and not answer.dropped:
                        said = said._replace(by_templates=said.by_templates + 1)
                        continue
                    said.seconds.append(time.perf_counter() - began)
                    raw = watched.seen[-1].answer
                    said.claims.append(claims(str(raw["text"]), raw["ended"] != "stop", answer, speaker.offered[-1]))
                    if len(said.claims) >= many:
                        return said
    return said


def _given(planner: Planner, _: object) -> Planner:
    return planner


def _runs() -> Iterator[tuple[Planner, Path]]:
    """Diagnoses of every case by the rule policy, then others of them."""
    folders = sorted(path for path in CASES.iterdir() if path.is_dir())
    for planner in (Rules(), RandomLegal(1), RandomLegal(2)):
        yield from ((planner, folder) for folder in folders)


def large_model(folder: Path) -> Large:
    """Take decisions in states that follow each other, with random weights in the shape of a model of 1.5 billion."""
    path = write(folder / "large.gguf", BILLION_AND_A_HALF)
    wish = model_choice(str(path), UserSettings()).model_copy(update={"decision_timeout_s": 600.0})
    with open_source(wish) as model:
        facts, watched = told_by(model, wish), Watched(model, once=True)
        planner = Beside(asking(watched, wish, facts), watched, Decisions("large"), FEW)
        with suppress(Enough):
            diagnose(next(world for world in map(drawn, range(1, 1000)) if _lasts(world)), planner)
        resident = int(model.describe()["resident_bytes"])
    return Large(facts, BILLION_AND_A_HALF.parameters, path.stat().st_size, resident, watched.seen)


def _lasts(world: World) -> bool:
    """Tell whether a diagnosis takes twice as many steps, so that enough of them have something to choose."""
    return bool(diagnose(world, Rules()).decisions >= 2 * FEW)


if __name__ == "__main__":
    sys.exit(main())
