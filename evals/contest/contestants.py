"""Everybody who answers, by the name that stands in tables."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...agent.legal import Legal
from ...agent.model.chosen import SHIPPED, model_choice
from ...agent.planners.base import Choice, Rules, View, menu
from ...agent.planning import LLAMA, planning
from ...agent.settings import UserSettings
from ...knowledge.errors import VgoError
from ...knowledge.loader import Knowledge, load
from ...tools.case import Slot
from ...tools.steps.apply_mitigation import ApplyMitigationTool
from ..recorded.recorded_case import RecordedCase, ShownCase
from ..recorded.schema import Truth
from ..recorded.truth import MENDED, read_truth
from . import OWN
from .answer import ContestAnswer, Contestant
from .effect import best_of
from .loop import PlannerContestant
from .paper import Paper

SEVERAL = ("compare", "apply_mitigation", "conclude")
"""What may be called again: for the batch that confirms."""
LEFT_OUT = "fit_tree"
"""It explains and decides nothing."""


@dataclass(frozen=True)
class Greedy:
    """The rule policy with its other ideas taken away, so that both spend their budget alike: what the policy is worth.

    Once each: measure, profile, label, rank, look up the first visible factor, apply its first mitigation that can be
    tried; confirm it in a second batch where it scattered less; conclude. A call that fails is not made again.
    """

    name: str = "greedy"

    def choose(self, view: View) -> Choice:
        """Let the rules choose among what is left."""
        return Rules().choose(replace(view, legal=_narrowed(view)))


def _narrowed(view: View) -> Legal:
    called = {call.tool for call in view.record.calls} - set(SEVERAL)
    tools = {tool: choices for tool, choices in view.legal.tools.items() if tool not in {*called, LEFT_OUT}}
    tried = view.findings.called("apply_mitigation")
    if slots := tools.pop(ApplyMitigationTool.name, ()):
        batches = tuple(choice for choice in slots[0].choices if choice[1] == 2 or not tried)
        tools |= {ApplyMitigationTool.name: (Slot(slots[0].names, batches),)} if batches else {}
    return Legal({tool: tools[tool] for tool in view.legal.tools if tool in tools})


LAST = 120
"""The decision at which it concludes for certain; the chance rises to that in a straight line. Half of the diagnoses
would take 13 decisions and more, where one that finds and confirms a cure takes ten."""


@dataclass(frozen=True)
class RandomLegal:
    """Draws the tool and each choice of its arguments from the menu, all alike; every draw follows from the seed and
    from how many decisions there were, so that it has no state."""

    seed: int
    name: str = "random-legal"

    def choose(self, view: View) -> Choice:
        """Draw the next call."""
        chance = random.Random(f"random-legal:{self.seed}:{view.decisions}")
        listed = menu(view)
        tools = [tool for tool in listed if tool != "conclude"]
        if not tools or chance.random() < view.decisions / LAST:
            return Choice("conclude", {}, "drawn")
        tool = chance.choice(tools)
        drawn: dict[str, Any] = {}
        for slot in listed[tool]:
            drawn |= zip(slot.names, chance.choice(slot.choices), strict=True)
        return Choice(tool, drawn, "drawn")


@dataclass(frozen=True)
class Constant:
    """What can be had without measuring anything: a tool that is no better has learnt nothing from its runs."""

    ranked: tuple[str, ...]
    """Keys of the causes, the most common first, then in the order of the alphabet."""
    mitigation: str
    """The first of that cause that the tool can apply; empty where there is none."""
    name: str = "constant"

    @classmethod
    def of(cls, train: Iterable[Truth], knowledge: Knowledge | None = None) -> Constant:
        """Count the causes of the train cases; raises VgoError where none of them has one."""
        counts = Counter(cause for truth in train for cause in truth.causes)
        if not counts:
            raise VgoError("No train case has a cause, so there is no most common one; give the train cases too.")
        ranked, known = tuple(sorted(counts, key=lambda cause: (-counts[cause], cause))), knowledge or load()
        listed = known.factors[ranked[0]].mitigations if ranked[0] in known.factors else ()
        return cls(ranked, next((key for key in listed if known.mitigations[key].apply is not None), ""))

    def answer(self, case: ShownCase, seed: int) -> ContestAnswer:
        """Say it again."""
        return ContestAnswer(
            verdict="cause explained, remedy confirmed" if self.mitigation else "cause explained, remedy not tried",
            causes=self.ranked[:1],
            ranked=self.ranked,
            mitigation=self.mitigation,
        )


@dataclass(frozen=True)
class Oracle:
    """Reads the truth, and every recorded pair: the best that any could answer, and so the end of every scale."""

    cases: Sequence[RecordedCase]
    """All that it may be asked."""
    name: str = "oracle"

    def answer(self, case: ShownCase, seed: int) -> ContestAnswer:
        """Say what is right; of the accepted mitigations, the one with the least measured SD ratio."""
        whole = next(one for one in self.cases if one.ticket is case.ticket)
        truth = read_truth(whole.folder)
        known = ContestAnswer(verdict=truth.verdicts[0], causes=truth.causes, ranked=truth.causes)
        if MENDED not in truth.verdicts or not truth.accepted:
            return known
        best = best_of(whole, truth.accepted)
        return known.model_copy(
            update={"verdict": MENDED, "mitigation": best[0] if best else truth.accepted[0], "price_told": True}
        )


class Modelled:
    """Answers as `vgo-agent diagnose --planner llama --model SPEC` does."""

    def __init__(self, name: str) -> None:
        """Look at the model; raises VgoError where it, or llama.cpp, is not there."""
        self.name = name
        self._wish = model_choice(name.removeprefix(OWN) if name.startswith(OWN) else SHIPPED, UserSettings())

    def answer(self, case: ShownCase, seed: int) -> ContestAnswer:
        """Answer one case; the model is loaded for it alone."""
        with planning(LLAMA, self._wish) as chosen:
            return PlannerContestant(self.name, lambda _: chosen.planner).answer(case, seed)


Factory = Callable[[Sequence[RecordedCase]], Contestant]
"""Takes all cases that there are, not only those to be answered: `constant` learns from the train split."""


CONTESTANTS: Mapping[str, Factory] = {
    "rules": lambda _: PlannerContestant("rules", lambda _: Rules()),
    LLAMA: lambda _: Modelled(LLAMA),
    "greedy": lambda _: PlannerContestant("greedy", lambda _: Greedy()),
    "random-legal": lambda _: PlannerContestant("random-legal", RandomLegal),
    "constant": lambda cases: Constant.of(read_truth(one.folder) for one in cases if one.file.split == "train"),
    "paper": lambda _: Paper(),
    "paper-raw": lambda _: Paper("paper-raw", consequences=True),
    "oracle": Oracle,
}


def factory_of(name: str, registered: Mapping[str, Factory]) -> Factory:
    """Find who is meant, a model of the user's among them (`llama:SPEC`); raises VgoError where there is nobody."""
    if name.startswith(OWN):
        return lambda _: Modelled(name)
    if name not in registered:
        raise VgoError(f"There is no planner {name!r}; choose among {', '.join(registered)}, {OWN}MODEL.")
    return registered[name]
