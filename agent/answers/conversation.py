"""A conversation over one finished run: each question is answered from the record and from what is known.

Without a model the facts are told in the order of the material. With one, the model chooses among them (see
`speaker.py`). Either way the sentences are those of the facts, and an answer says who has chosen.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from ...knowledge.passages import KnowledgePassage
from ..planners.state import quoted
from ..record import FinishedRun
from ..report.evidence import gather
from .answer import TEMPLATES, AnswerSentence, Objection, QuestionAnswer, objections
from .fact import CitableFact, numbered
from .intents import ParsedQuestion, Sources, understood
from .material import Material, material
from .near import Near
from .of_known import other_knowledge
from .of_run import RunFacts, run_facts
from .speaker import NotSpoken, Speaker

if TYPE_CHECKING:
    from ...knowledge.index import Index

MOST_DIRECT = 8
MOST_PASSAGES = 8


@dataclass
class Conversation:
    """Holds the run, the index while it is open, and the question before; use it in `with`."""

    run: FinishedRun
    recorded_knowledge: str = ""
    """Digest of what was known when the run was made."""
    speaker: Speaker | None = None
    index: Index | None = None
    """One that is open already; None: its own, opened when first needed, for that costs a second."""
    facts: RunFacts = field(init=False)
    near: Near = field(init=False)
    _before: ParsedQuestion | None = field(default=None, init=False)
    _open: ExitStack = field(default_factory=ExitStack, init=False)

    def __post_init__(self) -> None:
        """Read the record once; VgoError where it has no verdict."""
        self.facts = run_facts(gather(self.run))
        self.near = Near(self.run.knowledge)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._open.close()

    def ask(self, question: str) -> QuestionAnswer:
        """Answer one question."""
        sources = Sources(self.run.knowledge, self.facts.mitigations, self._search, self.near)
        asked = understood(question, sources, self._before)
        gathered = material(asked, self.facts, self._search, self.near)
        direct, more = self._tagged(gathered)
        if not direct:
            return QuestionAnswer(asked, TEMPLATES)
        self._before = asked
        answer = self._checked(self._formulated(asked, direct, more, gathered))
        return replace(answer, steps=gathered.steps, left_out=max(0, len(gathered.direct) - MOST_DIRECT))

    def _search(self, question: str) -> Sequence[KnowledgePassage]:
        if self.index is None:
            from ...knowledge.index import open_index

            self.index = self._open.enter_context(open_index())
        return self.index.search(question, MOST_PASSAGES)

    def _tagged(self, gathered: Material) -> tuple[tuple[CitableFact, ...], tuple[CitableFact, ...]]:
        """Give what is known its references, in the order in which it comes; nothing is said twice."""
        first = gathered.direct[:MOST_DIRECT]
        rest = gathered.more
        if any(not one.tag for one in (*first, *rest)):
            rest = (*rest, *other_knowledge(self.recorded_knowledge, self.facts.evidence))
        named = numbered((one for one in (*first, *rest) if not one.tag), "k", self.facts.events)
        placed = [one if one.tag else next(named) for one in (*first, *rest)]
        direct = {fact.text: fact for fact in reversed(placed[: len(first)])}
        more = {fact.text: fact for fact in reversed(placed[len(first) :]) if fact.text not in direct}
        return tuple(direct.values())[::-1], tuple(more.values())[::-1]

    def _formulated(
        self, asked: ParsedQuestion, direct: tuple[CitableFact, ...], more: tuple[CitableFact, ...], gathered: Material
    ) -> QuestionAnswer:
        """Let the model choose where there is one; else take what is first."""
        plain = QuestionAnswer(asked, TEMPLATES, tuple(map(AnswerSentence, (*direct, *more[: gathered.most_more]))))
        if self.speaker is None:
            return plain
        try:
            chosen = self.speaker.choose(asked.question, direct, more, gathered.prompt)
        except NotSpoken as silent:
            return replace(plain, passed_over=str(silent))
        added = (AnswerSentence(fact, added=True) for fact in direct if fact not in chosen)
        ahead = {_said(one) for one in gathered.leading}
        spoken = sorted(
            (*map(AnswerSentence, chosen), *added),
            key=lambda one: (_said(one.fact) not in ahead, one.fact.kind != "verdict"),
        )
        return QuestionAnswer(asked, self.speaker.name, tuple(spoken))

    def _checked(self, answer: QuestionAnswer) -> QuestionAnswer:
        """Let the checker go over the text, whoever has written it; what it objects to is not said."""
        found = objections(answer.prose, answer.facts)
        wrong = {one.sentence for one in found}
        kept = tuple(one for one in answer.spoken if " ".join(one.text.split()) not in wrong)
        told = tuple(Objection(quoted(one.sentence), one.why) for one in found)
        return replace(answer, spoken=kept, dropped=told)


def _said(one: CitableFact) -> tuple[str, str]:
    """Tell facts apart before and after they have their references."""
    return one.kind, one.key


GateQuestion = Mapping[str, Any]
"""What the gate asks, as `Live.question` makes it."""


def facts_for(question: GateQuestion, line: str) -> list[str]:
    """Answer in lines; none where nothing in the line asks about what is known of the change."""
    plain = f" {' '.join(re.findall('[a-z]+', line.lower()))} "
    return [said for words, answer in TOPICS if re.search(words, plain) for said in answer(question)]


def _what(question: GateQuestion) -> Iterator[str]:
    if said := question.get("description"):
        yield f"What it is: {_one_line(said)}."
    elif not question.get("would"):
        yield f"{question['mitigation']} (scope {question['scope']}): no more is known of it."


def _change(question: GateQuestion) -> Iterator[str]:
    steps, would = question.get("steps") or (), question.get("would") or ()
    yield "You would do this yourself:" if steps else "It would do this, and nothing else:"
    yield from (f"  {number}. {step}" for number, step in enumerate(steps, 1))
    yield from (f"  {line}" for line in would)
    if not steps and not would:
        yield "  change nothing that is known"


def _why(question: GateQuestion) -> Iterator[str]:
    if why := question.get("why"):
        who = "You" if question.get("origin") == "user" else f"The planner ({question.get('origin', 'rules')})"
        yield f"Why now: {who} chose it: {_one_line(why)}."
    if when := question.get("when"):
        yield f"When it helps: {_one_line(when)}."


def _risk(question: GateQuestion) -> Iterator[str]:
    yield f"The risk: {_one_line(question['hurts'])}." if question.get("hurts") else "The risk: none is known."


def _back(question: GateQuestion) -> Iterator[str]:
    if question.get("steps"):
        yield "How it is put back: by you; nothing of it is done, or undone, by vgo-agent."
        return
    written = any(line.startswith(("write ", "set on every GPU", "run ")) for line in question.get("would") or ())
    if written:
        yield (
            "How it is put back: before anything is written, its value goes into a journal; after the runs it is "
            "written back and read again."
        )
        yield "  If vgo-agent is killed meanwhile its watchdog puts it back; `vgo-agent restore` does so at any time."
    else:
        yield "How it is put back: it holds for the processes of its runs, and ends with them."


def _sources(question: GateQuestion) -> Iterator[str]:
    listed = question.get("sources") or ()
    yield from (f"Source: {one}" for one in listed) if listed else ("No source is noted for it.",)


def _one_line(text: str) -> str:
    return " ".join(str(text).split()).removesuffix(".")


TOPICS: tuple[tuple[str, Callable[[GateQuestion], Iterator[str]]], ...] = (
    (r" (what is (it|this|that)|what s (it|this|that)|explain|describe|how does it work|mean|means) ", _what),
    (r" (chang\w*|(it|this) do|writes?|touch\w*|modif\w*|steps?|what (would|will) \w+) ", _change),
    (r" (why|reason|reasons|when|help|helps|what for|purpose|chosen|chose) ", _why),
    (
        r" (safe\w*|risk\w*|danger\w*|hurts?|harm\w*|breaks?|side|effects?|costs?|crash\w*|lose|loss|data|worse"
        r"|others?|problem\w*) ",
        _risk,
    ),
    (r" (back|undo|undone|revert\w*|restor\w*|reset\w*|afterwards?|permanent\w*|stays?|keeps?|kept) ", _back),
    (r" (source|sources|paper|papers|proof|evidence|who says|reference|references) ", _sources),
)
"""By what words a part of what is known is asked for; of several parts all are said, in this order."""
