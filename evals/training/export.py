"""Write weights as a GGUF file that llama.cpp loads like any other: weights, tokenizer, template and what it is."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import gguf
import numpy as np
from numpy.typing import NDArray

from ...agent.model.facts import NOTATION
from ...agent.planners.compact import digest
from ...agent.planning import VOCABULARY
from .network import NORM_EPSILON, ROPE_BASE, Size
from .vocabulary import BEGIN, END, TEMPLATE, TOKENS, UNKNOWN

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
