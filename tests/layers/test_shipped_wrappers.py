"""The layers that need no code of their own, each with a real program."""

import os
import shutil
import subprocess

import pytest

from vgo_agent.layers.loader import find_layer, open_probe
from vgo_agent.layers.probes.base import SpawnCommand
from vgo_agent.tools.execution.launch import Launch
from vgo_agent.tools.execution.spawn import Spawner

UNEVEN = """\
#include <omp.h>
#include <stdlib.h>
#include <time.h>
static void spend(double seconds) {
    struct timespec spent;
    do clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
    while (spent.tv_sec + spent.tv_nsec * 1e-9 < seconds);
}
int main(int words, char **word) {
    double lasts = atof(word[1]), first = atof(word[2]);
    #pragma omp parallel num_threads(2)
    spend(omp_get_thread_num() == 0 ? first : lasts);
    return 0;
}
"""
TEAMS = """\
#include <stdio.h>
int main(void) {
    int threads = 0;
    #pragma omp parallel reduction(+:threads)
    threads += 1;
    printf("threads: %d\\n", threads);
    return 0;
}
"""
two_cpus = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="two places need two CPUs")


def ran(name, argv, **environment):
    """Run once through the layer; return its cells and what is absent after it."""
    layer = find_layer(name)
    probe = open_probe(layer)
    try:
        command = probe.wrap(SpawnCommand(tuple(map(str, argv)), {**os.environ, **environment}))
        with Spawner() as spawner:
            run = spawner.run(Launch(command.argv, environment=command.environment), [probe], timeout_s=60)
        assert run.exit_code == 0, run.error
        return {column: value for column, value in run.counters.items() if layer.column(column)}, probe.absent()
    finally:
        probe.close()


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    if shutil.which("gcc") is None:
        pytest.skip("apt install gcc")
    folder = tmp_path_factory.mktemp("openmp")

    def compile_(name, text):
        source = folder / f"{name}.c"
        source.write_text(text)
        subprocess.run(["gcc", "-O1", "-fopenmp", source, "-o", folder / name], check=True)
        return folder / name

    return compile_


@pytest.fixture(scope="module")
def teams(compiled):
    return compiled("teams", TEAMS)


def test_bintime_tells_what_the_program_used():
    if shutil.which("time") is None:
        pytest.skip("apt install time")
    few, absent = ran("bintime", ["/bin/true"])
    many, _ = ran("bintime", ["/usr/bin/python3", "-IS", "-c", "b = bytearray(64 << 20)"])
    assert absent == {}
    assert few.keys() == {column.name for column in find_layer("bintime").columns}
    assert many["bintime.max_rss_kb"] > few["bintime.max_rss_kb"] + (60 << 10)


def test_openmp_tells_threads_that_are_not_bound(teams):
    cells, _ = ran("openmp", [teams], OMP_NUM_THREADS="3", OMP_WAIT_POLICY="active", OMP_SCHEDULE="guided,4")
    assert cells["omp.threads"] == 3
    assert cells["omp.wait_policy"] == "ACTIVE"
    assert cells["omp.proc_bind"] == "FALSE"
    assert cells["omp.schedule"].startswith("GUIDED")
    if len(os.sched_getaffinity(0)) > 1:
        assert (cells["omp.distinct_places"], cells["omp.bound_threads"], cells["omp.unbound_threads"]) == (1, 0, 3)


@two_cpus
def test_openmp_tells_threads_that_are_bound(teams):
    first, second = sorted(os.sched_getaffinity(0))[:2]
    places = f"{{{first}}},{{{second}}}"
    cells, _ = ran("openmp", [teams], OMP_NUM_THREADS="2", OMP_PROC_BIND="close", OMP_PLACES=places)
    assert (cells["omp.distinct_places"], cells["omp.bound_threads"], cells["omp.unbound_threads"]) == (2, 2, 0)
    assert cells["omp.proc_bind"] == "CLOSE"
    assert str(first) in cells["omp.places"]


@two_cpus
def test_openmp_tells_threads_that_do_not_work_evenly(compiled):
    program = compiled("uneven", UNEVEN)
    even, absent = ran("openmp", [program, "0.6", "0.6"], OMP_WAIT_POLICY="passive")
    uneven, _ = ran("openmp", [program, "0.6", "0.02"], OMP_WAIT_POLICY="passive")
    assert "omp.cpu_imbalance" not in absent
    assert 0 <= even["omp.cpu_imbalance"] < uneven["omp.cpu_imbalance"] <= 100
    assert uneven["omp.cpu_imbalance"] > 50
    assert even["omp.longest_wait_ms"] >= 0


def test_a_program_without_openmp_leaves_the_layer_absent():
    cells, absent = ran("openmp", ["/bin/true"])
    assert cells == {}
    assert absent.keys() >= {"omp.threads", "omp.wait_policy"}
    why = absent["omp.threads"]
    assert "found nothing for it in the standard error of 1 run: see whether the program" in why


def test_numbers_that_the_program_prints_become_columns(teams):
    said = (
        "Cache misses: 1,234\\nretries = 3\\nhit-rate: 97.5 %\\nsetup time: 1.5 ms\\nTotal: 2 s\\nhost: node7\\nx 3\\n"
    )
    cells, _ = ran("program", ["/bin/sh", "-c", f"printf '{said.replace('%', '%%')}'"])
    assert cells == {
        "printed.Cache_misses": 1234,
        "printed.retries": 3,
        "printed.hit-rate": 97.5,
        "printed_time.setup_time": 1.5,
        "printed_time.Total": 2,
    }
    assert ran("program", [teams], OMP_NUM_THREADS="2")[0] == {"printed.threads": 2}
