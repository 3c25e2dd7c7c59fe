"""What a transcript says of the model: enough to know whether another machine could write the same tokens again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...knowledge.shape import Frozen
from .chosen import ModelChoice
from .language_model import LanguageModel, ModelFailed

UNTOLD_CHARACTERS = 2.0
"""Characters a token, where nobody counts them: a server. Vocabularies of today have 2.3 to 2.7."""
NOTATION = "vgo.notation"
"""Key in the metadata of a GGUF that was trained for another notation than JSON."""


class ModelFacts(Frozen):
    """One model as it was asked; no path, since that is nobody's business."""

    name: str
    """Of the file, or of the model on a server."""
    kind: str
    """`file` or `server`."""
    sha256: str = ""
    """Of the file; empty: it is on a server, which may change it."""
    library: str = ""
    """What decodes, and its version."""
    cpu: str = ""
    """Features of the CPU that were used: other ones round otherwise."""
    context: int
    batch: int = 0
    threads: int = 0
    notation: str = "json"
    characters_a_token: float = 3.0
    """Of a dense prompt at least, by its own tokenizer: how long a prompt may be. Old records have none."""
    temperature: float
    seed: int
    decision_timeout_s: float
    think: bool
    prompts: dict[str, str]
    """Version and SHA-256 of each template, by name."""

    def other_build(self, now: ModelFacts) -> str:
        """Say in what another build or machine differs where sums may; empty: in nothing."""
        names = ("sha256", "library", "cpu", "context", "batch")
        differing = [name for name in names if getattr(self, name) != getattr(now, name)]
        return ", ".join(differing)


def facts_of(described: Mapping[str, Any], wish: ModelChoice, prompts: Mapping[str, str]) -> ModelFacts:
    """Put together what a model says of itself and how it is to be asked."""
    names = ("name", "kind", "sha256", "library", "cpu", "context", "batch", "threads")
    return ModelFacts(
        **{name: described[name] for name in names if name in described},
        **wish.model_dump(include={"temperature", "seed", "decision_timeout_s", "think"}),
        notation=str(described.get("metadata", {}).get(NOTATION, "json")),
        characters_a_token=float(described.get("characters_a_token", UNTOLD_CHARACTERS)),
        prompts=dict(prompts),
    )


class Said(Frozen):
    """What a language model was asked and wrote for one decision; without times, so that a replay gives it again."""

    prompt: str
    """SHA-256 of the text before the answer."""
    text: str = ""
    """What it wrote; empty where it did not come to that."""
    ended: str = ""
    """`stop`, or `length` where it was cut off; empty where it wrote nothing."""
    thought: str = ""
    """What it wrote before, freely, where it was let."""
    prompt_tokens: int = 0
    tokens: int = 0
    passed_over: str = ""
    """Why its answer was not taken, and the rule policy decided; empty: it was."""


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
