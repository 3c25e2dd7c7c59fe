"""The layer `block` sees what each disk does, and says which it leaves out and why."""

import os
import sys
from pathlib import Path

import pytest

from vgo_agent.layers.loader import find_layer
from vgo_agent.tools.execution.launch import Launch

WRITE = """
import mmap, os, sys
page = mmap.mmap(-1, 4096)
file = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT | os.O_DIRECT, 0o600)
for turn in range(50):
    os.pwrite(file, page, turn * 4096)
os.fsync(file)
for turn in range(20):
    os.preadv(file, [page], turn * 4096)
"""


TRUE = Launch(("/bin/true",))


@pytest.fixture
def opened(opening):
    return lambda root: opening(find_layer("block"), root)


def disk_below(folder):
    """Return the whole disk on which a folder lies; None where it lies on none, or on several."""
    number = folder.stat().st_dev
    device = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}")
    if not device.exists():
        return None
    found = device.resolve()
    found = found.parent if (found / "partition").exists() else found
    return None if any((found / "slaves").iterdir()) else found.name


def disks(spawner, probe, launch=TRUE, change=None):
    counters = spawner.run(launch, [probe], on_started=change and (lambda pid: change())).counters
    return {name.removeprefix("disk."): value for name, value in counters.items() if name.startswith("disk.")}


def test_direct_writes_and_reads_of_a_child_are_seen_on_their_disk(spawner, opened, tmp_path):
    probe = opened(Path("/"))
    disk = disk_below(tmp_path)
    if disk is None or probe.absent():
        pytest.skip(f"{tmp_path} lies on no disk of its own, or {probe.absent()}")
    launch = Launch((sys.executable, "-S", "-c", WRITE, str(tmp_path / "file")))
    if spawner.run(launch).exit_code:
        pytest.skip("this file system takes no O_DIRECT")
    seen = disks(spawner, probe, launch)
    assert seen[f"{disk}.writes"] >= 1
    assert seen[f"{disk}.write_bytes"] >= 50 * 4096
    assert seen[f"{disk}.reads"] >= 20
    assert seen[f"{disk}.read_bytes"] >= 20 * 4096
    assert seen[f"{disk}.write_wait_ms"] == seen[f"{disk}.write_ms"] / seen[f"{disk}.writes"]
    assert 0 <= seen[f"{disk}.busy_share"] <= 100
    assert seen[f"{disk}.scheduler"] in Path(f"/sys/block/{disk}/queue/scheduler").read_text()
    assert seen[f"{disk}.nr_requests"] == float(Path(f"/sys/block/{disk}/queue/nr_requests").read_text())


class Fake:
    """Disks whose counters a test moves on."""

    def __init__(self, root):
        self.root, self.rows = root, {}

    def add(self, name, *, on=(), part_of="", fields=17):
        self.rows[name] = [100] * fields
        if not part_of:
            queue = self.root / "sys/block" / name / "queue"
            queue.mkdir(parents=True)
            (queue / "scheduler").write_text("none [kyber] bfq\n")
            (queue / "nr_requests").write_text("64\n")
            for slave in on:
                (self.root / "sys/block" / name / "slaves" / slave).mkdir(parents=True)
        self.write()

    def work(self, *names, by=5):
        for name in names:
            self.rows[name] = [count + by for count in self.rows[name]]
        self.write()

    def write(self):
        file = self.root / "proc/diskstats"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(f" 8 0 {name} {' '.join(map(str, row))}\n" for name, row in self.rows.items()))


@pytest.fixture
def fake(tmp_path):
    return Fake(tmp_path)


def test_a_disk_is_told_from_its_partitions_and_counted_once_below_what_lies_on_it(spawner, opened, fake):
    for name in ("sda", "nvme0n1"):
        fake.add(name)
    fake.add("sda1", part_of="sda")
    fake.add("md0", on=["sda", "nvme0n1"])
    fake.add("loop3")
    probe = opened(fake.root)
    seen = disks(spawner, probe, change=lambda: fake.work("sda", "sda1", "nvme0n1", "md0"))
    assert {name.partition(".")[0] for name in seen} == {"sda", "nvme0n1", "md0", "all"}
    assert seen["sda.reads"] == seen["md0.reads"] == 5
    assert seen["all.reads"] == 10
    assert seen["sda.read_bytes"] == 5 * 512
    assert seen["sda.read_wait_ms"] == 1
    assert seen["sda.in_flight"] == 100
    assert (seen["sda.scheduler"], seen["sda.nr_requests"]) == ("kyber", 64)
    assert "all.busy_share" not in seen


def test_a_disk_without_a_request_has_no_mean_wait_rather_than_zero(spawner, opened, fake):
    fake.add("sda")
    seen = disks(spawner, opened(fake.root))
    assert seen["sda.reads"] == 0
    assert "sda.read_wait_ms" not in seen
    assert not any(name.startswith("all.") for name in seen)


def test_a_loop_is_shown_from_when_it_does_something(spawner, opened, fake):
    fake.add("sda")
    fake.add("loop3")
    probe = opened(fake.root)
    assert not any(name.startswith("loop3") for name in disks(spawner, probe))
    assert disks(spawner, probe, change=lambda: fake.work("loop3"))["loop3.reads"] == 5
    assert disks(spawner, probe)["loop3.reads"] == 0


def test_a_disk_that_vanishes_or_comes_in_mid_run_has_no_cells_for_that_run(spawner, opened, fake):
    fake.add("sda")
    fake.add("sdb")
    probe = opened(fake.root)
    row = fake.rows["sdb"]

    def pull():
        del fake.rows["sdb"]
        fake.write()

    def plug():
        fake.rows["sdb"] = row
        fake.write()

    assert {name.partition(".")[0] for name in disks(spawner, probe, change=pull)} == {"sda"}
    assert {name.partition(".")[0] for name in disks(spawner, probe, change=plug)} == {"sda"}
    assert disks(spawner, probe)["sdb.reads"] == 0


def test_a_counter_that_goes_backwards_leaves_its_cell_empty(spawner, opened, fake):
    fake.add("sda")

    def wrap():
        fake.rows["sda"][0] = 3
        fake.rows["sda"][4] = 107
        fake.write()

    seen = disks(spawner, opened(fake.root), change=wrap)
    assert "sda.reads" not in seen
    assert "sda.read_wait_ms" not in seen
    assert seen["sda.writes"] == 7


def test_an_old_kernel_without_flushes_says_so_and_gives_the_rest(spawner, opened, fake):
    fake.add("sda", fields=11)
    probe = opened(fake.root)
    seen = disks(spawner, probe, change=lambda: fake.work("sda"))
    assert seen["sda.reads"] == 5
    assert not any("flush" in name or "discard" in name for name in seen)
    assert "Linux 5.5" in probe.absent()["disk.*.flush_wait_ms"]
    assert "disk.*.reads" not in probe.absent()
    assert "disk.*.rotational" in probe.absent()  # No such file in its queue.


@pytest.mark.parametrize(("text", "reason"), [(None, "No such file"), ("", "shows no disk")])
def test_where_no_disk_is_to_be_seen_every_column_is_absent(spawner, opened, tmp_path, text, reason):
    (tmp_path / "proc").mkdir()
    if text is not None:
        (tmp_path / "proc/diskstats").write_text(text)
    probe = opened(tmp_path)
    assert disks(spawner, probe) == {}
    assert set(probe.absent()) == {column.name for column in find_layer("block").columns}
    assert all(reason in why for why in probe.absent().values())
