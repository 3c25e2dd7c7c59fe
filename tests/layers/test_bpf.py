"""The layer `bpf`: how long the threads of a run wait, seen by a real bpftrace."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vgo_agent.layers.loader import find_layer, open_probe
from vgo_agent.layers.probes.bpf import buckets_of, hindrance, quantile, reduced
from vgo_agent.tools.execution.launch import Launch
from vgo_agent.tools.execution.spawn import Spawner

from .tracing import TRACEFS, tracefs_at

law = settings(derandomize=True, deadline=None)
LAYER = find_layer("bpf")
NAPS = 10
NAP_S = 0.005
SLEPT = "import resource; open('slept', 'w').write(str(resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw))"
"""How often a thread of the program gave up the CPU, as the kernel counts it."""
NAP = f"import time\nfor _ in range({NAPS}): time.sleep({NAP_S})"
IN_THREADS = f"""
import threading, time
threads = [threading.Thread(target=time.sleep, args=({NAP_S},)) for _ in range({NAPS})]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""


@pytest.fixture(scope="module")
def probe():
    if shutil.which("bpftrace") is None:
        pytest.skip("bpftrace is not installed: apt-get install bpftrace")
    with tracefs_at(TRACEFS):
        if reason := hindrance(Path("/")):
            pytest.skip(reason)
        opened = open_probe(LAYER)
        yield opened
        opened.close()
        assert tracers() == []


@pytest.fixture(scope="module")
def spawner():
    with Spawner() as opened:
        yield opened


def tracers():
    """Return the bpftrace processes that were started from here."""
    done = subprocess.run(["pgrep", "-x", "-P", str(os.getpid()), "bpftrace"], capture_output=True, text=True)
    return done.stdout.split()


def ran(spawner, probe, *argv):
    counters = spawner.run(Launch(argv), [probe]).counters
    if probe.absent():
        pytest.skip(next(iter(probe.absent().values())))
    return counters


@pytest.mark.parametrize("code", [NAP, IN_THREADS], ids=["one thread", "many threads"])
def test_every_nap_is_seen_with_its_length(spawner, probe, code, tmp_path, monkeypatch):
    """Who has to wait for a CPU on the way to sleep sleeps for less, or not at all, and has waited in the queue.

    On a busy machine the probe misses a few, for a reason not found yet: 31 of 33 and 9 of 10 were seen.
    """
    monkeypatch.chdir(tmp_path)
    seen = ran(spawner, probe, sys.executable, "-S", "-c", f"{code}\n{SLEPT}")
    slept = int((tmp_path / "slept").read_text())
    assert seen["bpf.blocked_count"] >= 0.8 * slept > 0
    assert seen["bpf.blocked_total_us"] + seen["bpf.run_wait_total_us"] >= 0.8 * NAPS * NAP_S * 1e6
    # Each thread was woken about as often, and then waited for a CPU.
    assert seen["bpf.run_wait_count"] >= 0.8 * NAPS
    assert seen["bpf.run_wait_total_us"] >= seen["bpf.run_wait_max_us"] > 0


def test_the_children_of_a_shell_belong_to_the_run(spawner, probe):
    seen = ran(spawner, probe, "/bin/sh", "-c", "sleep 0.02; (sleep 0.02); :")
    assert seen["bpf.blocked_total_us"] >= 2 * 0.02 * 1e6


def test_nothing_is_left_for_the_next_run(spawner, probe):
    long = ran(spawner, probe, "/bin/sleep", "0.5")
    assert long["bpf.blocked_max_us"] >= 0.5e6
    for _ in range(3):
        after = ran(spawner, probe, "/bin/true")
        assert after.get("bpf.blocked_max_us", 0) < long["bpf.blocked_max_us"]
        assert after["bpf.blocked_count"] < NAPS


def test_what_another_program_waits_is_not_counted(spawner, probe):
    other = subprocess.Popen([sys.executable, "-S", "-c", "import time\nwhile True: time.sleep(0.001)"])
    seen = ran(spawner, probe, "/bin/sleep", "0.3")
    other.kill()
    other.wait()
    assert seen["bpf.blocked_count"] < 20


def test_requests_to_a_device_are_timed(spawner, probe, tmp_path):
    file = tmp_path / "written"
    writer = subprocess.run(
        ["dd", "if=/dev/zero", f"of={file}", "bs=1M", "count=1", "oflag=direct"], capture_output=True, text=True
    )
    if writer.returncode:
        pytest.skip(f"this file system does not write directly to a device: {writer.stderr.strip()}")
    seen = ran(spawner, probe, "/bin/dd", f"if={file}", "of=/dev/null", "bs=64K", "iflag=direct")
    if not seen["bpf.block_io_count"]:
        pytest.skip("this file system does not lie on a block device")
    assert seen["bpf.block_io_total_us"] >= seen["bpf.block_io_max_us"] > 0


def test_what_is_given_is_declared_and_asking_twice_gives_the_same(spawner, probe):
    ran(spawner, probe, sys.executable, "-S", "-c", NAP)
    first = dict(probe.values())
    assert first == probe.values()
    assert set(first) <= {column.name for column in LAYER.columns}
    assert len(first) >= 12


def test_a_bpftrace_that_dies_costs_the_cells_and_not_the_run(spawner):
    if shutil.which("bpftrace") is None:
        pytest.skip("bpftrace is not installed: apt-get install bpftrace")
    with tracefs_at(TRACEFS):
        before = set(tracers())
        probe = open_probe(LAYER)
        if probe.absent():
            pytest.skip(next(iter(probe.absent().values())))
        (own,) = set(tracers()) - before
        os.kill(int(own), 9)
        run = spawner.run(Launch(("/bin/true",)), [probe])
        probe.close()
    assert run.exit_code == 0
    assert probe.values() == {}
    assert set(probe.absent()) == {column.name for column in LAYER.columns}
    assert "stopped answering" in probe.absent()["bpf.run_wait_p99_us"]


def test_without_tracefs_it_says_how_to_mount_it(tmp_path):
    if shutil.which("bpftrace") is None or os.geteuid() != 0:
        pytest.skip("bpftrace (apt-get install bpftrace) and root come first")
    probe = open_probe(LAYER, tmp_path)
    assert "mount -t tracefs" in probe.absent()["bpf.blocked_max_us"]
    assert probe.values() == {}
    probe.close()


def test_without_bpftrace_it_says_how_to_install_it():
    program = """
from vgo_agent.layers.loader import find_layer, open_probe
print(set(open_probe(find_layer("bpf")).absent().values()))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env={"PATH": ""})
    assert done.stdout == "{'bpftrace is not installed: apt-get install bpftrace'}\n", done.stderr


# From what bpftrace prints to columns.

WAITS = {
    "40": [{"max": 0, "count": 2}, {"min": 4, "max": 7, "count": 2}],
    "41": [{"min": 1, "max": 1, "count": 9}],
}
RECORDED: list[dict[str, Any]] = [
    {"@run_wait_hist": WAITS},
    {"@run_wait_ns": {"40": 12_000}},
    {"@run_wait_max": {"40": 6_500}},
]


def test_the_maps_of_the_run_are_reduced_and_those_of_others_are_not():
    seen = reduced(RECORDED, "40")
    assert (seen["bpf.run_wait_count"], seen["bpf.run_wait_total_us"], seen["bpf.run_wait_max_us"]) == (4, 12, 6.5)
    assert (seen["bpf.run_wait_p50_us"], seen["bpf.run_wait_p95_us"], seen["bpf.run_wait_p99_us"]) == (1, 6.5, 6.5)
    # It never waited for a device: no request, no time, and no quantiles of nothing.
    assert seen["bpf.block_io_count"] == seen["bpf.block_io_total_us"] == 0
    assert "bpf.block_io_p50_us" not in seen


histograms = (
    st.lists(st.integers(0, 50), min_size=1, max_size=30)
    .filter(any)
    .map(
        lambda waits: buckets_of(
            [{"min": 1 << power, "max": (2 << power) - 1, "count": number} for power, number in enumerate(waits)]
        )
    )
)


@law
@given(histograms, st.lists(st.floats(0.01, 1), min_size=2, max_size=5).map(sorted))
def test_quantiles_rise_with_their_share_and_lie_in_the_histogram(buckets, shares):
    found = [quantile(buckets, share) for share in shares]
    assert found == sorted(found)
    assert buckets[0].low <= found[0] and found[-1] <= buckets[-1].high
