"""Which entries a word of every day stands for, where it is the name of none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

_STOOD_FOR: Mapping[str, str] = {
    "pinned memory, pinned host": "mitigation:pinned_host_memory",
    "pinning, pinned, pin, taskset, cpu affinity": "mitigation:pin_to_cpu",
    "huge pages, hugepages": "mitigation:glibc_hugetlb, mitigation:thp_always, mitigation:mthp_64k",
    "thp": "mitigation:thp_always, mitigation:thp_never, mitigation:thp_disable",
    "smt, hyperthreading, hyper threading": "mitigation:disable_smt, factor:smt_sharing",
    "turbo": "mitigation:turbo_off, factor:cpu_frequency",
    "aslr": "mitigation:randomisation_off, factor:memory_layout",
    "gpu, gpus, graphics card": "factor:gpu_contention, factor:gpu_clocks, factor:gpu_throttling",
    "disk, disks, ssd, hard drive": "factor:disk_queue, factor:io_wait",
    "network": "factor:network_loss, factor:network_queues",
}
ALIASES: Mapping[str, Sequence[str]] = {
    alias: entries.split(", ") for aliases, entries in _STOOD_FOR.items() for alias in aliases.split(", ")
}


def stood_for(plain: str) -> tuple[tuple[str, ...], str]:
    """Give the entries that words of a question stand for, and the words that are left; the longest alias first."""
    found: list[str] = []
    for alias in sorted(ALIASES, key=len, reverse=True):
        if f" {alias} " in plain:
            plain = plain.replace(f" {alias} ", " ; ")
            found += ALIASES[alias]
    return tuple(dict.fromkeys(found)), plain
