"""A language model chooses from the menu; what it does wrong, the rule policy does instead, and it is recorded."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import Any, Protocol

from ...prompts.render import render
from ..model.process import ModelFailed
from .base import Choice, Said, View
from .grammar import NotOnMenu, grammar, longest, read, write
from .menu import Menu, calls, menu
from .rules import Rules
from .state import told

ONLY = "nothing else is legal now"
DATE = "01 Jan 2026"
"""For chat templates that print today's date: a prompt must not change with the day."""
THOUGHT_TOKENS = 160


class Asked(Protocol):
    """What is used of a model, in a process of its own or on a server."""

    def ask(self, request: dict[str, Any], seconds: float) -> dict[str, Any]:
        """Ask one thing; raises ModelFailed where there is no answer."""


@dataclass(frozen=True)
class Manner:
    """How a model is asked; part of the record."""

    temperature: float = 0.0
    seed: int = 1
    """Of each call; 0 would be another one each time."""
    decision_timeout_s: float = 60.0
    think: bool = False
    """Let it write freely, within bounds, before it chooses."""


@dataclass(frozen=True)
class Llama:
    """Keeps no state between decisions: the same record gives the same prompt."""

    model: Asked
    manner: Manner = Manner()
    name: str = "llama"

    def choose(self, view: View) -> Choice:
        """Ask the model, unless there is nothing to choose; fall back to the rule policy for this step."""
        listed = menu(view)
        if calls(listed) == 1:
            return replace(Rules().choose(view), why=ONLY)
        usual = Rules().choose(view)
        prompt = told(view, listed, _example(listed))
        said = Said(prompt=hashlib.sha256(prompt.encode()).hexdigest())
        try:
            return self._asked(view, listed, prompt, said)
        except (ModelFailed, NotOnMenu) as error:
            return replace(usual, said=said.model_copy(update={"passed_over": str(error)}))

    def _asked(self, view: View, listed: Menu, prompt: str, said: Said) -> Choice:
        thought = self._thought(prompt) if self.manner.think else ""
        framed = self._framed(f"{prompt}\n{thought}" if thought else prompt)
        answer = self._complete(framed, grammar(listed), longest(listed))
        if answer["ended"] != "stop":
            raise NotOnMenu(f"cut off: {answer['text'][:80]!r}")
        choice = read(answer["text"], listed, thought or f"chosen by the model, of {calls(listed)} legal calls")
        if any(
            (call.tool, dict(call.arguments)) == (choice.tool, dict(choice.arguments)) for call in view.record.calls
        ):
            raise NotOnMenu(f"said before: {answer['text'][:80]!r}")
        spent = {"prompt_tokens": answer["prompt_tokens"], "tokens": answer["tokens"]}
        said = said.model_copy(update={"text": answer["text"], "thought": thought, **spent})
        return replace(choice, said=said)

    def _framed(self, prompt: str) -> dict[str, Any]:
        """Put the prompt into the model's own chat template, or, where it has none that works, as it is."""
        system = render("model/system.txt.j2")
        messages = [{"role": "user", "content": f"{system}\n{prompt}"}]  # some templates know no system role
        try:
            shown = self.model.ask(
                {"kind": "render", "messages": messages, "date": DATE}, self.manner.decision_timeout_s
            )
        except ModelFailed:
            return {"prompt": f"{system}\n{prompt}\n", "stop": [], "bos": True}
        return {"prompt": shown["text"], "stop": shown["stop"], "bos": False}

    def _thought(self, prompt: str) -> str:
        framed = self._framed(f"{prompt}\nFirst say in one or two sentences what the numbers suggest.")
        return " ".join(str(self._complete(framed, "", THOUGHT_TOKENS)["text"]).split())

    def _complete(self, framed: dict[str, Any], rules: str, most: int) -> dict[str, Any]:
        manner = self.manner
        request = {"kind": "complete", "grammar": rules, "most": most, **framed}
        request |= {"temperature": manner.temperature, "seed": manner.seed}
        return self.model.ask(request, manner.decision_timeout_s)


def _example(listed: Menu) -> str:
    tool = next(iter(listed))
    return write(tool, [(slot, slot.choices[0]) for slot in listed[tool]])
