"""The llama architecture as llama.cpp computes it, small, in JAX; weights have the names that GGUF gives them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import gguf
import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from vgo_agent.agent.model.facts import NOTATION
from vgo_agent.agent.planners.compact import digest
from vgo_agent.agent.planning import VOCABULARY

from .generate import BEGIN, END, TEMPLATE, TOKENS, UNKNOWN

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


Kind = Literal["F32", "F16", "Q8_0"]
FILE_TYPES: Mapping[Kind, int] = {"F32": 0, "F16": 1, "Q8_0": 7}
TRAINED = "vgo.trained"
NAME = "vgo-agent planner"
DESCRIPTION = "Chooses the next step of a diagnosis of vgo-agent; it can do nothing else."


def export(
    weights: Mapping[str, NDArray[np.float32]], size: Size, path: Path, kind: Kind = "Q8_0", trained: str = ""
) -> None:
    """Write a GGUF; the same weights give the same bytes. `trained` says how they came about."""
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name(NAME)
    writer.add_description(DESCRIPTION)
    writer.add_license("MIT")
    writer.add_string(NOTATION, "places")
    writer.add_string(VOCABULARY, digest())
    writer.add_string(TRAINED, trained)
    writer.add_file_type(FILE_TYPES[kind])
    writer.add_quantization_version(gguf.GGML_QUANT_VERSION)
    _shape(writer, size)
    _tokenizer(writer)
    for name, value in weights.items():
        _tensor(writer, name, np.ascontiguousarray(value, np.float32), kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _shape(writer: gguf.GGUFWriter, size: Size) -> None:
    writer.add_context_length(size.context)
    writer.add_embedding_length(size.width)
    writer.add_block_count(size.layers)
    writer.add_feed_forward_length(size.hidden)
    writer.add_head_count(size.heads)
    writer.add_head_count_kv(size.heads)
    writer.add_layer_norm_rms_eps(NORM_EPSILON)
    writer.add_rope_dimension_count(size.head)
    writer.add_rope_freq_base(ROPE_BASE)
    writer.add_vocab_size(size.vocabulary)


def _tokenizer(writer: gguf.GGUFWriter) -> None:
    writer.add_tokenizer_model("llama")
    writer.add_tokenizer_pre("default")
    writer.add_token_list([token.text for token in TOKENS])
    writer.add_token_scores([0.0] * len(TOKENS))
    writer.add_token_types([token.type for token in TOKENS])
    writer.add_unk_token_id(UNKNOWN)
    writer.add_bos_token_id(BEGIN)
    writer.add_eos_token_id(END)
    writer.add_add_bos_token(True)
    writer.add_add_eos_token(False)
    writer.add_add_space_prefix(False)
    writer.add_chat_template(TEMPLATE)


def _tensor(writer: gguf.GGUFWriter, name: str, value: NDArray[np.float32], kind: Kind) -> None:
    """Matrices are made small; gains stay as they are, which llama.cpp demands."""
    if kind == "F32" or value.ndim == 1:
        writer.add_tensor(name, value)
    elif kind == "F16":
        writer.add_tensor(name, value.astype(np.float16))
    else:
        q8 = gguf.GGMLQuantizationType.Q8_0
        writer.add_tensor(name, gguf.quants.quantize(value, q8), raw_dtype=q8)
