"""What is known speaks of columns that some layer measures, and knows every column that may explain a slow run."""

from __future__ import annotations

from fnmatch import fnmatchcase

import pytest

from vgo_agent.knowledge.loader import load
from vgo_agent.knowledge.schema import KnownFactor
from vgo_agent.knowledge.terms import KnownState
from vgo_agent.layers.loader import load_layers
from vgo_agent.layers.schema import Column

KNOWN = load()
LAYERS = load_layers()
MADE_BY_A_RUN = ("run_index", "host", "program.")
"""Columns that no layer has, or their beginnings: order and place of a run, and what a program prints a sample."""
WITHOUT_A_FACTOR = {
    "calls.*": "of the function that a person names; the time ledger tells what more calls of it mean",
    "event.*": "whatever hardware event a person asks for",
    "cuda.kernel_ms": "says that the time went by on the GPU; its clocks, its other users and the work say why",
    "interference.account": "tells how the column beside it was counted",
    "cgroup.pids_max": "a run that cannot start its threads fails; that it was slow is the least of it",
    "vm.pgactivate": "counts that pages are used again, which is what a cache is for",
    "vm.unevictable_pgs_*": "bookkeeping of locked pages, whoever locks them",
    "syscalls.rt_sigreturn": "signals have as many causes as senders",
}
"""Columns that may go with slow runs and name no factor, with the reason."""


def measured(name: str) -> bool:
    """A column of some layer, one that fills in a pattern of it, or a pattern that some column fits."""
    return name.startswith(MADE_BY_A_RUN) or any(
        layer.column(name) or any(fnmatchcase(column.name, name) for column in layer.columns)
        for layer in LAYERS.values()
    )


def may_explain(column: Column) -> bool:
    """The diagnosis compares it between slow and fast runs; of texts, each of their values."""
    return column.role == "factor" or (column.type == "text" and column.role != "consequence")


def excused(name: str) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in WITHOUT_A_FACTOR)


@pytest.mark.parametrize("entry", [*KNOWN.factors.values(), *KNOWN.states.values()], ids=lambda entry: entry.key)
def test_the_signals_of_a_factor_or_a_state_are_measured(entry: KnownFactor | KnownState) -> None:
    assert [signal for signal in entry.signals if not measured(signal)] == []


@pytest.mark.parametrize("key", KNOWN.mitigations)
def test_what_a_mitigation_should_move_is_measured(key: str) -> None:
    assert [column for column in KNOWN.mitigations[key].moves if not measured(column)] == []


@pytest.mark.parametrize("key", LAYERS)
def test_every_column_that_may_explain_a_slow_run_names_a_factor_or_stands_in_the_list(key: str) -> None:
    names = [column.name for column in LAYERS[key].columns if may_explain(column)]
    assert [name for name in names if not KNOWN.factor_of(name) and not excused(name)] == []


@pytest.mark.parametrize("pattern", WITHOUT_A_FACTOR)
def test_what_stands_in_the_list_is_measured_and_names_no_factor(pattern: str) -> None:
    names = [column.name for layer in LAYERS.values() for column in layer.columns if fnmatchcase(column.name, pattern)]
    assert names
    assert [name for name in names if KNOWN.factor_of(name)] == []


@pytest.mark.parametrize(
    ("column", "factor"),
    [
        ("migrations", "cpu_migrations"),
        ("irq.RES", "context_switches"),
        ("involuntary_switches", "context_switches"),
        ("run_delay_ms", "run_queue_wait"),
        ("minor_faults", "page_faults"),
        ("vm.pgfault", "page_faults"),
        ("perf.major_faults", "major_faults"),
        ("read_bytes", "page_cache_misses"),
        ("psi.io_some_us", "io_wait"),
        ("blocks_out", "dirty_writeback"),
        ("cpu.steal", "cpu_steal"),
        ("softirq.NET_RX", "softirq_network"),
        ("irq.TLB", "tlb_shootdowns"),
        ("vm.compact_stall", "compaction"),
        ("vm.numa_miss", "numa_remote"),
        ("run_index", "run_order"),
        ("vm.pswpin", "swap"),
        ("irq.TRM", "thermal_throttling"),
        ("stat.processes", "process_creation"),
        ("disk.nvme0n1.read_wait_ms", "io_wait"),
        ("disk.dm-0.flush_ms", "synchronous_writes"),
        ("disk.sda.in_flight", "disk_queue"),
        ("disk.sda.scheduler=bfq", "io_scheduler"),
        ("gpu.1.limit.sw_power_cap", "gpu_throttling"),
        ("gpu.0.sm_mhz", "gpu_clocks"),
        ("cuda.memcpy_Host-to-Device.ms", "gpu_transfers"),
        ("cuda.init_ms", "cuda_initialisation"),
        ("interference.others", "other_processes"),
        ("interference.top_command=stress-ng", "other_processes"),
        ("delay.cpu_ms", "run_queue_wait"),
        ("cgroup.throttled_us", "cpu_throttling"),
        ("cgroup.memory_max", "memory_limit"),
        ("perf.dtlb_load_misses", "dtlb_misses"),
        ("perf.branch_misses", "branch_mispredictions"),
        ("idle.C6.entries", "idle_states"),
        ("throttle.core_ms", "thermal_throttling"),
        ("temp.coretemp.max_c", "cpu_temperature"),
        ("freq.governor=powersave", "cpu_frequency"),
        ("mpi.3.share", "mpi_imbalance"),
        ("net.eth0.rx_drops", "network_queues"),
        ("net.tcp.retransmits", "network_loss"),
        ("strace.futex.calls", "lock_contention"),
        ("strace.futex.seconds", "lock_contention"),
        ("strace.clone3.calls", "process_creation"),
        ("strace.getpid.calls", "different_work"),
        ("strace.select.seconds", "blocking_waits"),
        ("printed.retries", "program_phase"),
        ("host=node-7", "different_machine"),
        ("program.decode_ms", "program_phase"),
        ("program.iteration", "run_order"),
    ],
)
def test_a_column_of_a_layer_names_the_factor_that_it_shows(column: str, factor: str) -> None:
    found = KNOWN.factor_of(column)
    assert found is not None
    assert found.key == factor
