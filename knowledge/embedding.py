"""Vectors from an embedding model of the user's: a GGUF file, run on this machine by llama-cpp-python."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from .errors import VgoError
from .vectors import Floats

MAGIC = b"GGUF"
CONTEXT = 512
"""Tokens of one text: what the common embedding models were trained on; the rest is cut."""
LOOKED_AT = 1 << 20
"""Bytes of the start (names, vocabulary) and of the end that tell models apart: reading all would outlast a search."""


class EmbeddingModel(Protocol):
    """What is used of `llama_cpp.Llama`."""

    def embed(self, input: str, normalize: bool = ..., truncate: bool = ...) -> Any:
        """Give one vector, or one for each token where the model does not pool them."""


class GgufVectors:
    """Embeds with one file, loaded when the first text comes."""

    def __init__(self, path: Path, load: Callable[[Path], EmbeddingModel] | None = None) -> None:
        """Look at the file; VgoError when it is no GGUF file."""
        self.path = path
        self.identity = fingerprint(path)
        """Of the model, so that an index knows by which it was made."""
        self._load = load or load_model
        self._model: EmbeddingModel | None = None

    def embed(self, text: str) -> Floats:
        """Embed one text as a vector of length one."""
        if self._model is None:
            self._model = self._load(self.path)
        # One by one: a batch of several needs a context that is made for so many, in another way by each version.
        vector = np.asarray(self._model.embed(text, normalize=False, truncate=True), dtype=np.float64)
        pooled = vector.mean(axis=0) if vector.ndim > 1 else vector
        length = float(np.linalg.norm(pooled))
        if not pooled.size or not np.isfinite(length):
            raise VgoError(f"{self.path} gives no usable vectors. Name an embedding model with --embedding.")
        return (pooled / (length or 1.0)).astype(np.float32)

    def embed_all(self, texts: Sequence[str]) -> Floats:
        """Embed texts, row by row."""
        return np.stack([self.embed(text) for text in texts])


def fingerprint(path: Path) -> str:
    """Tell a model file from others by its size, its start and its end."""
    try:
        with path.open("rb") as file:
            start = file.read(LOOKED_AT)
            size = file.seek(0, 2)
            file.seek(max(0, size - LOOKED_AT))
            end = file.read()
    except OSError as error:
        raise VgoError(f"{path} cannot be read ({error.strerror}). Name a GGUF file with --embedding.") from error
    if not start.startswith(MAGIC):
        raise VgoError(f"{path} is not a GGUF file. Name one with --embedding, or leave it out.")
    return hashlib.sha256(b"%d:%b%b" % (size, start, end)).hexdigest()


def load_model(path: Path) -> EmbeddingModel:
    """Load a model; VgoError when the library is absent or refuses the file."""
    try:
        from llama_cpp import Llama
    except ImportError as error:
        raise VgoError(
            "--embedding needs llama-cpp-python, which is not installed. Install vgo-agent with the extra llm "
            "(pip install 'vgo-agent[llm]'), or leave --embedding out."
        ) from error
    try:
        model: EmbeddingModel = Llama(
            model_path=str(path), embedding=True, n_ctx=CONTEXT, n_batch=CONTEXT, verbose=False
        )
    except (ValueError, RuntimeError) as error:
        raise VgoError(f"{path} cannot be loaded as a model ({error}). Name another file with --embedding.") from error
    return model
