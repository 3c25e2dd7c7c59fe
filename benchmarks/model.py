"""What a local model costs and keeps to: `python benchmarks/model.py [--write]`; no network, random or own weights.

The rule policy conducts simulated diagnoses, and the model is asked at each state that it has not yet been asked about,
whatever it answers; what counts is the text that it wrote (`model_raw.py`). Explanations are of finished diagnoses of
recorded cases. Times are of this machine, and what they are compared with was measured in the same run. Exit code 1:
a limit was missed.
"""

from __future__ import annotations

import argparse
import hashlib
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from conversation import QUESTIONS as SCEPTICAL
from model_raw import Claims, Overheard, claims, legal, strict
from random_gguf import BILLION_AND_A_HALF, write

from vgo_agent.agent.answers.answer import TEMPLATES
from vgo_agent.agent.answers.conversation import Conversation
from vgo_agent.agent.model.asked import Asked
from vgo_agent.agent.model.chosen import SHIPPED, open_source, wish_of
from vgo_agent.agent.model.facts import ModelFacts
from vgo_agent.agent.model.process import ModelProcess
from vgo_agent.agent.model.wish import ModelWish
from vgo_agent.agent.planners.base import Choice, Planner, View
from vgo_agent.agent.planners.llama import ONLY, PROMPT_TOKENS, Llama
from vgo_agent.agent.planners.rules import Rules
from vgo_agent.agent.planning import asking, told_by
from vgo_agent.agent.settings import Settings
from vgo_agent.evals.contest.loop import PlannerContestant
from vgo_agent.evals.contest.random_legal import RandomLegal
from vgo_agent.evals.recorded.given import USUAL
from vgo_agent.evals.recorded.recorded_case import read_case
from vgo_agent.evals.recorded.schema import CASES
from vgo_agent.evals.simulator.diagnosis import diagnose
from vgo_agent.evals.simulator.world import World, drawn
from vgo_agent.knowledge.index import open_index
from vgo_agent.knowledge.loader import load
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
LONGEST_S = 0.3
"""For a decision of the shipped model, 95 of 100 times."""
GRAMMAR_SHARE = 0.15
"""Of the time that the large model decodes."""
CONTEXT = 16_000
"""Tokens that the small model with random weights reads: its prompts are of short tokens."""
DRAWN = 1.0
"""Temperature of random weights."""
FEW = 8
"""Decisions of the large model, one after the other: each takes as long as hundreds of the small one's."""


class Timed(NamedTuple):
    """One answer of the model."""

    answer: dict[str, Any]
    seconds: float


class AskedBefore(Exception):
    """The model has been asked just this."""


@dataclass
class Watched:
    """Passes questions on, and keeps the answers with their times."""

    model: Asked
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


@dataclass
class Decisions:
    """What was counted over many decisions, each in another state."""

    name: str
    notation: str = "json"
    asked: int = 0
    answered: int = 0
    strict: int = 0
    """Texts that are strict JSON, or the form of places."""
    legal: int = 0
    """Texts that are calls which the graph would run, as they were written."""
    taken: int = 0
    """Answers that the planner took; others repeat a call."""
    like_rules: int = 0
    choosing: int = 0
    """Decisions with something to choose, those in a state that was seen before among them."""
    diagnoses: int = 0
    texts: set[str] = field(default_factory=set)
    timed: list[Timed] = field(default_factory=list)
    resident_bytes: int = 0
    """Of the process of the model."""


class Held(NamedTuple):
    """One number against what it has to keep to."""

    what: str
    measured: str
    limit: str
    kept: bool


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
            decided("shipped", wish_of(SHIPPED, Settings()), asked.decisions),
            decided("random weights", wish_of(str(small), Settings()), asked.decisions, DRAWN),
        ]
        said = explained(small, asked.explanations)
        large = None if asked.without_large else large_model(Path(folder))
    limits = list(held(counted, said, large))
    text = page(counted, said, large, limits)
    print(text)
    if asked.write:
        PAGE.write_text(text, encoding="utf-8")
    return 0 if all(one.kept for one in limits) else 1


def decided(name: str, wish: ModelWish, many: int, temperature: float = 0.0) -> Decisions:
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
    arguments = TOOLS[one.tool].arguments
    return arguments.model_validate(one.arguments) == arguments.model_validate(other.arguments)


class Enough(Exception):
    """So many decisions were to be taken."""


class Said(NamedTuple):
    """What a model with random weights said over finished runs."""

    claims: list[Claims]
    """Of the answers that it formulated."""
    by_templates: int
    """Answers to other questions, since it gave none."""
    seconds: list[float]


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
                    said.claims.append(
                        claims(str(raw["text"]), raw["ended"] != "stop", answer, speaker.offered[-1], known)
                    )
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


class Large(NamedTuple):
    """What a model of the size that people use costs here."""

    facts: ModelFacts
    parameters: int
    file_bytes: int
    resident_bytes: int
    timed: list[Timed]

    def seconds(self, name: str) -> float:
        """Add up a part of the time of all answers."""
        return sum(float(timed.answer["seconds"][name]) for timed in self.timed)

    def tokens(self, name: str) -> int:
        """Add up tokens of a kind."""
        return sum(int(timed.answer[name]) for timed in self.timed)

    @property
    def decoding_s(self) -> float:
        """Seconds of the model itself, for what it wrote."""
        return self.seconds("model") - self.seconds("prompt")

    @property
    def share(self) -> float:
        """What the grammar takes, of the time to write."""
        grammar = self.seconds("all") - self.seconds("model")
        return grammar / (self.decoding_s + grammar)


def large_model(folder: Path) -> Large:
    """Take decisions in states that follow each other, with random weights in the shape of a model of 1.5 billion."""
    path = write(folder / "large.gguf", BILLION_AND_A_HALF)
    wish = wish_of(str(path), Settings()).model_copy(update={"decision_timeout_s": 600.0})
    with open_source(wish) as model:
        facts, watched = told_by(model, wish), Watched(model, once=True)
        planner = Beside(asking(watched, wish, facts), watched, Decisions("large"), FEW)
        with suppress(Enough):
            diagnose(next(world for world in map(drawn, range(1, 1000)) if _lasts(world)), planner)
        resident = int(model.describe()["resident_bytes"])
    return Large(facts, BILLION_AND_A_HALF.parameters, path.stat().st_size, resident, watched.seen)


def _lasts(world: World) -> bool:
    """Tell whether a diagnosis takes twice as many steps, so that enough of them have something to choose."""
    return diagnose(world, Rules()).decisions >= 2 * FEW


def held(counted: Sequence[Decisions], said: Said, large: Large | None) -> Iterator[Held]:
    """Set what was measured against what the plan asks for."""
    for one in counted:
        whole = f"{one.asked} of {one.asked}"
        yield Held(f"legal as written, {one.name}", f"{one.legal} of {one.asked}", whole, one.legal == one.asked)
        yield Held(f"strict, {one.name}", f"{one.strict} of {one.asked}", whole, one.strict == one.asked)
        longest = max((timed.answer["prompt_tokens"] for timed in one.timed), default=0)
        yield Held(f"prompt at most, {one.name}", f"{longest} tokens", str(PROMPT_TOKENS), longest <= PROMPT_TOKENS)
    ungrounded = sum(one.ungrounded for one in said.claims)
    yield Held(f"ungrounded in {len(said.claims)} explanations", str(ungrounded), "0", not ungrounded)
    slow = quantile(counted[0].timed, 0.95)
    yield Held("decision of the shipped model (p95)", f"{slow:.3f} s", f"below {LONGEST_S} s", slow < LONGEST_S)
    if large:
        share = f"{100 * large.share:.1f} %"
        yield Held("the grammar's share", share, f"below {100 * GRAMMAR_SHARE:.0f} %", large.share < GRAMMAR_SHARE)
        many = len(large.timed)
        yield Held("decisions of the large model", str(many), f"{FEW}", many >= FEW)


def quantile(timed: Sequence[Timed], share: float) -> float:
    """Give the seconds that so many answers do not take more than; infinite where there are none."""
    seconds = sorted(one.seconds for one in timed)
    return seconds[int(share * (len(seconds) - 1))] if seconds else float("inf")


def page(counted: list[Decisions], said: Said, large: Large | None, limits: list[Held]) -> str:
    """Write the tables, and what they were measured on."""
    lines = ["# What a local model costs, and what it keeps to", ""]
    lines += [f"Written by `python benchmarks/model.py --write` on {date.today()}, on this machine's CPUs.", ""]
    lines += table(("what", "measured", "limit", ""), [(*one[:3], "" if one.kept else "**missed**") for one in limits])
    columns = "model, states, strict, legal, different texts, taken, as the rules, a diagnosis asks, tokens a decision"
    lines += ["", *table([*columns.split(", "), "median, s", "p95, s", "MB"], [row(one) for one in counted])]
    lines += [
        "",
        "states: all different, from simulated diagnoses that the rule policy conducts, whatever the model answers;",
        "those with one legal call are left out. strict: JSON without a blank or a key twice (the shipped model:",
        "the form of places); legal: the call as it was written is one that the graph runs; both before anything",
        "falls back. taken: without those that repeat a call. Random weights draw at temperature 1. Each state",
        "counts once, however often it comes; the card of the shipped model counts them as they come.",
        "",
        f"{len(said.claims)} answers over the runs of recorded cases, formulated by random weights at temperature 1",
        f"({said.by_templates} more by templates, since the model gave none).",
        f"It wrote {total(said, 'sentences')} whole sentences; the checker objects to {total(said, 'objected')} of",
        f"them, and to {total(said, 'shown')} of those shown. {total(said, 'dropped')} were dropped (what the end of",
        f"the answer cut is not counted); {total(said, 'numbers')} numbers are not those of their fact;",
        f"{statistics.median(said.seconds):.2f} s an answer.",
    ]
    return "\n".join([*lines, *(large_lines(large) if large else ())]) + "\n"


def total(said: Said, name: str) -> int:
    """Add up one count over all answers."""
    return sum(int(getattr(one, name)) for one in said.claims)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Write a table in Markdown."""
    return [f"| {' | '.join(one)} |" for one in (head, ["---"] * len(head), *rows)]


def row(one: Decisions) -> list[str]:
    """Tell of one model."""
    tokens = [timed.answer["prompt_tokens"] + timed.answer["tokens"] for timed in one.timed]
    counts = (one.asked, one.strict, one.legal, len(one.texts), one.taken, one.like_rules)
    return [
        one.name,
        *map(str, counts),
        f"{one.choosing / one.diagnoses:.1f}",
        f"{statistics.median(tokens):.0f}" if tokens else "",
        f"{quantile(one.timed, 0.5):.3f}",
        f"{quantile(one.timed, 0.95):.3f}",
        f"{one.resident_bytes / 1e6:.0f}",
    ]


def large_lines(large: Large) -> Iterator[str]:
    """Say what the large model costs."""
    many, prompts, reused = len(large.timed), large.tokens("prompt_tokens"), large.tokens("reused")
    yield ""
    yield (
        f"Random weights in the shape of a model of {large.parameters / 1e9:.2f} billion weights in four bits "
        f"({large.file_bytes / 1e9:.2f} GB on disk, {large.resident_bytes / 1e9:.2f} GB in memory, "
        f"{large.facts.threads} threads), over {many} decisions of one diagnosis, one after the other: prompts of "
        f"{prompts / many:.0f} tokens, {100 * reused / prompts:.0f} % of them kept from the prompt before, the others "
        f"read at {(prompts - reused) / large.seconds('prompt'):.0f} tokens a second; "
        f"{large.tokens('tokens') / large.decoding_s:.1f} tokens a second written by the model; the grammar takes "
        f"{100 * large.share:.1f} % of the time to write; {quantile(large.timed, 0.5):.0f} s a decision (median)."
    )


if __name__ == "__main__":
    sys.exit(main())
