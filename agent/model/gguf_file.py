"""What a GGUF file is, told without loading it."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...knowledge.errors import VgoError

if TYPE_CHECKING:
    from .gguf_read import GgufHead

EXTRA = "A model in a file needs llama.cpp and gguf; pip install 'vgo-agent[llm]', or take --planner rules."
VERSIONS = (2, 3)
SILENT = ("bert", "nomic-bert", "nomic-bert-moe", "jina-bert-v2", "neo-bert", "modern-bert", "t5encoder", "clip")
"""Architectures of llama.cpp that write no text: they embed texts, or look at pictures."""
NOT_MODELS = {"adapter": "an adapter to a model", "mmproj": "the eyes of a model", "imatrix": "a table for quantising"}
"""By `general.type`."""


@dataclass(frozen=True)
class GgufFile:
    """A file whose head makes sense and whose weights are all there."""

    path: Path
    bytes: int
    metadata: Mapping[str, Any]
    """Numbers, texts and lists of numbers."""
    tokens: int
    """Listed in the file."""
    parameters: int
    """Number of weights."""
    weights: int
    """Bytes of all weights."""
    stored_as: tuple[str, ...]
    """Types of the weights, those with the most bytes first."""

    @property
    def architecture(self) -> str:
        """As llama.cpp names it."""
        return self.text("general.architecture")

    @property
    def context(self) -> int:
        """Tokens that it was trained on at once; 0: not said."""
        return self.whole("context_length")

    @property
    def vocabulary(self) -> int:
        """Number of tokens."""
        return self.tokens or self.whole("vocab_size")

    def text(self, key: str) -> str:
        """A text; empty where there is none."""
        found = self.metadata.get(key, "")
        return found if isinstance(found, str) else ""

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


def read_gguf(path: Path) -> GgufFile:
    """Read what a file says of itself; raises VgoError where it is no whole model that writes text."""
    try:
        from .gguf_read import CutOff, GgufHead
    except ImportError as error:
        raise VgoError(EXTRA) from error
    _refuse_other(path)
    try:
        return _described(path, GgufHead(path))
    except CutOff as error:
        raise VgoError(
            f"{path} is cut off: {error}; fetch it again (`vgo-agent model pull` goes on where it stopped)."
        ) from error
    except OSError as error:
        raise VgoError(f"{path} cannot be read ({error.strerror}); give a GGUF file.") from error
    except (ArithmeticError, LookupError, ValueError) as error:  # as the library says that a file makes no sense
        why = " ".join(str(error).split())[:80]
        raise VgoError(f"{path} is damaged, or newer than the gguf package here ({why}); fetch another.") from error


def _refuse_other(path: Path) -> None:
    """Refuse what is no GGUF file of this byte order."""
    if path.exists() and not path.is_file():
        raise VgoError(f"{path} is not a file; give a GGUF file.")
    try:
        with path.open("rb") as file:
            start = file.read(8)
    except OSError as error:
        raise VgoError(f"{path} cannot be read ({error.strerror}); give a GGUF file.") from error
    if not start.startswith(b"GGUF"):
        pointer = start.startswith(b"vers")  # "version https://git-lfs.github.com/spec/v1"
        cure = "it is a pointer of git-lfs: `git lfs pull` fetches the model" if pointer else "give one"
        raise VgoError(f"{path} is not a GGUF file; {cure}.")
    (version,) = struct.unpack("<I", start[4:].ljust(4, b"\0"))
    if len(start) == 8 and version not in VERSIONS:
        raise VgoError(
            f"{path} is a GGUF file of version {version if version < 1 << 16 else 'unknown'}, and versions "
            f"{' and '.join(map(str, VERSIONS))} are read; convert it anew."
        )


def _described(path: Path, head: GgufHead) -> GgufFile:
    fields, sizes = head.fields, dict[str, int]()
    for tensor in head.tensors:
        sizes[tensor.tensor_type.name] = sizes.get(tensor.tensor_type.name, 0) + tensor.n_bytes
    tokens, size = fields.get("tokenizer.ggml.tokens"), path.stat().st_size
    found = GgufFile(
        path,
        size,
        {name: field.contents() for name, field in fields.items()},
        tokens=int(tokens.parts[4][0]) if tokens else 0,
        parameters=sum(tensor.n_elements for tensor in head.tensors),
        weights=max(sum(sizes.values()), size - head.data_offset),
        stored_as=tuple(sorted(sizes, key=lambda name: -sizes[name])),
    )
    if what := NOT_MODELS.get(found.text("general.type")):
        raise VgoError(f"{path} is {what}, not a model; give the model itself.")
    if not found.architecture:
        raise VgoError(f"{path} names no architecture (general.architecture); give another model.")
    if found.architecture in SILENT:
        raise VgoError(f"{path} writes no text (its architecture is {found.architecture}); give a chat model.")
    if not head.tensors:
        raise VgoError(f"{path} holds a vocabulary and no weights; give the whole model.")
    parts = found.metadata.get("split.count", 0)
    if isinstance(parts, int) and parts > 1:
        raise VgoError(f"{path} is one of {parts} parts; give a model in one file (`llama-gguf-split --merge`).")
    return found
