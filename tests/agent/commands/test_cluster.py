"""Many machines: a real Dask scheduler, workers in network namespaces with host names of their own."""

from __future__ import annotations

import csv
import json
import os
import shutil
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from . import hosts as made

pytest.importorskip("distributed", reason="the extra `cluster` is not installed")


BURN = "import os, time\nend = time.process_time() + {s}\nwhile time.process_time() < end: pass\n"
SLOW = 0.07
"""Share of a CPU that the slow host gets."""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[made.Hosts]:
    """Three hosts, the last held back by a quota; skipped where a host cannot be made."""
    if os.geteuid() != 0 or not shutil.which("ip") or not shutil.which("nsenter"):
        pytest.skip("network namespaces need root, ip and nsenter")
    folder = tmp_path_factory.mktemp("hosts")
    try:
        with (
            made.quota("vgo-test-n1", 2) as first,
            made.quota("vgo-test-n2", 2) as second,
            made.quota("vgo-test-n3", 2) as third,
            made.hosts(folder) as hosts,
        ):
            for number, group in enumerate((first, second, third), 1):
                hosts.add(f"n{number}", 10 + number, group=group)
            hosts.wait("n1", "n2", "n3")
            yield hosts
    except (subprocess.CalledProcessError, OSError) as refused:
        pytest.skip(f"no hosts of our own here: {refused}")


@pytest.fixture
def burn(script: Callable[[str, str], Path]) -> str:
    return str(script("burn.py", BURN.format(s=0.04)))


def vgo(*words: str, cwd: Path, timeout: float = 200) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [made.COMMAND, *words],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=timeout,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def rows_kept(folder: Path) -> list[dict[str, Any]]:
    """What has been kept so far of what goes on in a folder."""
    logs = folder.glob("vgo-runs/*/partial/*.jsonl")
    return [json.loads(line) for log in logs for line in log.read_bytes().rpartition(b"\n")[0].splitlines()]


@pytest.mark.slow
def test_check_tells_each_host_what_it_is_and_what_can_be_measured_there(cluster, burn, tmp_path):
    done = vgo("layers", "--on", cluster.address, "cgroup", "--json", "--", burn, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [host["host"] for host in found["hosts"]] == ["n1", "n2", "n3"]
    assert found["problems"] == found["differences"] == []
    for host in found["hosts"]:
        assert host["versions"]["vgo-agent"] and host["exclusive"] and host["trial_s"] > 0
        assert abs(host["clock_offset_s"]) <= host["clock_error_s"] + 0.001  # one kernel, one clock
        assert len(host["files"][burn]) == 64
        assert "cgroup.throttled" not in host["absent"]["cgroup"]


@pytest.mark.slow
def test_a_host_that_is_held_back_is_named_with_what_holds_it(cluster, burn, tmp_path):
    words = ("measure", "--on", cluster.address, "--layer", "cgroup", "--runs", "36", "--save", "runs.csv", "--json")
    held = made.quota_parent() / "vgo-test-n3"
    made.hold_back(held, SLOW)
    try:
        done = vgo(*words, burn, cwd=tmp_path)
    finally:
        made.hold_back(held, 2)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["hosts"]
    slow = {one["host"]: one for one in found["slow"]}
    assert slow["n3"]["ratio"] > 1.3
    assert {one["column"] for one in slow["n3"]["telling"]} & {"cgroup.throttled", "cgroup.throttled_us"}
    rows = rows_of(tmp_path / "runs.csv")
    each = Counter(row["host"] for row in rows)
    assert max(each.values()) - min(each.values()) <= 4, each
    began = [float(row["began_s"]) for row in rows]
    assert began == sorted(began)
    assert [int(row["order"]) for row in rows] == list(range(len(rows)))


@pytest.mark.slow
def test_the_cap_of_runs_holds_whatever_is_in_flight_and_hosts_count_as_the_program(cluster, burn, tmp_path):
    words = ("--on", cluster.address, "--max-runs", "25", "--max-mitigations", "0", "--layer", "process", "--json")
    done = vgo("diagnose", *words, "--seed", "1", burn, cwd=tmp_path)
    found = json.loads(done.stdout)
    (folder,) = (tmp_path / "vgo-runs").iterdir()
    assert len(rows_of(folder / "runs.csv")) == 25
    report = (folder / "report.md").read_text()
    assert "## Hosts" in report and "of the variance lies between nodes" in report
    nodes = json.loads(vgo("analyze", "--by", "node", str(folder), "--json", cwd=tmp_path).stdout)
    assert sorted(node["name"] for node in nodes["nodes"]) == ["n1", "n2", "n3"]
    assert vgo("verify", str(folder), cwd=tmp_path).returncode == 0
    assert 0 <= found["agent_seconds"] <= found["seconds"] - 0.04 * 25 / 3  # three hosts at once


@pytest.fixture
def two_workers(tmp_path: Path) -> Iterator[made.Hosts]:
    """One host, m1, with two workers; loopback only."""
    if os.geteuid() != 0:
        pytest.skip("host names of our own need root")
    folder = tmp_path / "cluster"
    with made.hosts(folder, network=False) as hosts:
        (folder / "on.yaml").write_text(f"scheduler: {hosts.address}\nsilent_s: 6\n")
        for worker in ("w1", "w2"):
            hosts.start_worker("m1", worker=worker)
        hosts.wait("w1", "w2")
        yield hosts


@pytest.mark.slow
def test_a_worker_that_is_killed_loses_only_what_it_was_doing_and_its_host_is_put_right(two_workers, script, tmp_path):
    knob = Path("/proc/sys/vm/swappiness")
    before = knob.read_text()
    slow = str(script("slow.py", BURN.format(s=0.05)))
    on = str(two_workers.folder / "on.yaml")
    words = [
        "try",
        "swappiness_low",
        "--pairs",
        "20",
        "--allow",
        "system",
        "--max-runs",
        "30",
        "--on",
        on,
        "--json",
        slow,
    ]
    with made.begun_command(tmp_path, *words) as trying:
        while not any(row["pair"] >= 1 for row in rows_kept(tmp_path)):  # pairs come after the proof
            assert trying.poll() is None
            time.sleep(0.002)
        two_workers.kill("w1")
        _, error = trying.communicate(timeout=200)
    assert trying.returncode == 0, error
    assert "m1 was lost" in error
    assert "made again" in error
    assert knob.read_text() == before
    rows = rows_of(next((tmp_path / "vgo-runs").glob("*/runs.csv")))
    paired = Counter((row["pair"], row["condition"]) for row in rows if row["pair"] != "-1")
    assert len(paired) == 40
    assert set(paired.values()) == {1}
    assert {row["slot"] for row in rows} == {"0", "1"}


@pytest.mark.slow
def test_a_worker_that_is_stopped_holds_neither_a_check_nor_a_run(two_workers, burn, tmp_path):
    on = str(two_workers.folder / "on.yaml")
    two_workers.kill("w2", signal.SIGSTOP)
    done = vgo("layers", "--on", on, "--", burn, cwd=tmp_path)
    assert done.returncode == 1
    assert "The worker w2 at " in done.stdout
    done = vgo("measure", "--on", on, "--mixed", "--max-runs", "20", "--json", burn, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["hosts"]["runs"] == {"m1": 20}
