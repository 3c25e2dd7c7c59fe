"""Code that a runtime made while it ran is named by the map that it left."""

import os
import shutil
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vgo_agent.layers.loader import find_layer, open_probe
from vgo_agent.layers.probes.base import SpawnCommand
from vgo_agent.layers.probes.opened import OpenedRun
from vgo_agent.layers.probes.sampled_code import PLACE, PerfMaps
from vgo_agent.tools.execution.launch import Launch
from vgo_agent.tools.execution.spawn import Spawner

MAKES_CODE = """
import ctypes, mmap, os, time
code = bytes.fromhex("4889f8 48ffc8 75fb c3")  # mov rax, rdi; dec rax; jnz; ret
page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
page.write(code)
at = ctypes.addressof(ctypes.c_char.from_buffer(page))
with open(f"/tmp/perf-{os.getpid()}.map", "w") as file:
    file.write(f"{at:x} {len(code):x} counts down\\n")
ctypes.CFUNCTYPE(ctypes.c_long, ctypes.c_long)(at)(30_000_000)
"""


PYTHON_WORK = """
import time
def spins(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for _ in range(1000):
            pass
def calls_it():
    spins(.06)
    sum(range(10**5))
calls_it()
"""
AT_LEAST_3_12 = "import sys; sys.exit(sys.version_info < (3, 12))"
PYTHONS = (*Path.home().glob(".pyenv/versions/3.1[2-9]*/bin/python"), shutil.which("python3.12"), sys.executable)


@pytest.fixture(autouse=True)
def no_map_stays() -> Iterator[None]:
    """Remove what the programs of a test left, those that show whether there is one too."""
    before = set(Path("/tmp").glob("perf-*.map"))
    yield
    for path in set(Path("/tmp").glob("perf-*.map")) - before:
        path.unlink()


def new_python() -> str:
    """A Python that writes a map."""
    new = (str(one) for one in PYTHONS if one and subprocess.run([one, "-X", "perf", "-c", ""]).returncode == 0)
    program = next((one for one in new if subprocess.run([one, "-c", AT_LEAST_3_12]).returncode == 0), None)
    return program or pytest.skip("no Python 3.12 or later that writes a map")


def functions(*argv: str, layer: str = "stacks") -> set[str]:
    """What a run of a program was sampled in."""
    probe = open_probe(find_layer(layer))
    try:
        if why := probe.absent().get("stacks.on_cpu_ms"):
            pytest.skip(why)
        command = probe.wrap(SpawnCommand(argv, dict(os.environ)))
        with Spawner() as spawner:
            run = spawner.run(Launch(command.argv, environment=command.environment), [probe], capture=True)
        opened = OpenedRun.read(str(probe.split(None)["stacks.opened"]))
        assert run.exit_code == 0, run.error
        return {one.function for one in opened.samples}
    finally:
        probe.close()


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="its code is of x86-64")
def test_code_that_was_made_at_run_time_has_its_name():
    assert "counts down" in functions(sys.executable, "-S", "-c", MAKES_CODE)


@pytest.mark.slow
def test_a_function_of_node_has_its_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # it leaves a log there
    node = shutil.which("node")
    if node is None or subprocess.run([node, "--perf-basic-prof", "-e", ""], cwd=tmp_path).returncode:
        pytest.skip("no node that writes a map")
    work = "function spinning(n) { let s = 0; for (let i = 0; i < n; i++) s += i % 7; return s } spinning(6e7)"
    assert any("spinning" in name for name in functions(node, "--perf-basic-prof", "-e", work))


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="where Python returns to is known of x86-64 alone")
def test_functions_of_python_have_their_names_without_frame_pointers_and_no_map_is_left():
    program = new_python()
    before = set(Path("/tmp").glob("perf-*.map"))
    named = functions(program, "-S", "-c", PYTHON_WORK, layer="stacks:python=true")
    assert "spins in <string>" in named
    assert set(Path("/tmp").glob("perf-*.map")) <= before
    assert "spins in <string>" not in functions(program, "-S", "-c", PYTHON_WORK)


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="where Python returns to is known of x86-64 alone")
def test_a_function_of_python_that_has_ended_and_left_its_return_on_the_stack_is_not_the_one_that_runs(tmp_path):
    place = str(tmp_path / "perf-{}.map")
    Path(place.format(7)).write_text("10 10 py::ended:/home/a/b.py\n100 10 py::runs:/home/a/b.py\n")
    maps, code, data = PerfMaps(0.0, place), 0x5000, 0x9000
    memory = struct.pack("=8Q", 0, 0x16, data, data, 0x106, data, code, 0)
    assert maps.python_function(7, memory, lambda address: address == code) == "runs in b.py"
    assert maps.python_function(7, memory[: 6 * 8], lambda address: address == code) == "", "cut before it is sure"


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="where Python returns to is known of x86-64 alone")
def test_a_run_that_failed_leaves_no_map():
    program, probe = new_python(), open_probe(find_layer("stacks:python=true"))
    if why := probe.absent().get("stacks.on_cpu_ms"):
        pytest.skip(why)
    before = set(Path("/tmp").glob("perf-*.map"))
    command = probe.wrap(SpawnCommand((program, "-c", "raise SystemExit(3)"), dict(os.environ)))
    with Spawner() as spawner:
        for _ in range(2):
            run = spawner.run(Launch(command.argv, environment=command.environment), [probe])
    assert run.exit_code == 3 and set(Path("/tmp").glob("perf-*.map")) - before
    probe.close()
    assert set(Path("/tmp").glob("perf-*.map")) <= before


@given(st.lists(st.tuples(st.integers(1, 40), st.integers(1, 40)), max_size=12), st.integers(0, 900))
def test_an_address_has_the_name_of_the_function_around_it(tmp_path_factory, gaps_and_sizes, address):
    place = str(tmp_path_factory.getbasetemp() / "perf-{}.map")
    at, lines, expected = 0, [], ""
    for number, (gap, size) in enumerate(gaps_and_sizes):
        at += gap
        lines.append(f"{at:x} {size:x} f{number}, with blanks")
        expected = f"f{number}, with blanks" if at <= address < at + size else expected
        at += size
    Path(place.format(7)).write_text("\n".join([*lines, "no line of a map"]))
    assert PerfMaps(0.0, place).name(7, [0, address] if address else [0]) == expected
    assert PerfMaps(0.0, place).name(8, [address]) == ""


def test_the_map_of_an_earlier_process_of_the_same_number_counts_for_nothing(tmp_path):
    place = str(tmp_path / "perf-{}.map")
    path = Path(place.format(7))
    path.write_text("10 10 py::work:/home/a/b.py\n")
    assert PerfMaps(time.time() - 60, place).name(7, [0x18]) == "work in b.py"
    os.utime(path, (1, 1))
    assert PerfMaps(time.time() - 60, place).name(7, [0x18]) == ""
    assert PLACE.format(7) == "/tmp/perf-7.map"


def test_what_is_no_file_is_no_map_and_nobody_waits_for_it(tmp_path):
    place = str(tmp_path / "perf-{}.map")
    os.mkfifo(place.format(7))
    (tmp_path / "map").write_text("10 10 f\n")
    Path(place.format(8)).symlink_to(tmp_path / "map")
    Path(place.format(9)).mkdir()
    maps = PerfMaps(0.0, place)
    assert [maps.name(process, [0x18]) for process in (7, 8, 9, 10)] == [""] * 4
