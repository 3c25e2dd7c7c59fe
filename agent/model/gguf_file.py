"""What a GGUF file is, told without loading it, and the memory and CPUs that it needs."""

from __future__ import annotations

import hashlib
import json
import os
import struct
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from platformdirs import user_cache_path

from ...knowledge.errors import VgoError
from ...layers.probes.sysfs import numbers, text_of
from ...tools import durable
from ...tools.machine import first_text, groups_with

if TYPE_CHECKING:
    from .gguf_read import GgufHead

MOST = 200
"""Files that are remembered; the oldest go first."""


def sha256_of(path: Path) -> str:
    """Give the hash in hexadecimal."""
    place, known = user_cache_path("vgo-agent") / "model-hashes.json", {}
    with suppress(OSError, ValueError):
        known = _table(json.loads(place.read_text()))
    key = str(path.resolve())
    try:
        stat = path.stat()
        state = [stat.st_size, stat.st_mtime_ns]
        if known.get(key, [])[:-1] == state:
            return str(known[key][-1])
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise VgoError(f"{path} cannot be read ({error.strerror}); give a GGUF file.") from error
    kept = {name: row for name, row in known.items() if name != key} | {key: [*state, found]}
    with suppress(OSError):  # it is worked out again next time
        place.parent.mkdir(parents=True, exist_ok=True)
        table = json.dumps(dict(list(kept.items())[-MOST:])).encode()
        durable.write(place, table, draft=place.with_name(f"{place.name}.{os.getpid()}"))
    return found


def _table(said: Any) -> dict[str, list[Any]]:
    """Take the rows that have the right form: the file is only a cache."""
    rows = said.items() if isinstance(said, dict) else ()
    return {key: row for key, row in rows if isinstance(row, list) and len(row) == 3}


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


BATCH = 512
"""Tokens evaluated at once; fixed, since another number changes sums."""
USUAL_CONTEXT = 4096
"""A decision is told in 2,000 tokens at most; an answer with passages to cite needs more."""
CHARACTERS_CONTEXT = 8192
"""The same for a vocabulary so small that a token is little more than a character."""
FEW_TOKENS = 4096
LEAST_CONTEXT = 2048
"""Where memory is short; with less, many decisions would be the rule policy's."""
NUMBER = 4
"""Bytes of a number while llama.cpp computes (F32)."""
CACHED = 2
"""Bytes of a number in its cache of keys and values (F16)."""
LIBRARY = 100 << 20
"""Bytes of an interpreter with llama.cpp before it loads a model."""
SMALL = 32 << 20
"""Bytes of a file up to which one thread is taken. Threads wait for each other after every operation, so all stand
still when one waits for a CPU. On two CPUs with two other programs a token of a model of 18 MB took 305 ms with two
threads and 6.4 ms with one; on quiet ones 1.5 ms and 2.4 ms."""
FILES = ("active_file", "inactive_file")
"""In memory.stat: what a group holds of files; version 1 writes `total_` before it for the groups within too."""


class Need(NamedTuple):
    """Bytes that a model takes with one context."""

    weights: int
    cache: int
    """Keys and values of every token of the context."""
    compute: int
    """Room to evaluate one batch: its logits, its attention, its inner layers."""

    @property
    def total(self) -> int:
        """All, with the process around it."""
        return LIBRARY + self.weights + self.cache + self.compute


def need(model: GgufFile, context: int) -> Need:
    """Estimate what a model takes: without flash attention, as it is loaded here."""
    width, heads = model.whole("embedding_length"), max([1, *model.each_layer("attention.head_count")])
    size = width // heads
    key, value = model.whole("attention.key_length", size), model.whole("attention.value_length", size)
    shared = sum(model.each_layer("attention.head_count_kv", heads))
    feed = max(model.each_layer("feed_forward_length"), default=0)
    inner = model.vocabulary + heads * context + 4 * width + 3 * feed
    return Need(model.weights, context * shared * (key + value) * CACHED, BATCH * inner * NUMBER)


def context_for(model: GgufFile, asked: int, free: int) -> int:
    """Choose how many tokens fit: what was asked for, else the usual, less where memory is short."""
    usual = CHARACTERS_CONTEXT if model.vocabulary < FEW_TOKENS else USUAL_CONTEXT
    trained = model.context or asked or usual
    if asked:
        return min(asked, trained)
    context = min(usual, trained)
    while context > LEAST_CONTEXT and need(model, context).total > free:
        context = max(LEAST_CONTEXT, context // 2)
    return context


def free_memory(root: Path = Path("/")) -> int:
    """Bytes that a new process may take: of the machine, and of every control group that holds this process."""
    said = {line.partition(":")[0]: line.split()[1] for line in text_of(root / "proc/meminfo").splitlines()}
    machine = int(said.get("MemAvailable", said.get("MemFree", "0"))) * 1024
    return max(0, min([machine, *_left(root)]))


def _left(root: Path) -> Iterator[int]:
    """What each limit leaves; pages of files that a group holds are given back when they are needed."""
    for group in groups_with("memory", root):
        limit = first_text(group, "memory.limit_in_bytes", "memory.max")
        used = first_text(group, "memory.usage_in_bytes", "memory.current")
        if limit.isdigit() and used.isdigit():
            counts = numbers(text_of(group / "memory.stat").encode())
            files = [max(counts.get(f"total_{name}", 0.0), counts.get(name, 0.0)) for name in FILES]
            yield int(limit) - int(used) + int(sum(files))


def threads_for(asked: int, size: int, root: Path = Path("/")) -> int:
    """Choose the threads: one for a small file, else the physical cores that this process may use, within its quota."""
    if asked or size <= SMALL:
        return asked or 1
    cpus = os.sched_getaffinity(0)
    place = "sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"
    cores = {text_of(root / place.format(cpu)) or str(cpu) for cpu in cpus}
    return max(1, min([len(cores), *map(int, _quotas(root))]))


def _quotas(root: Path) -> Iterator[float]:
    for group in groups_with("cpu", root):
        legacy = f"{first_text(group, 'cpu.cfs_quota_us')} {first_text(group, 'cpu.cfs_period_us')}"
        quota, _, period = (first_text(group, "cpu.max") or legacy).partition(" ")
        if quota.isdigit() and period.isdigit() and int(period):
            yield int(quota) / int(period)
