"""What a GGUF file is, told without loading it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from ...knowledge.errors import VgoError
from .gguf_read import Head, read_head
from .tensor_types import TYPES

SILENT = ("bert", "nomic-bert", "nomic-bert-moe", "jina-bert-v2", "neo-bert", "modern-bert", "t5encoder", "clip")
"""Architectures of llama.cpp that write no text: they embed texts, or look at pictures."""
NOT_MODELS = {"adapter": "an adapter to a model", "mmproj": "the eyes of a model", "imatrix": "a table for quantising"}
"""By `general.type`."""


@dataclass(frozen=True)
class GgufFile:
    """A file whose head makes sense and whose weights are all there."""

    path: Path
    bytes: int
    head: Head

    @property
    def metadata(self) -> Mapping[str, Any]:
        """Numbers, texts and short lists."""
        return self.head.metadata

    @property
    def architecture(self) -> str:
        """As llama.cpp names it."""
        return self._text("general.architecture")

    @property
    def name(self) -> str:
        """As its maker named it."""
        return self._text("general.name")

    @property
    def licence(self) -> str:
        """As its maker wrote it; empty where nothing is said."""
        return self._text("general.license")

    @property
    def template(self) -> str:
        """The chat template; empty: there is none."""
        return self._text("tokenizer.chat_template")

    @property
    def context(self) -> int:
        """Tokens that it was trained on at once; 0: not said."""
        return self.whole("context_length")

    @property
    def vocabulary(self) -> int:
        """Number of tokens."""
        return self.head.lengths.get("tokenizer.ggml.tokens", 0) or self.whole("vocab_size")

    @cached_property
    def parameters(self) -> int:
        """Number of weights."""
        return sum(tensor.values for tensor in self.head.tensors)

    @cached_property
    def weights(self) -> int:
        """Bytes of all weights."""
        return max(sum(tensor.bytes for tensor in self.head.tensors), self.bytes - self.head.weights_at)

    @cached_property
    def stored_as(self) -> tuple[str, ...]:
        """Types of the weights, those with the most bytes first."""
        sizes: dict[str, int] = {}
        for tensor in self.head.tensors:
            name = TYPES[tensor.type].name if tensor.type in TYPES else f"type {tensor.type}"
            sizes[name] = sizes.get(name, 0) + tensor.bytes
        return tuple(sorted(sizes, key=lambda name: -sizes[name]))

    def whole(self, key: str, default: int = 0) -> int:
        """A whole number of the architecture; the default where there is none that makes sense."""
        found = self.metadata.get(f"{self.architecture}.{key}")
        return found if isinstance(found, int) and found >= 0 else default

    def each_layer(self, key: str, default: int = 0) -> list[int]:
        """A whole number for each layer, which may stand there once for all."""
        found, layers = self.metadata.get(f"{self.architecture}.{key}"), min(self.whole("block_count"), 1 << 12)
        if isinstance(found, list) and all(isinstance(value, int) and value >= 0 for value in found):
            return found[:layers]
        return [self.whole(key, default)] * layers

    def _text(self, key: str) -> str:
        found = self.metadata.get(key, "")
        return found if isinstance(found, str) else ""


def read_gguf(path: Path) -> GgufFile:
    """Read what a file says of itself; raises VgoError where it is no whole model that writes text."""
    head, size = read_head(path)
    found = GgufFile(path, size, head)
    _refuse_other(found)
    _refuse_part(found)
    return found


def _refuse_other(found: GgufFile) -> None:
    if what := NOT_MODELS.get(found._text("general.type")):
        raise VgoError(f"{found.path} is {what}, not a model; give the model itself.")
    if not found.architecture:
        raise VgoError(f"{found.path} names no architecture (general.architecture); give another model.")
    if found.architecture in SILENT:
        raise VgoError(f"{found.path} writes no text (its architecture is {found.architecture}); give a chat model.")
    if not found.head.tensors:
        raise VgoError(f"{found.path} holds a vocabulary and no weights; give the whole model.")


def _refuse_part(found: GgufFile) -> None:
    """Refuse a file that was cut off, or that is one of several."""
    parts = found.metadata.get("split.count", 0)
    if isinstance(parts, int) and parts > 1:
        raise VgoError(f"{found.path} is one of {parts} parts; give a model in one file (`llama-gguf-split --merge`).")
    end = found.head.weights_at + max(tensor.offset + tensor.bytes for tensor in found.head.tensors)
    if end > found.bytes:
        raise VgoError(
            f"{found.path} is cut off: it has {found.bytes:,} of {end:,} bytes; fetch it again "
            "(`vgo-agent model pull` goes on where it stopped)."
        )
