"""MPI per rank: two real ranks of a C program, and a report of mpiP."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vgo_agent.layers.launcher import open_launcher
from vgo_agent.layers.loader import find_layer, open_probe
from vgo_agent.layers.probes.base import Probe
from vgo_agent.layers.probes.mpi import RankReport, figures, read_report
from vgo_agent.tools.execution.bench import Bench
from vgo_agent.tools.execution.launch import Launch
from vgo_agent.tools.execution.spawn import Spawner
from vgo_agent.tools.execution.way import Ways
from vgo_agent.tools.mitigation.kernel_file import cpu_list
from vgo_agent.tools.subject import Subject

# Rank 1 works twenty times as long as rank 0, which waits for it; with an argument, rank 1 dies.
PROGRAM = r"""
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
int main(int argc, char **argv) {
    int rank, sum = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc > 1 && rank == 1) raise(SIGKILL);
    double until = MPI_Wtime() + (rank == 1 ? 0.2 : 0.01);
    while (MPI_Wtime() < until) ;
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return sum != 1;
}
"""
# In the form that mpiP 3.5 documents; the numbers are made up.
MPIP_REPORT = """\
@ mpiP
@ Command : ./ring
@ Version                  : 3.5.0
@ MPI Task Assignment      : 0 node1
@ MPI Task Assignment      : 1 node2

---------------------------------------------------------------------------
@--- MPI Time (seconds) ---------------------------------------------------
---------------------------------------------------------------------------
Task    AppTime    MPITime     MPI%
   0      0.204      0.203    99.51
   1      0.204   0.000108     0.05
   *      0.408      0.203    49.78
---------------------------------------------------------------------------
@--- Callsites: 2 ---------------------------------------------------------
---------------------------------------------------------------------------
 ID Lev File/Address        Line Parent_Funct             MPI_Call
  1   0 ring.c                 8 main                     Barrier
  2   0 ring.c                 9 main                     Allreduce
---------------------------------------------------------------------------
@--- Aggregate Time (top twenty, descending, milliseconds) ----------------
---------------------------------------------------------------------------
Call                 Site       Time    App%    MPI%      Count    COV
Barrier                 1        203   49.75   99.95          2   1.41
@--- End of Report --------------------------------------------------------
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not (shutil.which("mpicc") and shutil.which("mpirun")):
        pytest.skip("needs mpicc and mpirun: apt install libopenmpi-dev openmpi-bin")
    folder = tmp_path_factory.mktemp("mpi")
    (folder / "two.c").write_text(PROGRAM)
    subprocess.run(["mpicc", "-O1", "-o", str(folder / "two"), str(folder / "two.c")], check=True)
    return folder / "two"


@pytest.fixture
def probe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Probe]]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    opened: list[Probe] = []

    def open_it(spec: str = "mpi") -> Probe:
        opened.append(open_probe(find_layer(spec)))
        return opened[-1]

    yield open_it
    for one in opened:
        one.close()


def test_the_rank_that_works_longer_is_seen_and_the_other_waits(
    program: Path, spawner: Spawner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    subject = Subject(command=(str(program),), argv=(str(program),), directory=str(tmp_path))
    launch = Launch((str(program),), directory=tmp_path, environment=dict(os.environ))
    bench = Bench(subject, spawner, tmp_path / "partial", launch, launcher=open_launcher("mpirun:ranks=2"))
    try:
        with bench.series("c001", ("mpi",)) as series:
            series.run("baseline", launch)
        row = series.rows[0]
    finally:
        bench.close()
    assert row["host"] == os.uname().nodename
    assert (row["mpi.0.calls"], row["mpi.1.calls"]) == (2, 2)
    assert row["mpi.1.own_s"] >= 0.2
    assert (row["mpi.slowest"], row["mpi.least_waiting"]) == ("1", "1")
    assert row["mpi.slowest_host"] == row["mpi.0.host"] == row["mpi.1.host"] == os.uname().nodename
    assert (row["mpi.0.local"], row["mpi.1.local"]) == (0, 1)
    assert 0 < row["mpi.1.cpu_s"] <= row["mpi.1.own_s"] + 0.01
    assert int(row["mpi.1.cpu"]) in cpu_list(row["mpi.1.cpus"])
    assert row["mpi.1.preemptions"] >= 0
    assert row["mpi.0.share"] > row["mpi.1.share"]
    assert 0 < row["mpi.imbalance"] <= 100
    assert all(bench.layer("mpi").column(name) for name in row if name.startswith("mpi."))


def test_ranks_that_died_leave_the_run_and_no_cells(
    program: Path, spawner: Spawner, probe: Callable[[], Probe]
) -> None:
    opened = probe()
    layer = find_layer("mpi")
    ways = Ways(open_launcher("mpirun:ranks=2"), lambda _: (layer, opened))
    died = ways.of(Launch((str(program), "die"), environment=dict(os.environ)), ("mpi",))
    run = spawner.run(died.launch, died.probes)
    assert run.exit_code == 137
    assert not any(name.startswith("mpi.1.") for name in run.counters)


def test_a_program_without_mpi_has_its_columns_absent_with_the_reason(
    program: Path, spawner: Spawner, probe: Callable[[], Probe]
) -> None:
    opened = probe()
    way = Ways(find=lambda _: (find_layer("mpi"), opened)).of(Launch(("/bin/true",)), ("mpi",))
    assert opened.absent() == {}
    assert spawner.run(way.launch, way.probes).exit_code == 0
    assert "no MPI program" in opened.absent()["mpi.imbalance"]


def test_without_a_compiler_the_cure_is_named(probe: Callable[[], Probe], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert "apt install libopenmpi-dev" in probe().absent()["mpi.*.time_s"]


def test_a_library_that_is_not_there_is_named(probe: Callable[[str], Probe]) -> None:
    assert "there is no library /nowhere/libmpiP.so" in probe("mpi:library=/nowhere/libmpiP.so").absent()["mpi.share"]


def test_what_the_user_loads_stays_loaded(program: Path, spawner: Spawner, probe: Callable[[], Probe]) -> None:
    opened = probe()
    launch = Launch(("/usr/bin/env",), environment={"LD_PRELOAD": "libm.so.6", "MPIP": "-k 2"})
    way = Ways(find=lambda _: (find_layer("mpi"), opened)).of(launch, ("mpi",))
    said = spawner.run(way.launch, way.probes, capture=True).output.decode()
    lines = dict(line.split("=", 1) for line in said.splitlines())
    assert lines["LD_PRELOAD"].endswith(".so:libm.so.6")
    assert lines["MPIP"].startswith("-k 2 -f ")


def test_a_report_of_mpip_gives_the_same_columns() -> None:
    ranks = read_report(MPIP_REPORT)
    assert ranks == [RankReport(0, 0.204, 0.203), RankReport(1, 0.204, 0.000108)]
    found = figures(ranks)
    assert (found["mpi.slowest"], found["mpi.least_waiting"]) == ("1", "1")
    assert found["mpi.0.share"] == pytest.approx(99.51, abs=0.01)
    assert found["mpi.share"] == pytest.approx(49.78, abs=0.01)
    assert found["mpi.imbalance"] == pytest.approx(99.0, abs=0.1)
    assert read_report("") == read_report("mpiP: nothing") == []


@given(st.lists(st.tuples(st.floats(0.1, 10), st.floats(0, 1)), min_size=1, max_size=6), st.floats(0.1, 10))
@settings(deadline=None, derandomize=True)
def test_shares_and_imbalance_do_not_depend_on_the_unit_of_time(
    ranks: list[tuple[float, float]], factor: float
) -> None:
    def of(scale: float) -> dict[str, float]:
        found = figures([RankReport(at, scale * all_s, scale * all_s * part) for at, (all_s, part) in enumerate(ranks)])
        return {name: value for name, value in found.items() if isinstance(value, float)}

    once, scaled = of(1.0), of(factor)
    for name in [name for name in once if not name.endswith("_s")]:
        assert scaled[name] == pytest.approx(once[name], rel=1e-6, abs=1e-6)
        assert once[name] >= -1e-9


def test_one_rank_alone_is_neither_slowest_nor_least_waiting() -> None:
    assert "mpi.slowest" not in figures([RankReport(0, 2.0, 1.0)])


def test_what_a_kernel_does_not_show_gives_no_cell() -> None:
    found = figures(read_report("0 2.0 0.5 7 1.25 -1 3 4 -1 -1 - -\n"))
    assert found["mpi.0.cpu_s"] == 1.25
    assert not {"mpi.0.migrations", "mpi.0.local", "mpi.0.cpu", "mpi.0.cpus", "mpi.0.host"} & set(found)


def test_ranks_that_work_alike_are_in_balance() -> None:
    assert figures([RankReport(0, 2.0, 1.0), RankReport(1, 3.0, 2.0)])["mpi.imbalance"] == pytest.approx(0)
