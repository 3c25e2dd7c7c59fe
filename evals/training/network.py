"""The llama architecture as llama.cpp computes it, small, in JAX; weights have the names that GGUF gives them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

Array = Any
"""Of JAX; its own type says little more."""
Weights = Mapping[str, Array]
NORM_EPSILON = 1e-5
ROPE_BASE = 10_000.0


@dataclass(frozen=True)
class Size:
    """How large the model is."""

    vocabulary: int
    width: int = 64
    layers: int = 3
    heads: int = 2
    hidden: int = 192
    context: int = 256

    @property
    def head(self) -> int:
        """Width of one head."""
        return self.width // self.heads


def begin(size: Size, seed: int) -> dict[str, NDArray[np.float32]]:
    """Draw weights; every matrix has the shape (out, in), and the embedding is also what an answer is read by."""
    chance = np.random.default_rng(seed)

    def matrix(rows: int, columns: int, scale: float = 1.0) -> NDArray[np.float32]:
        drawn: NDArray[np.float64] = chance.standard_normal((rows, columns)) * scale / np.sqrt(columns)
        return drawn.astype(np.float32)

    ones = np.ones(size.width, np.float32)
    weights = {"token_embd.weight": matrix(size.vocabulary, size.width), "output_norm.weight": ones}
    into = 1 / np.sqrt(2 * size.layers)  # what is added to the stream stays small at first
    for layer in range(size.layers):
        name = f"blk.{layer}."
        weights |= {
            f"{name}attn_norm.weight": ones,
            f"{name}attn_q.weight": matrix(size.width, size.width),
            f"{name}attn_k.weight": matrix(size.width, size.width),
            f"{name}attn_v.weight": matrix(size.width, size.width),
            f"{name}attn_output.weight": matrix(size.width, size.width, into),
            f"{name}ffn_norm.weight": ones,
            f"{name}ffn_gate.weight": matrix(size.hidden, size.width),
            f"{name}ffn_up.weight": matrix(size.hidden, size.width),
            f"{name}ffn_down.weight": matrix(size.width, size.hidden, into),
        }
    return weights


def logits(weights: Weights, tokens: Array, places: Array, size: Size) -> Array:
    """Say what comes next at some places of each row: tokens (rows, length), places (rows, n), to (rows, n, words)."""
    embedding = weights["token_embd.weight"]
    stream = embedding[tokens]
    everywhere = jnp.arange(tokens.shape[1])[None, :]
    for layer in range(size.layers):
        name, last = f"blk.{layer}.", layer == size.layers - 1
        heard = _norm(stream, weights[f"{name}attn_norm.weight"])
        asking, where = heard, everywhere
        if last:  # above it nobody hears what other places have become
            asking, stream = (jnp.take_along_axis(each, places[:, :, None], axis=1) for each in (heard, stream))
            where = places
        stream = stream + _attention(weights, name, asking, where, heard, size)
        stream = stream + _feed(weights, name, _norm(stream, weights[f"{name}ffn_norm.weight"]))
    return _norm(stream, weights["output_norm.weight"]) @ embedding.T


def _norm(stream: Array, gain: Array) -> Array:
    return stream * jax.lax.rsqrt(jnp.mean(stream * stream, axis=-1, keepdims=True) + NORM_EPSILON) * gain


def _attention(weights: Weights, name: str, asking: Array, where: Array, heard: Array, size: Size) -> Array:
    """Let each asking place hear itself and those before it."""
    rows, length, _ = heard.shape
    query = (asking @ weights[f"{name}attn_q.weight"].T).reshape(rows, -1, size.heads, size.head)
    key, value = (
        (heard @ weights[f"{name}attn_{part}.weight"].T).reshape(rows, length, size.heads, size.head) for part in "kv"
    )
    cosine, sine = _angles(length, size)
    query, key = _turned(query, cosine[where], sine[where]), _turned(key, cosine[None], sine[None])
    scores = jnp.einsum("rihd,rjhd->rhij", query, key) / np.sqrt(size.head)
    causal = jnp.arange(length)[None, None, :] <= where[:, :, None]
    shares = jax.nn.softmax(jnp.where(causal[:, None], scores, -1e9), axis=-1)
    heads = jnp.einsum("rhij,rjhd->rihd", shares, value).reshape(asking.shape)
    return heads @ weights[f"{name}attn_output.weight"].T


def _angles(length: int, size: Size) -> tuple[Array, Array]:
    """Give cosine and sine by place and pair of numbers."""
    speeds = ROPE_BASE ** (-np.arange(0, size.head, 2) / size.head)
    turns = np.arange(length)[:, None] * speeds
    return jnp.asarray(np.cos(turns), jnp.float32), jnp.asarray(np.sin(turns), jnp.float32)


def _turned(heads: Array, cosine: Array, sine: Array) -> Array:
    """Turn neighbouring numbers (2i, 2i + 1) as a pair, which is what llama.cpp does in this architecture."""
    even, odd = heads[..., 0::2], heads[..., 1::2]
    cosine, sine = cosine[:, :, None, :], sine[:, :, None, :]
    return jnp.stack((even * cosine - odd * sine, even * sine + odd * cosine), axis=-1).reshape(heads.shape)


def _feed(weights: Weights, name: str, stream: Array) -> Array:
    gate, up = (stream @ weights[f"{name}ffn_{part}.weight"].T for part in ("gate", "up"))
    return (jax.nn.silu(gate) * up) @ weights[f"{name}ffn_down.weight"].T
