"""A language model chooses from the menu; what it does wrong, the rule policy does instead, and it is recorded."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from ...prompts.render import render
from ..model.chosen import ModelChoice
from ..model.facts import Said
from ..model.language_model import LanguageModel, ModelFailed
from .base import Choice, Menu, Rules, View, calls, menu
from .compact import line, spoken
from .grammar import JSON, PLACES, Notation, NotOnMenu, grammar, longest, read, schema, write
from .state import plain, state_text

ONLY = "nothing else is legal now"
THOUGHT_TOKENS = 160
THOUGHT_CHARACTERS = 600
PROMPT_TOKENS = 2000
"""Of a decision at most, whatever the context is: small models lose the thread of longer ones."""
THOUGHT_ROOM = 900
"""Characters that a prompt with a thought has more."""
LEAST_CHARACTERS = 600
NOTATIONS: Mapping[str, Notation] = {"json": JSON, "places": PLACES}
"""By what the metadata of a GGUF says of the model (`vgo.notation`); without a word, JSON."""
Draw = dict[str, Any]
"""Temperature and seed of one decision; each has a seed of its own, so that a draw says nothing of the next."""


class DecisionPrompt(NamedTuple):
    """One decision as a model is asked for it."""

    listed: Menu
    notation: Notation
    prompt: str


@dataclass(frozen=True)
class Llama:
    """Keeps no state between decisions: the same record gives the same prompt."""

    model: LanguageModel
    wish: ModelChoice
    notation: str = "json"
    context: int = PROMPT_TOKENS
    """Tokens that prompt and answer may have together."""
    characters_a_token: float = 3.0
    """By the model's own tokenizer; fewer than English has, since numbers and names take more tokens."""
    name: str = "llama"

    def choose(self, view: View) -> Choice:
        """Ask the model, unless there is nothing to choose; fall back to the rule policy for this step."""
        usual = Rules().choose(view)
        listed = menu(view)
        if NOTATIONS[self.notation] is PLACES:
            listed = spoken(listed)
            if usual.tool not in listed:
                return replace(usual, why=f"{usual.why}; the small model has no word for it")
        if calls(listed) == 1:
            return replace(usual, why=ONLY)
        question = self._question(view, listed)
        said = Said(prompt=hashlib.sha256(question.prompt.encode()).hexdigest())
        try:
            said, choice = self._asked(view, question, said)
            return replace(choice, said=said)
        except PassedOver as error:
            return replace(usual, said=error.said)

    def _question(self, view: View, listed: Menu) -> DecisionPrompt:
        notation = NOTATIONS[self.notation]
        if notation is PLACES:
            return DecisionPrompt(listed, notation, line(view, listed))
        room = min(PROMPT_TOKENS, self.context - longest(listed, notation)) * self.characters_a_token
        room -= THOUGHT_ROOM if self.wish.think else 0
        system = render("model/system.txt.j2")
        tool = next(iter(listed))
        example = write(tool, listed[tool], [0] * len(listed[tool]), notation)
        state = state_text(view, listed, example, max(LEAST_CHARACTERS, int(room) - len(system)))
        return DecisionPrompt(listed, notation, f"{system}{state}")  # one message: some templates know no system role

    def _asked(self, view: View, question: DecisionPrompt, said: Said) -> tuple[Said, Choice]:
        until = time.monotonic() + self.wish.decision_timeout_s
        try:
            prompt = question.prompt
            draw = {"temperature": self.wish.temperature, "seed": self.wish.seed + view.decisions}
            if self.wish.think and question.notation is JSON:
                said = said.model_copy(update={"thought": self._thought(prompt, draw, until)})
                prompt = render("model/thought.txt.j2", prompt=prompt, thought=said.thought)
            said = self._answered(question, prompt, said, draw, until)
            if said.ended != "stop":
                raise NotOnMenu("it was cut off")
            why = f"chosen by the model, of {calls(question.listed)} legal calls"
            choice = read(said.text, question.listed, why, question.notation)
            if _made_before(view, choice):
                raise NotOnMenu("this call was made before")
        except (ModelFailed, NotOnMenu) as error:
            raise PassedOver(said.model_copy(update={"passed_over": str(error)})) from error
        return said, choice

    def _thought(self, prompt: str, draw: Draw, until: float) -> str:
        """Let it write freely first: what it writes is kept apart, and never told as a finding."""
        asked = render("model/think.txt.j2", prompt=prompt)
        free = {"grammar": "", "schema": None, "most": THOUGHT_TOKENS}
        answer = self._ask({"messages": _messages(asked)} | free | draw, until)
        return plain(str(answer["text"]), THOUGHT_CHARACTERS)

    def _answered(self, question: DecisionPrompt, prompt: str, said: Said, draw: Draw, until: float) -> Said:
        request = {
            "messages": _messages(prompt),
            "grammar": grammar(question.listed, question.notation),
            "schema": schema(question.listed) if question.notation is JSON else None,
            "most": longest(question.listed, question.notation),
        }
        answer = self._ask(request | draw, until)
        kept = {name: answer[name] for name in ("text", "ended", "prompt_tokens", "tokens")}
        return said.model_copy(update=kept)

    def _ask(self, request: dict[str, Any], until: float) -> dict[str, Any]:
        return self.model.ask(request, max(0.0, until - time.monotonic()))


class PassedOver(Exception):
    """The model's answer is not taken; what it said is kept with the reason."""

    def __init__(self, said: Said) -> None:
        super().__init__(said.passed_over)
        self.said = said


def _messages(prompt: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": prompt}]


def _made_before(view: View, choice: Choice) -> bool:
    """Tell whether a call with these arguments has been made since the last profile: asked twice, a tool says the same.

    After a profile it says something else: its runs are labelled, explained and ranked anew.
    """
    made = view.findings.since_profile
    return any((call.tool, dict(call.arguments)) == (choice.tool, dict(choice.arguments)) for call in made)
