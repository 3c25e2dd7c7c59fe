"""What a model needs of memory and CPUs, and what there is: within the control groups of this process too."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ...layers.probes.cgroup_tree import numbers
from ...layers.probes.sysfs import text_of
from ...tools.group_facts import first_text, groups_with
from .gguf_file import GgufFile

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
        quota, _, period = (first_text(group, "cpu.max") or _legacy_quota(group)).partition(" ")
        if quota.isdigit() and period.isdigit() and int(period):
            yield int(quota) / int(period)


def _legacy_quota(group: Path) -> str:
    return f"{first_text(group, 'cpu.cfs_quota_us')} {first_text(group, 'cpu.cfs_period_us')}"
