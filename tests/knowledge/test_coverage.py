"""What is known covers the tables of the papers, row by row, and says of each thing what a user needs."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from vgo_agent.knowledge.loader import load
from vgo_agent.knowledge.passages import meant
from vgo_agent.knowledge.schema import KnownFactor, Mitigation
from vgo_agent.knowledge.time_states import WHOLES

from ..evals.papers.loader import load_papers

KNOWN = load()
FACTORS = 60
MITIGATIONS = 120


class Row(NamedTuple):
    """A row of a table: the words of the paper, and what they are here."""

    words: str
    factor: str
    mitigations: tuple[str, ...]


TABLE_1 = (
    Row("Context switches", "context_switches", ("sched_batch", "sched_fifo", "pin_to_cpu")),
    Row("Thread affinity", "cpu_migrations", ("pin_to_cpu", "omp_bind")),
    Row("Branch mispredictions", "branch_mispredictions", ("guide_branches",)),
    Row("Cache misses", "cache_misses", ("prefetch_in_code", "pin_to_cpu", "disable_smt")),
    Row("CPU migrations", "cpu_migrations", ("pin_to_cpu", "sched_fifo", "numa_balancing_off")),
    Row("Page faults", "page_faults", ("jemalloc", "tcmalloc", "code_preallocate")),
    Row("dTLB misses", "dtlb_misses", ("tcmalloc", "glibc_hugetlb", "thp_always")),
    Row("Memory refresh rate", "memory_refresh", ("lower_refresh_rate",)),
    Row("Emulation faults", "emulation_faults", ("recompile_for_target",)),
    Row("L1 icache misses", "instruction_cache_misses", ("smaller_code",)),
    Row(
        "CPU frequency",
        "cpu_frequency",
        ("fix_frequency", "cap_frequency", "shallow_idle_states", "cool_down", "firmware_power_profile"),
    ),
    Row("Remote memory & Neighbor MCM Cache accesses", "numa_remote", ("numactl_bind",)),
    Row("GPU memory copy", "gpu_transfers", ("pinned_host_memory",)),
    Row("GPU temperature", "gpu_temperature", ("gpu_fan_fixed", "gpu_clock_cap")),
    Row("GPU frequency", "gpu_clocks", ("gpu_fan_fixed", "gpu_clock_cap")),
    Row("GPU kernel launch overhead", "gpu_launch_overhead", ("cuda_graphs",)),
)
"""Frachtenberg et al., ICPE 2026, Table 1: factors and what may be done about them."""

TABLE_3 = (
    Row("Context switches", "context_switches", ("pin_to_cpu",)),
    Row("TLB misses", "dtlb_misses", ("thp_always",)),
    Row("CPU migrations", "cpu_migrations", ("numa_balancing_off",)),
    Row("Cache misses", "cache_misses", ("larger_cache", "disable_smt")),
    Row("Kernel launch overhead", "gpu_launch_overhead", ("cuda_graphs",)),
    Row("CUDA initialization", "cuda_initialisation", ("keep_cuda_context",)),
    Row("Temperature", "gpu_temperature", ("gpu_fan_fixed", "gpu_clock_cap")),
    Row("Frequency", "gpu_clocks", ("gpu_clock_cap",)),
)
"""The same, Table 3: what was found and what helped, for each benchmark; equal rows once."""

OPENMP = (
    Row("thread pinning", "cpu_migrations", ("omp_bind",)),
    Row("SMT", "smt_sharing", ("disable_smt", "one_thread_per_core")),
    Row("co-running processes", "other_processes", ("stop_the_others",)),
    Row("all cores used", "thread_oversubscription", ("reserve_cores", "neither_few_nor_all_cores")),
    Row("barrier wait", "load_imbalance", ("neither_few_nor_all_cores", "one_memory_node_team")),
    Row("OMP_WAIT_POLICY", "thread_oversubscription", ("omp_active_wait", "omp_passive_wait")),
    Row("E-cores", "unlike_cores", ("efficiency_cores_for_system",)),
    Row("frequency scaling", "cpu_frequency", ("fix_frequency",)),
)
"""Cui and Pericas, CF 2025, Sections 4 and 5."""

MOANA = (
    Row("CPU frequency", "cpu_frequency", ("fix_frequency",)),
    Row("I/O scheduler", "io_scheduler", ("disk_scheduler_none", "disk_scheduler_deadline")),
    Row("I/O threads", "io_sizes", ("steadier_io_sizes",)),
    Row("record size", "io_sizes", ("steadier_io_sizes",)),
    Row("file size", "io_sizes", ("steadier_io_sizes",)),
)
"""MOANA, Table 1: the parameters whose settings were varied."""

CROSS_PLATFORM = (
    Row("CPU bandwidth", "cpu_throttling", ("raise_cpu_quota",)),
    Row("core affinity", "cpu_migrations", ("pin_to_cpu",)),
    Row("memory limit", "memory_limit", ("raise_memory_limit",)),
)
"""Jimenez et al., VarSys 2016: what OS-level virtualisation can limit."""

ACT_ANYWHERE = {
    "different_machine": "machines differ in clocks, disks, networks and neighbours",
    "different_work": "more work may be computing, reading, asking a server or trying again later",
    "program_phase": "what a program counts may be computing as well as waiting",
    "run_order": "caches, heat, files and other users all change over a session",
}
"""Factors that name no state of a run's time, with the reason."""

ROWS = (*TABLE_1, *TABLE_3, *OPENMP, *MOANA, *CROSS_PLATFORM)
EACH_FACTOR = pytest.mark.parametrize("factor", KNOWN.factors.values(), ids=KNOWN.factors)
EACH_MITIGATION = pytest.mark.parametrize("mitigation", KNOWN.mitigations.values(), ids=KNOWN.mitigations)


def test_there_are_enough() -> None:
    assert len(KNOWN.factors) >= FACTORS
    assert len(KNOWN.mitigations) >= MITIGATIONS


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.words)
def test_a_row_of_a_paper_is_found_by_its_own_words(row: Row) -> None:
    assert f"factor:{row.factor}" in meant(row.words, KNOWN)


def test_the_rows_are_those_of_the_paper_letter_by_letter() -> None:
    paper = load_papers()["vgo_icpe26"]
    for rows, name in ((TABLE_1, "table1"), (TABLE_3, "table3")):
        table = paper.table(name)
        assert table is not None
        assert {row.words for row in rows} == {row.labels["factor"] for row in table.rows if "factor" in row.labels}


@pytest.mark.parametrize(
    ("words", "factors"),
    [
        ("Temperature", {"cpu_frequency", "cpu_temperature", "gpu_temperature"}),
        ("Frequency", {"cpu_frequency", "gpu_clocks"}),
    ],
)
def test_a_word_of_the_paper_for_several_factors_names_all_of_them(words: str, factors: set[str]) -> None:
    assert set(meant(words, KNOWN)) == {f"factor:{key}" for key in factors}


def test_the_cap_of_the_paper_comes_first_for_the_clock_of_a_gpu() -> None:
    assert KNOWN.factors["gpu_clocks"].mitigations[0] == "gpu_clock_cap"
    papers = {key: [one.title for one in KNOWN.mitigations[key].references] for key in KNOWN.mitigations}
    assert any("Table 3 and Sections 4.11 to 4.13" in title for title in papers["gpu_clock_cap"])
    assert not any("Variability-Guided" in title for title in papers["gpu_lock_base_clock"])


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.words)
def test_what_a_paper_does_about_a_row_stands_with_its_factor(row: Row) -> None:
    assert [key for key in row.mitigations if key not in KNOWN.factors[row.factor].mitigations] == []


@EACH_FACTOR
def test_a_factor_names_the_states_that_it_makes_longer_or_stands_in_the_list(factor: KnownFactor) -> None:
    assert bool(factor.acts_on) != (factor.key in ACT_ANYWHERE)
    assert not WHOLES & set(factor.acts_on)


@EACH_FACTOR
def test_a_factor_says_what_it_is_what_to_do_and_who_says_so(factor: KnownFactor) -> None:
    assert factor.description
    assert factor.aliases
    assert factor.mitigations
    assert factor.references


@EACH_FACTOR
def test_what_the_tool_can_do_comes_before_advice_that_needs_a_reboot(factor: KnownFactor) -> None:
    """Cheap things first; a diagnosis that begins with a reboot is no help."""
    known = [KNOWN.mitigations[key] for key in factor.mitigations]
    rebooting = [place for place, one in enumerate(known) if one.scope == "reboot"]
    applied = [place for place, one in enumerate(known) if one.apply is not None]
    assert not rebooting or not applied or max(applied) < min(rebooting)


@EACH_MITIGATION
def test_a_mitigation_says_when_it_helps_when_it_harms_and_who_says_so(mitigation: Mitigation) -> None:
    assert mitigation.description
    assert mitigation.when
    assert mitigation.hurts
    assert mitigation.references


@pytest.mark.parametrize("key", [key for key, one in KNOWN.mitigations.items() if one.apply is None])
def test_advice_tells_what_to_do_in_more_than_one_step(key: str) -> None:
    assert len(KNOWN.mitigations[key].steps) >= 2


@pytest.mark.parametrize("key", [key for key, one in KNOWN.mitigations.items() if "cmdline" in one.permanent])
def test_words_of_the_kernel_command_line_are_words(key: str) -> None:
    words = KNOWN.mitigations[key].permanent["cmdline"].split()
    assert words
    assert not [word for word in words if set(word) & set("`'\"$;|<>")]
