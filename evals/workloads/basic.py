"""The first workloads: small programs that need neither root nor anything around them."""

from __future__ import annotations

from .controls import STILL
from .workload import OBEYS_ENVIRONMENT, Workload

BASIC = (
    Workload(
        name="cpu-hops",
        file="cpu_hops.py",
        description="hops over its allowed CPUs, few times in one half of the runs and many in the other",
        cause=("cpu_migrations", "context_switches"),
        cures=("pin_to_cpu",),
        not_cures=("glibc_hugetlb",),
        needs=("2 cpus",),
        steady=("0",),
    ),
    Workload(
        name="page-faults",
        file="page_faults.py",
        description="touches a random 16 to 128 MB fresh from malloc, in blocks of 4 MB",
        cause=("page_faults",),
        cures=("glibc_hugetlb", "thp_always", "glibc_malloc_thresholds", "jemalloc", "tcmalloc", "mimalloc"),
        not_cures=("pin_to_cpu",),
        needs=("glibc", "small pages"),
        steady=("64",),
    ),
    Workload(
        name="malloc-churn",
        file="malloc_churn.py",
        description="makes malloc return its heap to the kernel, and fault it in again, a random number of times",
        cause=("page_faults",),
        cures=("glibc_malloc_thresholds", "glibc_hugetlb", "jemalloc", "tcmalloc", "mimalloc"),
        not_cures=("pin_to_cpu",),
        needs=("glibc",),
        steady=("0",),
    ),
    Workload(
        name="cold-cache",
        file="cold_cache.py",
        description="reads a 20 MB file that 30 % of the runs drop from the page cache when they end",
        cause=("page_cache_misses", "io_wait"),
        cures=("prewarm_inputs",),
        not_cures=("glibc_hugetlb", "pin_to_cpu", "sched_batch"),
        reads_input=True,
        steady=("keep",),
    ),
    Workload(
        name="contention",
        file="contention.py",
        description="starts a neighbour that computes on the same CPU in 40 % of the runs",
        cause=("run_queue_wait", "other_processes", "context_switches"),
        cures=("sched_fifo", "sched_rr"),
        not_cures=("pin_to_cpu", "plain_nice"),
        steady=("quiet",),
    ),
    Workload(
        name="layout",
        file="layout.c",
        description="keeps numbers on a stack that the kernel places at random, across two cache lines or not",
        cause=("memory_layout",),
        cures=("fixed_layout",),
        not_cures=("pin_to_cpu",),
        # confirmed: who tries what no counter points to finds it.
        verdicts=("cause not visible", "remedy confirmed"),
        needs=("cc",),
        steady=("aligned",),
    ),
    Workload(
        name="hash-seed",
        file="hash_seed.py",
        description="searches a set of words in the order of the hash seed, which each run draws anew",
        cause=("hash_seed",),
        cures=("python_hash_seed",),
        not_cures=("fixed_layout",),
        # confirmed: a planner may try the seed although no counter points to it.
        verdicts=("cause not visible", "remedy confirmed"),
        interpreter=OBEYS_ENVIRONMENT,
        steady=("sorted",),
    ),
    Workload(
        name="steady",
        file="steady.py",
        description="takes 20 ms by the clock in every run; only what keeps it off its CPU makes it vary",
        cause=(),
        cures=(),
        control=True,
        verdicts=STILL,
    ),
)
