"""A model that says again what a transcript recorded: for a replay where it is not at hand, or beside it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from .facts import Said
from .language_model import LanguageModel, ModelFailed

PATIENCE_S = 3600.0
"""For a replay: how long a model took then, and takes now, is no part of the record."""


class Retold:
    """Answers in the order of the record; with a live model, that answers, but for what failed then."""

    def __init__(self, said: Sequence[Said], live: LanguageModel | None = None) -> None:
        self._said: Iterator[Said] = iter(said)
        self._now: Said | None = None
        """The decision whose thought was asked for, and its answer not yet."""
        self._live = live

    def describe(self) -> dict[str, Any]:
        """Describe the live model; a record describes nothing anew."""
        return self._live.describe() if self._live else {}

    def ask(self, request: dict[str, Any], seconds: float) -> dict[str, Any]:
        """Give the next thought or answer; raises ModelFailed where there was none, or the record ends."""
        said = self._now or next(self._said, None)
        if said is None:
            raise ModelFailed("the record has no further answer")
        thinking = not request["grammar"]
        self._now = said if thinking else None
        text = said.thought if thinking else said.text
        failed = not said.text and not (thinking and said.thought)
        if failed:
            self._now = None
            raise ModelFailed(said.passed_over)
        if self._live:
            return self._live.ask(request, PATIENCE_S)
        return {
            "text": text,
            "ended": said.ended,
            "prompt_tokens": said.prompt_tokens,
            "tokens": said.tokens,
            "framed": "",
        }
