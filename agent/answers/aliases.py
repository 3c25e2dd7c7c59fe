"""Which entries a word of every day stands for, where it is the name of none."""

from __future__ import annotations

ALIASES: dict[str, tuple[str, ...]] = {
    "pinned memory": ("mitigation:pinned_host_memory",),
    "pinned host": ("mitigation:pinned_host_memory",),
    "pinning": ("mitigation:pin_to_cpu",),
    "pinned": ("mitigation:pin_to_cpu",),
    "pin": ("mitigation:pin_to_cpu",),
    "taskset": ("mitigation:pin_to_cpu",),
    "cpu affinity": ("mitigation:pin_to_cpu",),
    "huge pages": ("mitigation:glibc_hugetlb", "mitigation:thp_always", "mitigation:mthp_64k"),
    "hugepages": ("mitigation:glibc_hugetlb", "mitigation:thp_always", "mitigation:mthp_64k"),
    "thp": ("mitigation:thp_always", "mitigation:thp_never", "mitigation:thp_disable"),
    "smt": ("mitigation:disable_smt", "factor:smt_sharing"),
    "hyperthreading": ("mitigation:disable_smt", "factor:smt_sharing"),
    "hyper threading": ("mitigation:disable_smt", "factor:smt_sharing"),
    "turbo": ("mitigation:turbo_off", "factor:cpu_frequency"),
    "aslr": ("mitigation:randomisation_off", "factor:memory_layout"),
    "gpu": ("factor:gpu_contention", "factor:gpu_clocks", "factor:gpu_throttling"),
    "gpus": ("factor:gpu_contention", "factor:gpu_clocks", "factor:gpu_throttling"),
    "graphics card": ("factor:gpu_contention", "factor:gpu_clocks", "factor:gpu_throttling"),
    "disk": ("factor:disk_queue", "factor:io_wait"),
    "disks": ("factor:disk_queue", "factor:io_wait"),
    "ssd": ("factor:disk_queue", "factor:io_wait"),
    "hard drive": ("factor:disk_queue", "factor:io_wait"),
    "network": ("factor:network_loss", "factor:network_queues"),
}


def stood_for(plain: str) -> tuple[tuple[str, ...], str]:
    """Give the entries that words of a question stand for, and the words that are left; the longest alias first."""
    found: list[str] = []
    for alias in sorted(ALIASES, key=len, reverse=True):
        if f" {alias} " in plain:
            plain = plain.replace(f" {alias} ", " ; ")
            found += ALIASES[alias]
    return tuple(dict.fromkeys(found)), plain
