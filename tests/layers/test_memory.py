"""The layer `memory` shows how much memory there was, in what pieces, and how the program's own lay."""

import mmap
import os
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vgo_agent.layers.loader import find_layer, open_probe
from vgo_agent.layers.probes import process
from vgo_agent.layers.probes.memory import free_blocks, levels, pages
from vgo_agent.tools.execution.launch import Launch

from .fake_root import FakeRoot

LAYER = find_layer("memory")
OURS = ("memory.", "vm.")
MIB = 64
STAYS = "\ntime.sleep(0.8)"
"""Long enough for dozens of looks, of which three are wanted."""
TOUCH = f"import time\nb = bytearray({MIB} << 20)"
FORK_AND_TOUCH = f"import os\nchild = os.fork()\n{TOUCH}{STAYS}\nos.waitpid(child, 0) if child else 0"
HUGE = f"""
import mmap, time
area = mmap.mmap(-1, {MIB} << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
area.madvise(mmap.MADV_HUGEPAGE)
area.write(bytes({MIB} << 20))
"""
PAGE_MIB = os.sysconf("SC_PAGESIZE") / (1 << 20)
fast = settings(derandomize=True, deadline=None)
blocks = st.lists(st.integers(0, 10**6), min_size=1, max_size=11)


@pytest.fixture
def run(spawner, monkeypatch):
    """Run Python under the layer, seen often, and return the cells of the layer and what is absent."""
    # On a busy machine a look costs so much that it would rest until the program has ended.
    monkeypatch.setattr(process, "REST", 0)

    def once(code, spec="memory:interval_ms=4", root=Path("/")):
        probe = open_probe(find_layer(spec), root)
        try:
            counters = spawner.run(Launch((sys.executable, "-S", "-c", code)), [probe]).counters
            return {name: value for name, value in counters.items() if name.startswith(OURS)}, probe.absent()
        finally:
            probe.close()

    return once


def test_what_is_declared_is_given_or_absent_with_a_reason(run):
    given_, absent = run(TOUCH + STAYS)
    assert all(LAYER.column(name) for name in given_)
    told = {column.name for column in LAYER.columns if "*" not in column.name}
    assert told == {name for name in given_ if name in told} | set(absent)
    assert all(": " in reason for reason in absent.values())
    assert any(name.startswith("memory.zone.") for name in given_)


def test_an_allocating_program_has_what_it_touched(run):
    given_, _ = run(TOUCH + STAYS)
    assert MIB <= given_["memory.pss_mib"] <= given_["memory.rss_mib"] <= MIB + 40


def test_a_program_of_two_processes_is_counted_whole(run):
    given_, _ = run(FORK_AND_TOUCH)
    assert 2 * MIB <= given_["memory.pss_mib"] <= given_["memory.rss_mib"] <= 2 * MIB + 80


def test_huge_pages_of_the_program_show(run):
    if "[never]" in Path("/sys/kernel/mm/transparent_hugepage/enabled").read_text() or not hasattr(
        mmap, "MADV_HUGEPAGE"
    ):
        pytest.skip("huge pages are switched off: echo madvise > /sys/kernel/mm/transparent_hugepage/enabled")
    small, _ = run(TOUCH + STAYS)
    large, _ = run(HUGE + STAYS)
    if Path("/sys/kernel/mm/transparent_hugepage/enabled").read_text().startswith("[always]"):
        assert large["memory.own_huge_share"] > 50
    else:
        assert large["memory.own_huge_share"] > 50 > small["memory.own_huge_share"]


def test_a_run_too_short_to_be_looked_at_has_no_cells_of_its_own_and_the_reason_is_told(run):
    given_, absent = run("0", "memory:interval_ms=10000")
    assert "memory.rss_mib" not in given_
    assert "--layer memory:interval_ms=" in absent["memory.rss_mib"]
    assert given_["memory.available_mib"] > 0


def test_sizes_and_pieces_of_another_machine_are_read(run, tmp_path):
    given_, absent = run("0", root=FakeRoot(tmp_path).root)
    sizes = {"free": 0.5, "available": 1.0, "cached": 0.25, "dirty": 0.0625, "slab": 0.125}
    assert {name: given_[f"memory.{name}_mib"] for name in sizes} == sizes
    assert given_["memory.huge_pages_free"] == 3
    assert "does not tell it" in absent["memory.writeback_mib"]
    if os.sysconf("SC_PAGESIZE") == 4096:
        assert given_["memory.zone.node0_Normal.huge_share"] == 100 * 1536 / 1568
        assert given_["memory.zone.node1_Normal.huge_share"] == 0
        assert given_["memory.huge_share"] == 100 * 1536 / 2592
        assert given_["memory.huge_mib"] == 6
    assert given_["memory.zone.node0_Normal.margin_mib"] == (1568 - 32) * PAGE_MIB
    assert given_["memory.zone.node1_Normal.margin_mib"] == (1024 - 512) * PAGE_MIB


def test_a_counter_of_vmstat_is_a_difference_and_one_that_is_not_there_is_absent(tmp_path):
    fake = FakeRoot(tmp_path)
    probe = open_probe(LAYER, fake.root)
    try:
        probe.before()
        fake.write("proc/vmstat", "nr_free_pages 9\npgfault 900\npgscan_anon 12\nnuma_interleave 7\nthp_swpout 2\n")
        probe.after()
        values = probe.values()
        assert values["vm.pgscan_anon"] == 12
        assert "vm.thp_swpout" not in values  # It went backwards.
        assert "vm.pgfault" not in values  # The layer `process` has it.
        assert "vm.thp_swpout_fallback" in probe.absent()
    finally:
        probe.close()


def test_files_that_are_not_there_make_columns_absent_and_not_zero(run, tmp_path):
    fake = FakeRoot(tmp_path)
    for name in ("meminfo", "buddyinfo", "vmstat"):
        fake.remove(f"proc/{name}")
    given_, absent = run("0", root=fake.root)
    # Only what the program's own folder in /proc shows, where it was seen often enough.
    assert set(given_) <= {"memory." + own for own in ("rss_mib", "pss_mib", "swap_mib", "own_huge_share")}
    assert "No such file" in absent["memory.free_mib"] and "No such file" in absent["memory.zone.*.huge_share"]
    assert "No such file" in absent["vm.pgscan_anon"] and "No such file" in absent["memory.ksm_sharing_pages"]


def test_merging_of_pages_is_a_level_and_a_difference(tmp_path):
    fake = FakeRoot(tmp_path)
    fake.write("sys/kernel/mm/ksm/pages_sharing", 40)
    fake.write("sys/kernel/mm/ksm/pages_scanned", 1000)
    probe = open_probe(LAYER, fake.root)
    try:
        probe.before()
        fake.write("sys/kernel/mm/ksm/pages_sharing", 50)
        fake.write("sys/kernel/mm/ksm/pages_scanned", 1250)
        probe.after()
        values = probe.values()
        assert (values["memory.ksm_sharing_pages"], values["memory.ksm_scanned_pages"]) == (40, 250)
    finally:
        probe.close()


def test_no_column_stands_in_two_layers():
    other = {column.name for name in ("process", "numa") for column in find_layer(name).columns}
    assert not other & {column.name for column in LAYER.columns}


def test_closing_gives_every_file_and_the_thread_back():
    before = sorted(os.listdir("/proc/self/fd"))
    threads = threading.enumerate()
    probe = open_probe(LAYER)
    assert sorted(os.listdir("/proc/self/fd")) != before
    probe.close()
    assert sorted(os.listdir("/proc/self/fd")) == before
    assert threading.enumerate() == threads


@fast
@given(st.dictionaries(st.sampled_from(("Node 0, zone      DMA", "Node 1, zone   Normal")), blocks, min_size=1))
def test_free_blocks_add_up_whatever_their_sizes(zones):
    said = "".join(f"{name} {' '.join(map(str, counts))} \n" for name, counts in zones.items()).encode()
    found = free_blocks(said)
    assert sorted(found.values()) == sorted(zones.values())
    for counts in found.values():
        whole = pages(counts)
        assert whole == sum(count * 2**order for order, count in enumerate(counts))
        assert [pages(counts, order) for order in range(12)] == sorted(
            (pages(counts, order) for order in range(12)), reverse=True
        )
        assert pages(counts, 0) == whole and pages(counts, 11) == 0


@fast
@given(st.integers(0, 2**40))
def test_levels_are_in_mib(kb):
    assert levels(f"MemFree: {kb} kB\n".encode()) == {"memory.free_mib": kb / 1024}
