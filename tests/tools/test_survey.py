"""The survey of a fake machine, of this one, and of programs of several kinds."""

from __future__ import annotations

import gzip
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vgo_agent.knowledge.actions import Precondition
from vgo_agent.tools.machine import Machine
from vgo_agent.tools.mitigation.program import read_elf
from vgo_agent.tools.subject import Subject
from vgo_agent.tools.survey import input_files, survey

FAKE = {
    "proc/cpuinfo": "processor\t: 0\nmodel name\t: Fast CPU\nflags\t\t: fpu hypervisor\n",
    "proc/sys/kernel/osrelease": "6.1.0-test\n",
    "proc/meminfo": "MemTotal:       2048 kB\nMemFree: 7 kB\n",
    "proc/loadavg": "0.25 0.10 0.05 1/100 1234\n",
    "proc/self/status": "Name:\tx\nCpus_allowed:\t16\nCpus_allowed_list:\t1-2,4\n",
    "proc/interrupts": (
        "           CPU0       CPU1       CPU2       CPU4\n"
        " 24:          0         90          5          5   IO-APIC   5-edge   disk\n"
        "LOC:          0          0         30         20   Local timer interrupts\n"
        "ERR:          7\n"
    ),
    "etc/os-release": 'NAME="X"\nPRETTY_NAME="X Linux 1 (one)"\n',
    "sys/devices/system/node/node0/cpulist": "0-2\n",
    "sys/devices/system/node/node1/cpulist": "4\n",
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "powersave\n",
    "sys/devices/system/cpu/smt/control": "notsupported\n",
    "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
    "sys/class/dmi/id/sys_vendor": "QEMU\n",
    "sys/class/dmi/id/product_name": "Standard PC\n",
}


@pytest.fixture
def fake(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    for name, text in FAKE.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def running(*argv: str, directory: str = "/") -> Subject:
    return Subject(command=argv, argv=argv, directory=directory)


def test_a_fake_machine_is_read_in_full(fake: Path) -> None:
    machine = survey(running("/bin/sh"), [], root=fake)
    assert machine.cpu == "Fast CPU"
    assert machine.kernel == "6.1.0-test"
    assert machine.distribution == "X Linux 1 (one)"
    assert machine.cpus == (1, 2, 4)
    assert machine.quiet_cpu == 4, "25 interrupts against 90 and 35; CPU 0 has fewer but is not allowed"
    assert machine.numa_nodes == 2
    assert machine.memory_bytes == 2 << 20
    assert machine.virtual == "QEMU Standard PC"
    assert machine.governor == "powersave"
    assert machine.thp == "madvise"
    assert machine.load_1min == 0.25
    assert set(machine.absent) == {"thermal", "rapl", "hardware counters", "gpu", "smt"}
    assert all(reason.endswith(".") for reason in machine.absent.values())


def test_an_empty_root_gives_unknowns_and_no_error(tmp_path: Path) -> None:
    machine = survey(running("/bin/sh"), [Precondition(library="libc.so.6")], root=tmp_path)
    assert (machine.cpu, machine.kernel, machine.distribution) == ("unknown", "unknown", "unknown")
    assert machine.cpus == (0,)
    assert machine.libraries == ()
    assert "cpufreq" in machine.absent


def test_only_what_the_conditions_ask_for_is_looked_for(fake: Path) -> None:
    (fake / "there").write_text("")
    conditions = [
        Precondition(library="libc.so.6"),
        Precondition(library="libnothing.so.9"),
        Precondition(executable="sh"),
        Precondition(executable="no-such-program"),
        Precondition(file="/there"),
        Precondition(file="/not/there"),
    ]
    machine = survey(running("/bin/sh"), conditions, root=fake)
    assert machine.executables == ("sh",)
    assert machine.files == ("/there",)
    here = survey(running("/bin/sh"), conditions)
    assert here.libraries == (("libc.so.6",) if here.glibc else ())


def test_a_library_for_another_machine_does_not_count(fake: Path) -> None:
    library = fake / "usr/lib/libours.so.1"
    library.parent.mkdir(parents=True)
    shutil.copyfile(sys.executable, library)
    conditions = [Precondition(library="libours.so.1")]
    assert survey(running(sys.executable), conditions, root=fake).libraries == ("libours.so.1",)
    other = bytearray(library.read_bytes())
    other[18] ^= 0xFF
    library.write_bytes(other)
    assert survey(running(sys.executable), conditions, root=fake).libraries == ()


def test_this_machine_is_surveyed_and_the_record_can_be_read_again() -> None:
    machine = survey(running(sys.executable), [])
    assert set(machine.cpus) == os.sched_getaffinity(0)
    assert machine.quiet_cpu in machine.cpus
    assert machine.kernel == os.uname().release
    assert machine.memory_bytes > 0
    assert machine.versions["polars"]
    assert Machine.model_validate_json(machine.model_dump_json()) == machine


def test_a_python_interpreter_is_recognised_and_hashed() -> None:
    machine = survey(running(sys.executable, "-m", "this"), [])
    assert machine.program_python
    assert machine.program_dynamic
    assert machine.program_sha256 == hashlib.sha256(Path(sys.executable).read_bytes()).hexdigest()


@pytest.mark.parametrize(
    ("first_line", "python"),
    [
        ("#!/usr/bin/env python3", True),
        ("#!/usr/bin/env -S PYTHONUTF8=1 python3 -u", True),
        (f"#! {sys.executable}", True),
        ("#!/bin/sh", False),
    ],
)
def test_a_script_is_followed_to_its_interpreter(first_line: str, python: bool, tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text(first_line + "\n")
    script.chmod(0o755)
    machine = survey(running(str(script)), [])
    assert machine.program_python is python
    assert machine.program_dynamic
    assert machine.program_sha256 == hashlib.sha256(script.read_bytes()).hexdigest()


def test_python_behind_a_shell_is_recognised() -> None:
    assert survey(running("/bin/sh", "-c", "python3 -c 'print(1)' > /dev/null"), []).program_python
    assert not survey(running("/bin/sh", "-c", "echo python3"), []).program_python


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
@pytest.mark.parametrize(
    ("flags", "dynamic", "openmp"), [([], True, False), (["-fopenmp"], True, True), (["-static"], False, False)]
)
def test_what_a_compiled_program_links_is_seen(flags: list[str], dynamic: bool, openmp: bool, tmp_path: Path) -> None:
    source = (
        "#include <omp.h>\nint main(void) { return omp_get_max_threads() < 0; }"
        if openmp
        else "int main(void) { return 0; }"
    )
    (tmp_path / "p.c").write_text(source)
    subprocess.run(["gcc", *flags, "-o", tmp_path / "p", tmp_path / "p.c"], check=True)
    machine = survey(running(str(tmp_path / "p")), [])
    assert (machine.program_dynamic, machine.program_openmp) == (dynamic, openmp)
    assert not machine.program_python


@pytest.mark.skipif(shutil.which("readelf") is None, reason="readelf is not installed")
@pytest.mark.parametrize("program", [sys.executable, "/bin/ls", "/bin/sh"])
def test_needed_libraries_are_those_that_readelf_shows(program: str) -> None:
    shown = subprocess.run(["readelf", "-dW", program], capture_output=True, text=True, check=True).stdout
    expected = tuple(line.split("[")[1].rstrip("]") for line in shown.splitlines() if "(NEEDED)" in line)
    elf = read_elf(Path(program))
    assert elf is not None
    assert elf.needed == expected != ()


@pytest.mark.parametrize("content", [b"", b"\x7fELF", b"\x7fELF\x02\x01" + b"\xff" * 100, b"#!/bin/sh\n"])
def test_what_is_no_sound_elf_file_is_none(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(content)
    assert read_elf(tmp_path / "file") is None


@given(st.lists(st.tuples(st.integers(4, 4000), st.integers(0, 255)), min_size=1, max_size=20))
def test_a_damaged_elf_file_is_read_or_refused_but_never_an_error(damage: list[tuple[int, int]]) -> None:
    content = bytearray(Path("/bin/sh").read_bytes())
    for at, byte in damage:
        content[at] = byte
    with tempfile.NamedTemporaryFile() as file:
        file.write(content)
        file.flush()
        elf = read_elf(Path(file.name))
    assert elf is None or isinstance(elf.needed, tuple)


def test_a_program_that_cannot_be_found_has_no_facts() -> None:
    machine = survey(running("/no/such/program"), [])
    assert (machine.program_sha256, machine.program_dynamic, machine.program_python) == ("", False, False)


@pytest.fixture
def work(tmp_path: Path) -> Path:
    for name in ("a.dat", "b.dat", "script.py", "program"):
        (tmp_path / name).write_text("x")
    (tmp_path / "folder").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    ("argv", "found"),
    [
        (("/bin/wc", "a.dat", "folder", "missing", "-l"), ["a.dat"]),
        (("/bin/wc", "a.dat", "b.dat", "a.dat"), ["a.dat", "b.dat"]),
        (("/bin/dd", "if=a.dat", "of=/dev/null"), ["a.dat"]),
        (("/usr/bin/python3", "-u", "script.py", "b.dat"), ["b.dat"]),
        (("/usr/bin/python3", "-m", "json.tool", "b.dat"), ["b.dat"]),
        (("./program", "script.py"), ["script.py"]),
        (("/bin/sh", "-c", "./program < a.dat | sort > out"), ["a.dat"]),
        (("/bin/sh", "-c", "it's unclosed a.dat"), []),
        (("/bin/true",), []),
    ],
)
def test_input_files_are_the_arguments_that_are_files(argv: tuple[str, ...], found: list[str], work: Path) -> None:
    assert input_files(argv, work) == tuple(str(work / name) for name in found)


def test_named_inputs_come_first_and_there_are_at_most_sixteen(work: Path) -> None:
    for number in range(20):
        (work / f"{number}").write_text("x")
    argv = ("/bin/cat", *map(str, range(20)))
    files = input_files(argv, work, ("b.dat",))
    assert files[0] == str(work / "b.dat")
    assert len(files) == 16


def test_a_file_may_be_one_of_several_a_pattern_or_in_the_own_group(fake: Path) -> None:
    (fake / "proc/self/cgroup").write_text("1:cpu:/job\n")
    quota = fake / "sys/fs/cgroup/cpu/job/cpu.cfs_quota_us"
    quota.parent.mkdir(parents=True)
    quota.write_text("-1")
    asked = ("{cgroup.cpu}/cpu.max|{cgroup.cpu}/cpu.cfs_quota_us", "/sys/devices/system/cpu/cpu*/cpufreq", "/no/such*")
    assert survey(running("/bin/sh"), [Precondition(file=file) for file in asked], root=fake).files == tuple(
        sorted(asked[:2])
    )


def test_capabilities_and_real_time_are_read(fake: Path) -> None:
    (fake / "proc/self/status").write_text("Cpus_allowed_list:\t1\nCapEff:\t0000000001004000\n")
    (fake / "proc/sys/kernel/sched_rt_runtime_us").write_text("-1\n")
    machine = survey(running("/bin/sh"), [], root=fake)
    assert machine.capabilities == ("ipc_lock", "sys_resource")
    assert not machine.real_time_throttled


def test_a_library_for_another_machine_is_told_with_its_kind(fake: Path) -> None:
    library = fake / "usr/lib/libours.so.1"
    library.parent.mkdir(parents=True)
    other = bytearray(Path(sys.executable).read_bytes())
    other[18] ^= 0xFF
    library.write_bytes(other)
    machine = survey(running(sys.executable), [Precondition(library="libours.so.1")], root=fake)
    assert machine.foreign_libraries.keys() == {"libours.so.1"}
    assert machine.program_machine.endswith("-bit x86-64") or os.uname().machine != "x86_64"


def test_a_static_program_is_recognised(tmp_path: Path) -> None:
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed: apt install gcc")
    (tmp_path / "static.c").write_text("int main(void) { return 0; }")
    built = subprocess.run(["gcc", "-static", "-o", tmp_path / "static", tmp_path / "static.c"], capture_output=True)
    if built.returncode:
        pytest.skip("there is no static C library: apt install libc6-dev")
    machine = survey(running(str(tmp_path / "static")), [])
    assert machine.program_static
    assert not machine.program_dynamic


@pytest.mark.parametrize("where", ["proc/config.gz", "boot/config-6.1.0", "lib/modules/6.1.0/config"])
def test_what_the_kernel_is_built_without_is_read_where_it_is_shown(where: str, tmp_path: Path) -> None:
    (tmp_path / "proc/sys/kernel").mkdir(parents=True)
    (tmp_path / "proc/sys/kernel/osrelease").write_text("6.1.0\n")
    asked = [Precondition(kernel_config=option) for option in ("SWAP", "NO_HZ_FULL", "SWAPPY", "KSM", "SWAP")]
    assert survey(running("/bin/sh"), asked, root=tmp_path).kernel_lacks == ()
    text = "CONFIG_SWAP=y\nCONFIG_KSM=m\n# CONFIG_NO_HZ_FULL is not set\n"
    (tmp_path / where).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / where).write_bytes(gzip.compress(text.encode()) if where.endswith("gz") else text.encode())
    assert survey(running("/bin/sh"), asked, root=tmp_path).kernel_lacks == ("NO_HZ_FULL", "SWAPPY")


def test_either_of_two_programs_will_do(tmp_path: Path) -> None:
    asked = [Precondition(executable="no-such-program|sh"), Precondition(executable="no-such|nor-this")]
    assert survey(running("/bin/sh"), asked, root=tmp_path).executables == ("no-such-program|sh",)
