"""Stand-ins for language models: what a test says they write."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from vgo_agent.agent.answers.speaker import LISTED, Speaker
from vgo_agent.agent.model.language_model import ModelFailed

Request = dict[str, Any]


@dataclass
class Says:
    """Writes what a function makes of the request."""

    write: Callable[[Request], str]
    requests: list[Request] = field(default_factory=list)

    def describe(self) -> Request:
        return {}

    def ask(self, request: Request, seconds: float) -> Request:
        self.requests.append(request)
        text = self.write(request)
        return {"text": text, "ended": "stop", "prompt_tokens": 1, "tokens": len(text)}


class Fails:
    """Gives no answer."""

    def describe(self) -> Request:
        return {}

    def ask(self, request: Request, seconds: float) -> Request:
        raise ModelFailed("no answer within 60 s")


def saying(text: str) -> Speaker:
    """Say the same whatever is asked."""
    return Speaker(Says(lambda _: text), "a parrot")


def may_be_written(request: Request) -> list[str]:
    """List the references that a request lets through."""
    listed: list[str] = request["schema"]["properties"][LISTED]["items"]["enum"]
    return listed


def obedient(seed: int, sentences: int = 4) -> Speaker:
    """Choose at random among what may be written, as a model under the grammar does."""
    drawn = random.Random(seed)
    return Speaker(Says(lambda request: " ".join(drawn.choices(may_be_written(request), k=sentences))), "dice")
