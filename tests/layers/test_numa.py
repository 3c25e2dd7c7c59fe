"""The layer `numa` shows what was allocated away from who asked, and which of the program's own lies away from it."""

import os
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vgo_agent.layers.loader import find_layer, open_probe
from vgo_agent.layers.probes.memory import MemoryPlacement, NumaProbe, places
from vgo_agent.layers.probes.process import FEWEST_READINGS
from vgo_agent.tools.execution.launch import Launch
from vgo_agent.tools.execution.spawn import Spawner

from .fake_root import FakeRoot

LAYER = find_layer("numa")
CPUS = sorted(os.sched_getaffinity(0))
NODES = sorted(Path("/sys/devices/system/node").glob("node[0-9]*"))
MIB = 32
TOUCH = f"""
import os, sys, time
b = bytearray({MIB} << 20)
open("touched", "w").close()
while not os.path.exists("seen"): time.sleep(0.001)
"""
fast = settings(derandomize=True, deadline=None)


@pytest.fixture
def fake(tmp_path):
    """Two nodes: all of this machine's CPUs but the last are of node 0, the last is of node 1."""
    fake = FakeRoot(tmp_path)
    fake.write("sys/devices/system/node/node0/cpulist", ",".join(map(str, CPUS[:-1])))
    fake.write("sys/devices/system/node/node1/cpulist", CPUS[-1])
    return fake


@pytest.fixture
def opened(fake):
    found = []

    def make(spec="numa:interval_ms=4", root=fake.root):
        found.append(open_probe(find_layer(spec), root))
        return found[-1]

    yield make
    for probe in found:
        probe.close()


def test_with_one_node_the_layer_is_absent_and_says_so(opened):
    if len(NODES) > 1:
        pytest.skip("this machine has several nodes")
    probe = opened("numa", Path("/"))
    assert set(probe.absent()) == {column.name for column in LAYER.columns}
    assert all("NUMA node" in reason for reason in probe.absent().values())
    assert probe.values() == {}


def test_what_was_allocated_is_told_by_node_and_as_a_share(fake, opened):
    probe = opened()
    probe.before()
    fake.allocate(300, node=0, asked_by=0)
    fake.allocate(100, node=1, asked_by=0)
    probe.after()
    values = probe.values()
    assert {name: value for name, value in values.items() if value and name.startswith("numa.")} == {
        "numa.node.0.hit": 300,
        "numa.node.0.local": 300,
        "numa.node.0.foreign": 100,
        "numa.node.1.miss": 100,
        "numa.node.1.other": 100,
        "numa.remote_share": 25,
    }
    assert values["numa.node.1.hit"] == 0
    assert all(LAYER.column(name) for name in values)


def test_a_counter_that_goes_backwards_is_a_missing_cell_and_so_is_the_share(fake, opened):
    probe = opened()
    probe.before()
    fake.write("sys/devices/system/node/node1/numastat", "numa_hit 1001\nlocal_node 5\nother_node 9")
    probe.after()
    values = probe.values()
    assert values["numa.node.1.hit"] == 1 and values["numa.node.0.local"] == 0
    assert "numa.node.1.local" not in values and "numa.node.1.miss" not in values
    assert "numa.remote_share" not in values


def test_an_unread_node_makes_its_columns_absent_and_not_zero(fake, opened):
    fake.remove("sys/devices/system/node/node*/numastat")
    probe = opened()
    assert "No such file" in probe.absent()["numa.node.*.miss"]
    probe.before()
    probe.after()
    assert not [name for name in probe.values() if name.startswith("numa.node.")]


@pytest.mark.skipif(len(CPUS) < 2 or len(NODES) > 1, reason="it takes two CPUs that share one node")
@pytest.mark.parametrize(("cpu", "node", "share"), [(CPUS[0], 0, 0), (CPUS[-1], 1, 100)])
def test_a_program_on_another_node_than_its_memory_is_seen(opened, tmp_path, monkeypatch, cpu, node, share):
    # All memory of this machine is on node 0; the fake root puts its last CPU on node 1.
    look, looks = NumaProbe.look, []

    def counted(probe: NumaProbe, pid: int) -> MemoryPlacement | None:
        looks.append((tmp_path / "touched").exists())
        if sum(looks) > FEWEST_READINGS:  # those before have been kept
            (tmp_path / "seen").touch()
        return look(probe, pid)

    monkeypatch.setattr(NumaProbe, "look", counted)
    with Spawner() as spawner:
        launch = Launch((sys.executable, "-S", "-c", TOUCH), directory=tmp_path, affinity=frozenset({cpu}))
        counters = spawner.run(launch, [opened()]).counters
    assert counters["numa.off_node_share"] == share
    assert counters["numa.last_node"] == node
    assert MIB <= float(counters["numa.node.0.own_mib"]) <= MIB + 40


def test_a_run_too_short_to_be_looked_at_has_no_share_and_the_reason_is_told(opened):
    probe = opened("numa:interval_ms=10000")
    with Spawner() as spawner:
        counters = spawner.run(Launch(("/bin/true",)), [probe]).counters
    assert "numa.off_node_share" not in counters and "numa.last_node" in counters
    assert "--layer numa:interval_ms=" in probe.absent()["numa.off_node_share"]


mappings = st.lists(
    st.tuples(st.dictionaries(st.integers(0, 3), st.integers(1, 10**6), max_size=4), st.sampled_from((4, 2048)))
)


@fast
@given(mappings)
def test_places_are_added_up_by_node_in_kb(found):
    said = "".join(
        f"7f00 default anon={sum(pages.values())} {' '.join(f'N{n}={count}' for n, count in pages.items())} "
        f"kernelpagesize_kB={size}\n"
        for pages, size in found
    )
    sums: dict[int, int] = {}
    for pages, size in found:
        for node, count in pages.items():
            sums[node] = sums.get(node, 0) + count * size
    assert places(said.encode()) == sums
