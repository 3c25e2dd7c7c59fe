"""Write small GGUF files that llama.cpp loads: random weights, every byte a token, the same bytes for the same seed."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from gguf import GGUFWriter, TokenType

CHAT = "{% for m in messages %}<s>{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}assistant: "
"""A chat template of the plainest kind."""
SPACE = "▁"
"""How the vocabulary of SentencePiece writes a blank."""
SPECIAL = ("<unk>", "<s>", "</s>")
SPREAD = 0.2
"""Of the weights, about zero."""


def tiny(
    path: Path,
    *,
    seed: int = 1,
    context: int = 4096,
    width: int = 32,
    layers: int = 2,
    heads: int = 2,
    feed: int = 64,
    architecture: str = "llama",
    template: str | None = CHAT,
    words: Sequence[str] = (),
    metadata: Mapping[str, str] | None = None,
) -> Path:
    """Write a model of the llama kind; `words` are more tokens, `metadata` more facts."""
    vocabulary = _vocabulary(words)
    writer = GGUFWriter(path, architecture)
    _shape(writer, context, width, layers, heads, feed)
    _tokens(writer, vocabulary)
    if template is not None:
        writer.add_chat_template(template)
    for key, value in (metadata or {}).items():
        writer.add_string(key, value)
    chance = np.random.default_rng(seed)
    for name, shape in _weights(len(vocabulary), width, layers, feed):
        drawn = chance.standard_normal(shape, dtype=np.float32) * SPREAD if len(shape) > 1 else np.ones(shape)
        writer.add_tensor(name, drawn.astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def huge(path: Path, bytes_: int) -> Path:
    """Write a whole model of so many bytes that takes no room on the disk: behind its head the file is a hole."""
    writer = GGUFWriter(path, "llama")
    _shape(writer, 4096, 4096, 1, 32, 4096)
    _tokens(writer, _vocabulary(()))
    rows = bytes_ // (4096 * 4)
    writer.add_tensor_info("token_embd.weight", [rows, 4096], np.dtype(np.float32), rows * 4096 * 4)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    writer.close()
    os.truncate(path, path.stat().st_size + 64 + rows * 4096 * 4)
    return path


def _shape(writer: GGUFWriter, context: int, width: int, layers: int, heads: int, feed: int) -> None:
    writer.add_name("tiny")
    writer.add_context_length(context)
    writer.add_embedding_length(width)
    writer.add_block_count(layers)
    writer.add_feed_forward_length(feed)
    writer.add_head_count(heads)
    writer.add_head_count_kv(heads)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(width // heads)
    writer.add_file_type(0)


def _vocabulary(words: Sequence[str]) -> list[tuple[str, float, TokenType]]:
    """Special tokens, every byte, every printable character, then words; earlier ones are joined first."""
    special = [(text, 0.0, TokenType.UNKNOWN if text == "<unk>" else TokenType.CONTROL) for text in SPECIAL]
    by_byte = [(f"<0x{byte:02X}>", 0.0, TokenType.BYTE) for byte in range(256)]
    printed = [chr(code) for code in range(ord("!"), ord("~") + 1)] + [SPACE]
    normal = [(text, -1.0 - place, TokenType.NORMAL) for place, text in enumerate((*printed, *words))]
    return special + by_byte + normal


def _tokens(writer: GGUFWriter, vocabulary: Sequence[tuple[str, float, TokenType]]) -> None:
    writer.add_tokenizer_model("llama")
    writer.add_token_list([text for text, _, _ in vocabulary])
    writer.add_token_scores([score for _, score, _ in vocabulary])
    writer.add_token_types([kind for _, _, kind in vocabulary])
    writer.add_unk_token_id(0)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)


def _weights(vocabulary: int, width: int, layers: int, feed: int) -> list[tuple[str, tuple[int, ...]]]:
    square: list[tuple[str, tuple[int, ...]]] = [
        ("attn_q", (width, width)),
        ("attn_k", (width, width)),
        ("attn_v", (width, width)),
    ]
    square += [("attn_output", (width, width)), ("attn_norm", (width,)), ("ffn_norm", (width,))]
    block = [*square, ("ffn_gate", (feed, width)), ("ffn_up", (feed, width)), ("ffn_down", (width, feed))]
    inner = [(f"blk.{layer}.{name}.weight", shape) for layer in range(layers) for name, shape in block]
    outer: list[tuple[str, tuple[int, ...]]] = [
        ("token_embd.weight", (vocabulary, width)),
        ("output_norm.weight", (width,)),
    ]
    return [*outer, *inner, ("output.weight", (vocabulary, width))]
