"""What a local model costs and keeps to: `python benchmarks/model.py [--write]`; no network, random or own weights.

Decisions are taken in simulated diagnoses; explanations are of one finished demo. Times are of this machine, and what
they are compared with was measured in the same run.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

from conversation import QUESTIONS as SCEPTICAL
from random_gguf import BILLION_AND_A_HALF, write

from vgo_agent.agent.answers.answer import TEMPLATES, Answer
from vgo_agent.agent.answers.checker import objections, sentences
from vgo_agent.agent.answers.conversation import Conversation
from vgo_agent.agent.answers.speaker import Speaker
from vgo_agent.agent.model.asked import Asked
from vgo_agent.agent.model.chosen import SHIPPED, open_source, wish_of
from vgo_agent.agent.model.facts import ModelFacts
from vgo_agent.agent.model.process import ModelProcess
from vgo_agent.agent.model.wish import ModelWish
from vgo_agent.agent.planners.base import Choice, View
from vgo_agent.agent.planners.llama import ONLY, Llama
from vgo_agent.agent.planners.rules import Rules
from vgo_agent.agent.planning import asking, told_by
from vgo_agent.agent.settings import Settings
from vgo_agent.evals.contest.loop import PlannerContestant
from vgo_agent.evals.recorded.given import USUAL
from vgo_agent.evals.recorded.recorded_case import read_case
from vgo_agent.evals.recorded.schema import CASES
from vgo_agent.evals.simulator.diagnosis import diagnose
from vgo_agent.evals.simulator.world import drawn
from vgo_agent.knowledge.index import open_index
from vgo_agent.knowledge.loader import load
from vgo_agent.tools.base import ToolError
from vgo_agent.tools.registry import TOOLS

QUESTIONS = (
    *SCEPTICAL,
    "what is page_faults?",
    "did pin_to_cpu help?",
    "what does it cost?",
    "how large is the spread?",
    "summarise the run",
)
PAGE = Path(__file__).parents[1] / "docs" / "model.md"
DECISIONS = 1000
EXPLANATIONS = 500
CONTEXT = 16_000
"""Tokens that the small model with random weights reads: its prompts are of short tokens."""
FEW = 3
"""Decisions of the large model: each takes as long as hundreds of the small one's."""


class Timed(NamedTuple):
    """One answer of the model."""

    request: dict[str, Any]
    answer: dict[str, Any]
    seconds: float


@dataclass
class Watched:
    """Passes questions on, and keeps the answers with their times."""

    model: Asked
    seen: list[Timed] = field(default_factory=list)

    def describe(self) -> dict[str, Any]:
        """Describe the model."""
        return self.model.describe()

    def ask(self, request: dict[str, Any], seconds: float) -> dict[str, Any]:
        """Ask, and keep."""
        began = time.perf_counter()
        answer = self.model.ask(request, seconds)
        self.seen.append(Timed(request, answer, time.perf_counter() - began))
        return answer


@dataclass
class Decisions:
    """What was counted over many decisions."""

    name: str
    taken: int = 0
    asked: int = 0
    legal: int = 0
    by_itself: int = 0
    """Decisions of the model that were taken, among those it was asked for."""
    like_rules: int = 0
    diagnoses: int = 0
    timed: list[Timed] = field(default_factory=list)
    resident_bytes: int = 0
    """Of the process of the model."""


def main() -> None:
    """Measure, print, and perhaps write."""
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
            decided("shipped", wish_of(SHIPPED, Settings()), asked.decisions),
            decided("random weights", wish_of(str(small), Settings()), asked.decisions),
        ]
        said = explained(small, asked.explanations)
        large = None if asked.without_large else large_model(Path(folder))
    text = page(counted, said, large)
    print(text)
    if asked.write:
        PAGE.write_text(text, encoding="utf-8")


def decided(name: str, wish: ModelWish, many: int) -> Decisions:
    """Let a model conduct simulated diagnoses until it has been asked so often."""
    found = Decisions(name)
    with open_source(wish) as model:
        facts, watched = told_by(model, wish), Watched(model)
        planner = Counting(asking(watched, wish, facts), found)
        while found.asked < many:
            found.diagnoses += 1
            diagnose(drawn(found.diagnoses), planner)
        found.timed, found.resident_bytes = watched.seen, int(model.describe()["resident_bytes"])
    return found


@dataclass
class Counting:
    """Counts what another planner decides."""

    planner: Llama
    found: Decisions
    most: float = float("inf")
    name: str = "counting"

    def choose(self, view: View) -> Choice:
        """Choose, and count; raises Enough after so many."""
        if self.found.asked >= self.most:
            raise Enough
        choice, found = self.planner.choose(view), self.found
        found.taken += 1
        if choice.why == ONLY:
            return choice
        usual = Rules().choose(view)
        found.asked += 1
        found.legal += legal(view, choice)
        found.by_itself += bool(choice.said and not choice.said.passed_over)
        found.like_rules += (choice.tool, dict(choice.arguments)) == (usual.tool, dict(usual.arguments))
        return choice


def legal(view: View, choice: Choice) -> bool:
    """Check a call as the graph does before it runs it."""
    try:
        view.legal.check(choice.tool, choice.arguments)
        TOOLS[choice.tool].arguments.model_validate(choice.arguments)
    except (ToolError, ValueError):
        return False
    return True


class Enough(Exception):
    """So many decisions were to be taken."""


class Said(NamedTuple):
    """What a model with random weights said over finished runs."""

    answers: int
    by_model: int
    """The others are the templates', since the model gave no answer."""
    sentences: int
    ungrounded: int
    """Sentences that the checker objects to."""
    seconds: list[float]


def explained(model: Path, many: int) -> Said:
    """Ask over the runs of recorded cases until so many answers are there, and check each against its facts."""
    known, answers, seconds = load(), list[Answer](), list[float]()
    with ModelProcess(model, CONTEXT, 1) as process, open_index() as index:
        speaker = Speaker(process, "random weights")
        for folder in sorted(path for path in CASES.iterdir() if path.is_dir()):
            with PlannerContestant("rules", lambda _: Rules()).diagnosed(USUAL.to(read_case(folder)).shown, 1) as one:
                talk = Conversation(one.finished, known.digest, speaker, index)
                for question in QUESTIONS[: many - len(answers)]:
                    began = time.perf_counter()
                    answers.append(talk.ask(question))
                    seconds.append(time.perf_counter() - began)
    wrong = sum(len(objections(answer.prose, answer.facts, known)) for answer in answers)
    told = sum(1 for answer in answers for _ in sentences(answer.prose))
    return Said(len(answers), sum(answer.by != TEMPLATES for answer in answers), told, wrong, seconds)


class Large(NamedTuple):
    """What a model of the size that people use costs here."""

    facts: ModelFacts
    parameters: int
    file_bytes: int
    resident_bytes: int
    timed: list[Timed]


def large_model(folder: Path) -> Large:
    """Take a few decisions with random weights in the shape of a model of 1.5 billion."""
    path = write(folder / "large.gguf", BILLION_AND_A_HALF)
    wish = wish_of(str(path), Settings()).model_copy(update={"decision_timeout_s": 600.0})
    with open_source(wish) as model:
        facts, watched = told_by(model, wish), Watched(model)
        found = Decisions("large")
        planner = Counting(asking(watched, wish, facts), found, FEW)
        with suppress(Enough):
            diagnose(drawn(1), planner)
        resident = int(model.describe()["resident_bytes"])
    return Large(facts, BILLION_AND_A_HALF.parameters, path.stat().st_size, resident, watched.seen)


def page(counted: list[Decisions], said: Said, large: Large | None) -> str:
    """Write the tables, and what they were measured on."""
    lines = ["# What a local model costs, and what it keeps to", ""]
    lines += [f"Written by `python benchmarks/model.py --write` on {date.today()}, on this machine's CPUs.", ""]
    columns = ("model", "asked", "legal", "its own", "as the rules", "a diagnosis asks", "tokens a decision")
    lines += [f"| {' | '.join((*columns, 'median, s', 'p95, s', 'MB'))} |", "| --- " * (len(columns) + 3) + "|"]
    for one in counted:
        seconds = sorted(timed.seconds for timed in one.timed)
        tokens = [timed.answer["prompt_tokens"] + timed.answer["tokens"] for timed in one.timed]
        lines.append(
            f"| {one.name} | {one.asked} | {one.legal} | {one.by_itself} | {one.like_rules} | "
            f"{one.asked / one.diagnoses:.1f} | {statistics.median(tokens):.0f} | {statistics.median(seconds):.3f} | "
            f"{seconds[int(0.95 * (len(seconds) - 1))]:.3f} | {one.resident_bytes / 1e6:.0f} |"
        )
    lines += [
        "",
        "asked: decisions with more than one legal call; legal: calls that the graph would run, the rule policy's in",
        "place of a model that failed among them; its own: answers that were read strictly and taken.",
    ]
    lines += [
        "",
        f"{said.answers} answers over the runs of recorded cases, {said.by_model} of them formulated by random",
        f"weights: {said.sentences} sentences, {said.ungrounded} of them ungrounded; "
        f"{statistics.median(said.seconds):.2f} s an answer.",
    ]
    return "\n".join([*lines, *(large_lines(large) if large else ())]) + "\n"


def large_lines(large: Large) -> Iterator[str]:
    """Say what the large model costs."""
    answered = [timed.answer for timed in large.timed]
    written = sum(answer["tokens"] for answer in answered)
    seconds = {name: sum(answer["seconds"][name] for answer in answered) for name in ("all", "model", "prompt")}
    decoding = seconds["model"] - seconds["prompt"]
    grammar = seconds["all"] - seconds["model"]
    prompts = sum(answer["prompt_tokens"] for answer in answered)
    yield ""
    yield (
        f"Random weights in the shape of a model of {large.parameters / 1e9:.2f} billion weights in four bits "
        f"({large.file_bytes / 1e9:.2f} GB on disk, {large.resident_bytes / 1e9:.2f} GB in memory, "
        f"{large.facts.threads} threads), over {len(answered)} decisions: prompts of {prompts / len(answered):.0f} "
        f"tokens read at {prompts / seconds['prompt']:.0f} tokens a second (parts that were reused count as read), "
        f"{written / decoding:.1f} tokens a second written by the model, of which the grammar takes "
        f"{100 * grammar / (decoding + grammar):.1f} % more."
    )


if __name__ == "__main__":
    main()
