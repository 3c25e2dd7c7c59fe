"""What is used of a language model, wherever it is."""

from __future__ import annotations

from typing import Any, Protocol


class ModelFailed(Exception):
    """There is no answer; the words say why. The next question starts anew."""


class ModelGone(ModelFailed):
    """Its process or its server ended, or it was late: the next question may cost as much again."""


class LanguageModel(Protocol):
    """A model in a process of its own, on a server, or in a record."""

    def describe(self) -> dict[str, Any]:
        """Say what it is, and by what build; raises ModelFailed where it cannot be had."""

    def ask(self, request: dict[str, Any], seconds: float) -> dict[str, Any]:
        """Ask one thing; raises ModelFailed where there is no answer within so many seconds.

        A request has `messages` (role and content), `grammar` (GBNF; empty: free), `schema` (the same as a JSON
        schema, or None), `most` (tokens), `temperature` and `seed`; an answer has `text`, `ended` (`stop`, or `length`
        where it was cut), `prompt_tokens`, `tokens` and `framed` (how the messages became a prompt); a process adds
        `seconds`, and `reused` (tokens of the prompt that were kept from the one before).
        """
