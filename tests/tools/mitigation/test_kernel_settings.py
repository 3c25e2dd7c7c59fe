"""From what a mitigation writes to the files of a machine: a fake tree, whose every file is known."""

from __future__ import annotations

import mmap
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vgo_agent.knowledge.actions import Write
from vgo_agent.knowledge.errors import VgoError
from vgo_agent.tools.machine import Machine
from vgo_agent.tools.mitigation.kernel_file import KernelRefusal, cpu_list
from vgo_agent.tools.mitigation.kernel_settings import KernelSetting, cpu_mask, resolve, rounded, same
from vgo_agent.tools.mitigation.run_group import limit_bytes

MACHINE = Machine(cpus=(0, 1), quiet_cpu=1)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    files = {
        "sys/devices/system/cpu/online": "0-3",
        "sys/devices/system/cpu/cpufreq/policy0/scaling_min_freq": "800000",
        "sys/devices/system/cpu/cpufreq/policy0/scaling_max_freq": "3000000",
        "sys/devices/system/cpu/cpufreq/policy0/scaling_available_frequencies": "800000 3200000 1600000 ",
        "sys/devices/system/cpu/cpufreq/policy2/scaling_min_freq": "400000",
        "sys/devices/system/cpu/cpufreq/policy2/scaling_available_frequencies": "400000 2000000",
        "proc/irq/1/smp_affinity_list": "0-3",
        "proc/irq/22/smp_affinity_list": "0-3",
        "proc/sys/vm/dirty_bytes": "0",
        "proc/sys/vm/dirty_ratio": "20",
        "proc/sys/kernel/core_pattern": "core",
    }
    for name, text in files.items():
        put(tmp_path / name, text)
    return tmp_path


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text + "\n")


def knobs(tree: Path, *writes: Write) -> tuple[KernelSetting, ...]:
    return resolve(writes, MACHINE, tree).knobs


def test_each_file_of_a_pattern_is_a_knob_with_its_own_siblings_and_values(tree: Path) -> None:
    write = Write(
        path="/sys/devices/system/cpu/cpufreq/policy*/scaling_min_freq",
        value="{max:scaling_available_frequencies}",
        siblings=("scaling_max_freq",),
    )
    folder = "/sys/devices/system/cpu/cpufreq"
    assert knobs(tree, write) == (
        KernelSetting(f"{folder}/policy0/scaling_min_freq", "3200000", (f"{folder}/policy0/scaling_max_freq",)),
        KernelSetting(f"{folder}/policy2/scaling_min_freq", "2000000"),
    )


def test_the_least_of_a_file_can_be_asked_for_too(tree: Path) -> None:
    path = "/sys/devices/system/cpu/cpufreq/policy0/scaling_min_freq"
    (knob,) = knobs(tree, Write(path=path, value="{min:scaling_available_frequencies}"))
    assert knob.value == "800000"


def test_the_quiet_cpu_is_left_out_of_lists_and_masks(tree: Path) -> None:
    path = "/proc/irq/*/smp_affinity_list"
    assert [knob.value for knob in knobs(tree, Write(path=path, value="{cpus_but_quiet}"))] == ["0,2,3", "0,2,3"]
    assert [knob.value for knob in knobs(tree, Write(path=path, value="{mask_but_quiet}"))] == ["d", "d"]


def test_a_machine_of_one_cpu_has_no_other_to_steer_to(tree: Path) -> None:
    put(tree / "sys/devices/system/cpu/online", "1")
    with pytest.raises(VgoError, match="this machine has one only"):
        knobs(tree, Write(path="/proc/irq/*/smp_affinity_list", value="{cpus_but_quiet}"))


def test_what_is_optional_and_missing_is_left_out_and_told(tree: Path) -> None:
    here = Write(path="/proc/sys/vm/dirty_bytes", value="1", siblings=("dirty_ratio", "no_such"))
    missing = Write(path="/sys/class/net/*/queues/rx-*/rps_cpus", value="0", optional=True)
    found = resolve((missing, here), MACHINE, tree)
    assert found.knobs == (KernelSetting("/proc/sys/vm/dirty_bytes", "1", ("/proc/sys/vm/dirty_ratio",)),)
    assert found.left_out == (f"{missing.path}: left out, it is not there",)


def test_at_least_one_of_the_optional_must_be_there(tree: Path) -> None:
    with pytest.raises(KernelRefusal, match="Nothing of this mitigation can be set here"):
        knobs(tree, Write(path="/sys/no/such", value="0", optional=True))


@pytest.mark.parametrize("path", ["/sys/no/such", "/sys/no/*/such", "{cgroup.cpu}/cpu.max"])
def test_what_is_not_optional_and_missing_is_refused(tree: Path, path: str) -> None:
    with pytest.raises(KernelRefusal, match="leave out the mitigation"):
        knobs(tree, Write(path=path, value="0"))


NO_SETTINGS = ("/etc/passwd", "/sys/../etc/passwd", "/proc/sys/kernel/core_pattern", "/proc/sys//kernel/core_pattern")
TRIGGERS = (
    *("/sys/power/state", "/sys/power/./state", "/sys/power/disk", "/sys/power/autosleep", "/proc/sysrq-trigger"),
    *("/proc/sys/vm/drop_caches", "/proc/sys/vm/compact_memory", "/proc/sys/kernel/modules_disabled"),
    *("/sys/block/sda/device/state", "/sys/class/net/eth0/device/remove", "/sys/bus/pci/drivers/nvme/unbind"),
    *("/sys/fs/cgroup/cgroup.freeze", "/sys/fs/cgroup/cgroup.procs", "/sys/fs/cgroup/memory/memory.force_empty"),
)


@pytest.mark.parametrize("path", NO_SETTINGS + TRIGGERS)
def test_a_file_that_is_no_setting_is_refused(tree: Path, path: str) -> None:
    put(tree / "etc/passwd", "root")
    for trigger in TRIGGERS:
        put(tree / trigger.lstrip("/"), "freeze mem disk")
    with pytest.raises(VgoError, match="no setting that vgo-agent writes"):
        knobs(tree, Write(path=path, value="|/bin/sh"))


def test_no_file_of_a_pattern_may_be_a_trigger(tree: Path) -> None:
    put(tree / "sys/power/state", "freeze mem disk")
    with pytest.raises(VgoError, match="/sys/power/state is no setting"):
        knobs(tree, Write(path="/sys/power/st*", value="freeze"))


@pytest.mark.parametrize(("text", "mode", "why"), [("", 0o644, "shows no value"), ("1", 0o200, "can only be written")])
def test_what_shows_no_value_cannot_be_put_back_and_is_refused(tree: Path, text: str, mode: int, why: str) -> None:
    put(tree / "sys/kernel/once", text)
    (tree / "sys/kernel/once").chmod(mode)
    once = Write(path="/sys/kernel/once", value="1")
    with pytest.raises(KernelRefusal, match=why):
        knobs(tree, once)
    here = Write(path="/proc/sys/vm/dirty_bytes", value="1")
    found = resolve((once.model_copy(update={"optional": True}), here), MACHINE, tree)
    assert [knob.path for knob in found.knobs] == [here.path]
    assert why in found.left_out[0]


def test_a_word_that_nothing_explains_is_not_written(tree: Path) -> None:
    with pytest.raises(VgoError, match=r"Nothing says what \{level\} is"):
        knobs(tree, Write(path="/proc/sys/vm/dirty_bytes", value="{level}"))


def test_the_group_of_this_process_is_found_in_both_versions(tree: Path) -> None:
    put(tree / "proc/self/cgroup", "4:memory:/a\n1:cpu:/\n0::/b/c")
    put(tree / "sys/fs/cgroup/cpu/cpu.cfs_quota_us", "100000")
    put(tree / "sys/fs/cgroup/memory/a/memory.swappiness", "60")
    put(tree / "sys/fs/cgroup/unified/cgroup.controllers", "io")
    put(tree / "sys/fs/cgroup/unified/b/io.max", "8:0 rbps=max")
    (tree / "sys/fs/cgroup/unified/b/c").mkdir()
    writes = (
        Write(path="{cgroup.cpu}/cpu.cfs_quota_us", value="-1"),
        Write(path="{cgroup.memory}/memory.swappiness", value="0"),
        Write(path="{cgroup.blkio}/io.max", value="x"),
    )
    assert [knob.path for knob in knobs(tree, *writes)] == [
        "/sys/fs/cgroup/cpu/cpu.cfs_quota_us",
        "/sys/fs/cgroup/memory/a/memory.swappiness",
        "/sys/fs/cgroup/unified/b/io.max",
    ]


def test_a_memory_limit_below_what_is_used_is_refused(tree: Path) -> None:
    put(tree / "proc/self/cgroup", "4:memory:/a")
    put(tree / "sys/fs/cgroup/memory/a/memory.limit_in_bytes", "9223372036854771712")
    put(tree / "sys/fs/cgroup/memory/a/memory.usage_in_bytes", "5000")
    path = "{cgroup.memory}/memory.limit_in_bytes"
    with pytest.raises(VgoError, match="would kill what runs there"):
        knobs(tree, Write(path=path, value="4096"))
    assert knobs(tree, Write(path=path, value="8192"))


@pytest.mark.parametrize("name", ["memory.max", "memory.high"])
@pytest.mark.parametrize("value", ["4096", "1M", "1m", "512K", "7g", "0x100000", "0x10k", "010m", "K", "", "1M\0max"])
def test_a_memory_limit_in_any_spelling_of_the_kernel_is_refused_below_what_is_used(
    tree: Path, name: str, value: str
) -> None:
    put(tree / "proc/self/cgroup", "0::/a")
    put(tree / "sys/fs/cgroup/cgroup.controllers", "memory")
    put(tree / f"sys/fs/cgroup/a/{name}", "max")
    put(tree / "sys/fs/cgroup/a/memory.current", str(8 << 30))
    path = f"{{cgroup.memory}}/{name}"
    with pytest.raises(VgoError, match="would kill what runs there"):
        knobs(tree, Write(path=path, value=value))
    for enough in ("9G", "9g", "0x900000k", "max"):
        assert knobs(tree, Write(path=path, value=enough))


@given(st.integers(0, (1 << 34) - 1), st.sampled_from(["", "K", "m", "G"]))
def test_a_memory_limit_is_the_same_in_each_base_and_in_whole_pages(number: int, suffix: str) -> None:
    spelt = {limit_bytes(f"{digits}{suffix}\n") for digits in (f"{number}", f"{number:#x}", f"0{number:o}")}
    exact = number << {"": 0, "K": 10, "m": 20, "G": 30}[suffix]
    assert spelt == {exact - exact % mmap.PAGESIZE}


@pytest.mark.parametrize("value", ["max", "-1", "08", "0x", "1.5G", "1MB", "1 M", "+1"])
def test_what_is_no_number_of_bytes_is_no_limit(value: str) -> None:
    assert limit_bytes(value) is None


@pytest.mark.parametrize(
    ("asked", "seen"),
    [("3", "00000003"), ("ff", "00000000,000000ff"), ("0,1", "0-1"), ("0-1", "0,1"), ("max", "max 100000")]
    + [("1", "Y"), ("0", "N"), ("-1", "9223372036854771712"), ("3", "3 4 1 7"), ("none", "none"), ("010", "10")],
)
def test_another_spelling_is_the_same_value(asked: str, seen: str) -> None:
    assert same(asked, seen)


@pytest.mark.parametrize(
    ("asked", "seen"), [("0", "Y"), ("1", "N"), ("0,2", "0-2"), ("always", "madvise"), ("-1", "100000"), ("10", "100")]
)
def test_another_value_is_not(asked: str, seen: str) -> None:
    assert not same(asked, seen)
    assert not rounded(asked, seen)


@given(st.sets(st.integers(0, 200), min_size=1))
def test_a_mask_and_a_list_name_the_same_cpus(cpus: set[int]) -> None:
    mask = cpu_mask(cpus)
    bits = int(mask.replace(",", ""), 16)
    assert {cpu for cpu in range(201) if bits >> cpu & 1} == cpus
    assert all(len(group) == 8 for group in mask.split(",")[1:])
    assert set(cpu_list(",".join(map(str, cpus)))) == cpus


@given(st.integers(-(10**9), 10**9), st.integers(-(10**9), 10**9))
def test_only_a_near_number_counts_as_rounded(asked: int, seen: int) -> None:
    assert rounded(str(asked), str(seen)) == (asked != seen and 10 * abs(seen - asked) <= abs(asked))
