"""Write a GGUF of random weights in the shape of a public model, quantised to four bits, so that its cost can be timed.

No weights can be fetched here, and cost does not depend on what the weights are.
"""

from __future__ import annotations

import random
import string
from pathlib import Path
from typing import NamedTuple

import numpy as np
from gguf import GGMLQuantizationType, GGUFWriter, TokenType

BLOCK_VALUES, BLOCK_BYTES = 32, 18
"""Of Q4_0: a scale in half precision and 32 values of four bits."""
SCALE = 0.01


class Shape(NamedTuple):
    """Of a model of the llama kind."""

    width: int
    layers: int
    heads: int
    shared_heads: int
    feed: int
    vocabulary: int
    context: int = 8192

    @property
    def parameters(self) -> int:
        """Number of weights."""
        return sum(rows * columns for _, rows, columns in self.matrices())

    def matrices(self) -> list[tuple[str, int, int]]:
        """Name, rows and columns of each matrix."""
        shared = self.width // self.heads * self.shared_heads
        block = [
            ("attn_q", self.width, self.width),
            ("attn_k", shared, self.width),
            ("attn_v", shared, self.width),
            ("attn_output", self.width, self.width),
            ("ffn_gate", self.feed, self.width),
            ("ffn_up", self.feed, self.width),
            ("ffn_down", self.width, self.feed),
        ]
        inner = [
            (f"blk.{layer}.{name}", rows, columns) for layer in range(self.layers) for name, rows, columns in block
        ]
        return [("token_embd", self.vocabulary, self.width), *inner]


BILLION_AND_A_HALF = Shape(width=1536, layers=28, heads=12, shared_heads=2, feed=8960, vocabulary=151_936)
"""Of Qwen2.5-1.5B, whose embedding is its output too."""


def write(path: Path, shape: Shape, seed: int = 1) -> Path:
    """Write the file; the same bytes for the same seed."""
    writer = GGUFWriter(path, "llama")
    writer.add_name("random weights")
    writer.add_context_length(shape.context)
    writer.add_embedding_length(shape.width)
    writer.add_block_count(shape.layers)
    writer.add_feed_forward_length(shape.feed)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv(shape.shared_heads)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(shape.width // shape.heads)
    _tokens(writer, shape.vocabulary, seed)
    drawn = np.random.default_rng(seed)
    norms = [
        "output_norm",
        *(f"blk.{layer}.{name}" for layer in range(shape.layers) for name in ("attn_norm", "ffn_norm")),
    ]
    for name in norms:
        writer.add_tensor(f"{name}.weight", np.ones(shape.width, np.float32))
    for name, rows, columns in shape.matrices():
        writer.add_tensor(f"{name}.weight", _quantised(drawn, rows, columns), raw_dtype=GGMLQuantizationType.Q4_0)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _quantised(drawn: np.random.Generator, rows: int, columns: int) -> np.ndarray:
    blocks = columns // BLOCK_VALUES
    found = drawn.integers(0, 256, (rows, blocks, BLOCK_BYTES), dtype=np.uint8)
    found[:, :, :2] = np.frombuffer(np.float16(SCALE).tobytes(), np.uint8)
    return found.reshape(rows, blocks * BLOCK_BYTES)


def _tokens(writer: GGUFWriter, many: int, seed: int) -> None:
    """Special tokens, every byte, every printable character, then made-up words."""
    chance, letters = random.Random(seed), string.ascii_letters + string.digits + '_"{}:,.'
    texts = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    kinds = [TokenType.UNKNOWN, TokenType.CONTROL, TokenType.CONTROL, *[TokenType.BYTE] * 256]
    words = dict.fromkeys([chr(code) for code in range(ord("!"), ord("~") + 1)] + ["▁"])
    while len(texts) + len(words) < many:
        words["".join(chance.choices(letters, k=chance.randint(2, 8)))] = None
    texts += words
    kinds += [TokenType.NORMAL] * len(words)
    writer.add_tokenizer_model("llama")
    writer.add_token_list(texts)
    writer.add_token_scores([-float(place) for place in range(len(texts))])
    writer.add_token_types(kinds)
    writer.add_unk_token_id(0)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
