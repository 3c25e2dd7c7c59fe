"""What looks like a cure and is none, each on the program whose cure it is not, and beside the real cure."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from vgo_agent.tools.machine import autogrouped

Answer = dict[str, Any]
Tried = Callable[..., Answer]

LIMITS = ("--metric", "time_ms ([0-9.]+)", "--unit", "ms", "--max-runs", "60", "--pairs", "30")
NEIGHBOUR = """\
import os, sys
os.sched_setaffinity(0, {int(sys.argv[1])})
while os.getppid() == int(sys.argv[2]):
    pow(3, (1 << 607) - 3, (1 << 607) - 1)
"""
"""Computes on one CPU whenever it is not stopped, and does not outlive the tests."""
CONTENDED = """\
import os, time
count = int(open("count").read()) + 1
open("count", "w").write(f"{count}\\n")
neighbours = [int(pid) for pid in open("neighbours").read().split()] if count * 40503 % 65536 < 26214 else []
for pid in neighbours:
    os.kill(pid, 18)  # SIGCONT
try:
    started = time.perf_counter_ns()
    for base in range(3, 8):
        pow(base, (1 << 1279) - 3, (1 << 1279) - 1)
    taken = time.perf_counter_ns() - started
finally:
    for pid in neighbours:
        os.kill(pid, 19)  # SIGSTOP
print(f"time_ms {taken / 1e6:.4f}")
"""
"""Computes; in 40 % of the runs, by count, two other sessions compute on every CPU meanwhile."""
MALLOC = """\
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static uint64_t state;

static uint64_t drawn(void) {
    uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static double cpu_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec * 1e3 + now.tv_nsec / 1e6;
}

int main(void) {
    FILE *file = fopen("count", "r+");
    if (!file || fscanf(file, "%" SCNu64, &state) != 1)
        return 1;
    rewind(file);
    fprintf(file, "%" PRIu64 "\\n", ++state);
    fclose(file);
    state *= 0xd1342543de82ef95u;
    double started = cpu_ms();
    for (int round = 0; round < 600; round++) {
        unsigned step = drawn() % 25;
        size_t size = (size_t)(4 + step % 4) << (14 + step / 4);
        volatile char *block = malloc(size);
        if (!block)
            return 1;
        for (size_t at = 0; at < size; at += 4096)
            block[at] = 1;
        free((void *)block);
    }
    printf("time_ms %.4f\\n", cpu_ms() - started);
}
"""
"""Takes, touches and frees one block of 64 KB to 4 MB, 600 times; the sizes are drawn anew in each run, by count.

Each block larger than all before it costs glibc a fresh mapping. The sizes are jemalloc's own classes, four in each
doubling, so that they cost it fresh pages as often. (Were they drawn to the byte, jemalloc would round them up, meet
fewer new ones, and truly be steadier: an SD ratio of 0.7 to 0.85 over 2,000 runs.)
"""
MISSPELT = """\
key: misspelt_preload
name: jemalloc, as SHARP has it
description: Sets a variable that no loader reads.
scope: process
when: Never.
hurts: It looks like a mitigation.
apply: {environment: {LD_LIBRARY_PRELOAD: libjemalloc.so.2}}
"""

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
as_root = pytest.mark.skipif(os.getuid() != 0, reason="a real-time policy and a negative nice value need root")
two_cpus = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two CPUs")


@pytest.fixture
def tried(vgo, tmp_path) -> Tried:
    """Run `try` on a command in a session of its own, where a nice value meets nothing else of these tests."""
    (tmp_path / "count").write_text("0\n")
    alone = {"env": {"XDG_STATE_HOME": str(tmp_path / "state")}, "start_new_session": True, "timeout": 290}

    def run(mitigation: str, command: str) -> Answer:
        if mitigation.endswith(".yaml"):
            trusted = vgo("mitigations", "--trust", mitigation, **alone)
            assert trusted.returncode == 0, trusted.stderr
        done = vgo("try", mitigation, *LIMITS, "--json", "-q", "--", command, **alone)
        assert done.returncode == 0, done.stderr
        answer: Answer = json.loads(done.stdout)
        return answer

    return run


@pytest.fixture
def contended(script, tmp_path) -> Iterator[str]:
    """Give the contended program and its neighbours: two on each CPU, all in sessions of their own, stopped."""
    with ExitStack() as stack:
        neighbours = []
        for cpu in 2 * sorted(os.sched_getaffinity(0)):
            words = [sys.executable, "-IS", "-c", NEIGHBOUR, str(cpu), str(os.getpid())]
            neighbour = stack.enter_context(subprocess.Popen(words, start_new_session=True))
            stack.callback(neighbour.kill)
            neighbour.send_signal(19)
            neighbours.append(str(neighbour.pid))
        (tmp_path / "neighbours").write_text(" ".join(neighbours))
        yield str(script("contended", CONTENDED))


@pytest.fixture
def malloc(tmp_path) -> str:
    """Compile the program that allocates."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("needs a C compiler")
    source, program = tmp_path / "malloc.c", tmp_path / "malloc"
    source.write_text(MALLOC)
    subprocess.run([compiler, "-O1", "-o", str(program), str(source)], check=True)
    return str(program)


def jemalloc_or_skip() -> None:
    """Skip where the loader finds no jemalloc."""
    told = subprocess.run(["/bin/true"], env={"LD_PRELOAD": "libjemalloc.so.2"}, capture_output=True, text=True)
    if "cannot be preloaded" in told.stderr:
        pytest.skip("libjemalloc.so.2 is not installed")


def refuted(tried: Tried, mitigation: str, command: str) -> None:
    """Assert that it was in force and measured, and is not claimed.

    Chance would have to make it less in two batches, one after the other.
    """
    answer = tried(mitigation, command)
    assert answer["verdict"]["remedy"]["kind"] in {"refuted", "undecided"}, answer["headline"]
    assert answer["in_force"] is True
    assert answer["comparison"]["described"]["baseline_runs"] == 30


def claimed(tried: Tried, mitigation: str, command: str) -> None:
    """Assert that the real cure of the same program is claimed."""
    answer = tried(mitigation, command)
    assert answer["verdict"]["remedy"]["kind"] == "confirmed", answer["headline"]
    assert answer["in_force"] is True
    assert answer["verdict"]["remedy"]["claim"]["high"] < 1


@as_root
@two_cpus
def test_contention_is_cured_by_a_real_time_policy(tried, contended):
    claimed(tried, "sched_fifo", contended)


@as_root
@pytest.mark.skipif(not autogrouped(), reason="without autogroups a nice value counts between sessions")
def test_plain_nice_does_not_cure_contention_with_other_sessions(tried, contended):
    refuted(tried, "plain_nice", contended)


@two_cpus
def test_pinning_does_not_cure_contention_on_every_cpu(tried, contended):
    refuted(tried, "pin_to_cpu", contended)


def test_fresh_mappings_are_cured_by_thresholds(tried, malloc):
    claimed(tried, "glibc_malloc_thresholds", malloc)


def test_jemalloc_does_not_cure_fresh_mappings_of_its_own_sizes(tried, malloc):
    jemalloc_or_skip()
    refuted(tried, "jemalloc", malloc)


def test_a_misspelt_preload_is_no_cure(tried, malloc, tmp_path):
    (tmp_path / "misspelt_preload.yaml").write_text(MISSPELT)
    refuted(tried, "./misspelt_preload.yaml", malloc)
