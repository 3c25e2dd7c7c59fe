"""Cache lines that threads share on two CPUs are found by the operands of the instructions sampled there."""

import os
import platform
from pathlib import Path

import pytest

from tests.layers.test_region import compiled
from vgo_agent.layers.loader import find_layer
from vgo_agent.layers.probes import instructions
from vgo_agent.layers.probes.elf_symbols import Function
from vgo_agent.layers.probes.instructions import NAMES, Touched, operands_unknown, touched
from vgo_agent.layers.probes.shared_lines import LineSamples, SharedLine
from vgo_agent.tools.execution.launch import Launch
from vgo_agent.tools.layers_here import here

TWO_THREADS = """
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <time.h>
static volatile char counters[4096] __attribute__((aligned(64)));
static int cpus[2];
static void *work(void *place) {
    volatile long *own = (volatile long *)(counters + (long)place * STEP);
    struct timespec spent = {0, 0};
    cpu_set_t cpu;
    CPU_ZERO(&cpu);
    CPU_SET(cpus[(long)place], &cpu);
    pthread_setaffinity_np(pthread_self(), sizeof cpu, &cpu);
    while (spent.tv_nsec < 100000000) {
        for (int i = 0; i < 1000000; i++) ADD;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
    }
    return 0;
}
int main(void) {
    pthread_t threads[2];
    cpu_set_t allowed;
    sched_getaffinity(0, sizeof allowed, &allowed);
    for (int cpu = 0, found = 0; found < 2; cpu++) if (CPU_ISSET(cpu, &allowed)) cpus[found++] = cpu;
    for (long i = 0; i < 2; i++) pthread_create(&threads[i], 0, work, (void *)i);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    return 0;
}
"""
PLAIN, LOCKED = "*own += 1", "__atomic_fetch_add(own, 1, __ATOMIC_SEQ_CST)"


@pytest.fixture
def decodes():
    if why := operands_unknown():
        pytest.skip(why)


def lines(spawner, opened, program: str) -> tuple[SharedLine, ...]:
    """Lines of the program's counters that two threads shared in a run."""
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("there is one CPU")
    probe = opened("stacks")
    run = spawner.run(Launch((program,)), [probe], capture=True)
    assert run.exit_code == 0, run.error
    found = LineSamples.read(probe.split(None)["stacks.lines"])
    assert found.samples >= 50
    return tuple(line for line in found.lines if "counters" in line.where)


@pytest.mark.parametrize(("step", "add"), [(8, PLAIN), (0, LOCKED)])
def test_a_line_that_two_threads_write_is_named_with_how_they_use_it(spawner, opened, tmp_path, decodes, step, add):
    (line,) = lines(spawner, opened, compiled(tmp_path, TWO_THREADS, "-pthread", f"-DSTEP={step}", f"-DADD={add}"))
    assert (line.threads, line.writers, line.functions) == (2, 2, ("work in program",)) and line.samples >= 5
    assert (line.apart, line.locked) == (step > 0, add == LOCKED)
    assert line.where == ("counters+0x0 and counters+0x8 in program" if step else "counters+0x0 in program")


def test_threads_that_write_lines_of_their_own_share_none(spawner, opened, tmp_path, decodes):
    assert not lines(spawner, opened, compiled(tmp_path, TWO_THREADS, "-pthread", "-DSTEP=64", f"-DADD={PLAIN}"))


CODE = {
    "load": "488b01",  # mov rax, [rcx]
    "add": "4883c001",  # add rax, 1
    "store": "488901",  # mov [rcx], rax
    "chase": "488b09",  # mov rcx, [rcx]
    "jump": "75f0",
    "own": "64488b042528000000",  # mov rax, fs:[0x28]
    "exchange": "f0490fb11424",  # lock cmpxchg [r12], rdx
    "indexed": "8944b308",  # mov [rbx + 4 * rsi + 8], eax
    "relative": "48890510000000",  # mov [rip + 0x10], rax
    "address": "488d01",  # lea rax, [rcx]
}
RCX, R12, RBX, IN_FILE = 0x1000, 0x2000, 0x3000, 16


def at(tmp_path, place: int, *names: str) -> list[Touched]:
    """Memory at the instruction of that place."""
    code = [bytes.fromhex(CODE[name]) for name in names]
    (tmp_path / "code").write_bytes(bytes(IN_FILE) + b"".join(code))
    registers, offset = [0] * len(NAMES), sum(map(len, code[:place]))
    for name, value in {"cx": RCX, "r12": R12, "bx": RBX, "si": 2, "ip": 0x400000 + offset}.items():
        registers[NAMES.index(name)] = value
    function = Function(IN_FILE, sum(map(len, code)), f"{tmp_path.name} {names}")  # what is decoded is remembered
    return list(touched(str(tmp_path / "code"), function, offset, registers))


def test_memory_is_that_of_the_sampled_instruction_and_of_the_one_before_it(tmp_path, decodes):
    read, written = Touched(RCX, 8, False, False), Touched(RCX, 8, True, False)
    assert at(tmp_path, 1, "load", "add", "jump") == [read]
    assert at(tmp_path, 1, "load", "add", "store", "jump") == [written], "it is written before any jump"
    assert at(tmp_path, 1, "load", "jump", "store") == [read]
    assert at(tmp_path, 1, "chase", "add") == [], "the register of its address is another one by now"
    assert at(tmp_path, 1, "load", "chase", "store") == [read, read], "what is written is somewhere else"
    assert at(tmp_path, 0, "own", "address") == at(tmp_path, 1, "own", "address") == []
    assert at(tmp_path, 0, "exchange") == [Touched(R12, 8, True, True)]
    assert at(tmp_path, 0, "indexed") == [Touched(RBX + 2 * 4 + 8, 4, True, False)]
    (there,) = at(tmp_path, 1, "add", "relative")
    assert there.address == 0x400000 + 4 + 7 + 0x10 and there.writes
    function = Function(0, 8, "no file")
    assert not list(touched(str(tmp_path / "none"), function, 0, [0] * len(NAMES)))


def test_without_the_decoder_the_column_is_absent_with_the_cure_and_the_others_are_there(monkeypatch, opened):
    opened("stacks")
    monkeypatch.setattr(instructions, "find_spec", lambda _: None)
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    status = here(find_layer("stacks"), Path("/"), None)
    assert status.state == "partly" and set(status.why) == {"stacks.lines"}
    assert "pip install 'vgo-agent[ledger]'" in status.why["stacks.lines"]
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    assert "riscv64" in operands_unknown()


def test_what_is_kept_of_a_run_is_read_as_it_was():
    kept = LineSamples(90, (SharedLine("a+0x0 in b", ("f in b", "g in b"), 2, 1, True, False, 40),))
    assert LineSamples.read(kept.text()) == kept
