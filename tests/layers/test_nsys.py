"""The layer `nsys` runs the program under nsys and reads its tables; here a script stands in for nsys.

The tables have the form that the Post-Collection Analysis Guide of Nsight Systems gives for `cuda_api_sum`,
`cuda_gpu_kern_sum` and `cuda_gpu_mem_time_sum`, with the headers that versions 2023 and later print; the numbers are
made up. No recording of a real run was at hand.
"""

import os

import pytest

from vgo_agent.layers.loader import find_layer, open_probe
from vgo_agent.layers.probes.base import SpawnCommand
from vgo_agent.tools.execution.launch import Launch
from vgo_agent.tools.execution.spawn import Spawner

KERNELS = """\
Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name
75.0,3000000,100,30000.0,30000.0,29000,41000,900.5,"void gemm<float, 128>(float *, int, int)"
25.0,1000000,50,20000.0,20000.0,19000,21000,300.1,"add(float *, float *)"
"""
COPIES = """\
Time (%),Total Time (ns),Count,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Operation
80.0,800000,4,200000.0,200000.0,100000,300000,1000.0,[CUDA memcpy Host-to-Device]
15.0,150000,2,75000.0,75000.0,70000,80000,5000.0,[CUDA memcpy Device-to-Host]
5.0,50000,1,50000.0,50000.0,50000,50000,0.0,[CUDA memset]
"""
CALLS = """\
Time (%),Total Time (ns),Num Calls,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name
60.0,90000000,3,30000000.0,1000.0,900,89990000,1.0,cudaFree
20.0,30000000,2,15000000.0,15000000.0,1,2,1.0,cuModuleLoadData
10.0,2500000,150,16666.0,16000.0,1,2,1.0,cudaLaunchKernel
5.0,500000,10,50000.0,50000.0,1,2,1.0,cudaGraphLaunch_v10000
3.0,4000000,5,800000.0,1.0,1,2,1.0,cudaDeviceSynchronize
2.0,1000000,1,1000000.0,1.0,1,2,1.0,cuInit
"""
STAND_IN = """\
#!/bin/sh
echo "$@" >> {folder}/asked
if [ $1 = profile ]; then
    shift
    while [ "${{1#--}}" != "$1" ]; do
        [ $1 = --output ] && {{ out=$2; shift; }}
        shift
    done
    "$@"; code=$?
    [ -e {folder}/blind ] || echo recorded > $out
    exit $code
fi
[ -e {folder}/failing ] && {{ echo "ERROR: Report could not be found." >&2; exit 1; }}
cat {folder}/tables
"""


@pytest.fixture
def nsys(tmp_path, monkeypatch):
    """Put a script called nsys on PATH; what it says is in the file `tables`."""
    script = tmp_path / "nsys"
    script.write_text(STAND_IN.format(folder=tmp_path))
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    (tmp_path / "tables").write_text(f"{KERNELS}\n{COPIES}\n{CALLS}\n")
    return tmp_path


@pytest.fixture
def probe():
    opened = []

    def make():
        opened.append(open_probe(find_layer("nsys")))
        return opened[-1]

    yield make
    for one in opened:
        one.close()


def run(probe, script="true"):
    """Run a shell script under what the probe makes of it; return its columns, and the run."""
    command = probe.wrap(SpawnCommand(("/bin/sh", "-c", script), dict(os.environ)))
    with Spawner() as spawner:
        found = spawner.run(Launch(command.argv, command.environment), [probe])
    return {name: value for name, value in found.counters.items() if name.startswith("cuda.")}, found


def test_kernels_copies_and_calls_are_read_from_the_three_tables(nsys, probe):
    opened = probe()
    given, _ = run(opened)
    assert given == {
        "cuda.kernels": 150,
        "cuda.kernel_ms": 4.0,
        "cuda.copies": 7,
        "cuda.copy_ms": 1.0,
        "cuda.memcpy_Host-to-Device.ms": 0.8,
        "cuda.memcpy_Device-to-Host.ms": 0.15,
        "cuda.memset.ms": 0.05,
        "cuda.api_ms": 128.0,
        # cuInit and cuModuleLoadData, and of cudaFree the call that made the context.
        "cuda.init_ms": pytest.approx(1 + 30 + 89.99),
        "cuda.launches": 160,
        "cuda.launch_ms": 3.0,
        "cuda.wait_ms": 4.0,
    }
    assert opened.absent() == {}


def test_the_program_runs_as_it_would_without_nsys(nsys, probe):
    _, found = run(probe(), "exit 3")
    assert found.exit_code == 3
    profile, stats = (nsys / "asked").read_text().splitlines()
    assert "--trace=cuda" in profile and profile.endswith("/bin/sh -c exit 3")
    assert stats.startswith("stats --quiet") and "--format csv" in stats


def test_a_program_without_cuda_has_no_columns_and_the_reason(nsys, probe):
    (nsys / "tables").write_text("SKIPPED: run.sqlite does not contain CUDA kernel data.\n\n")
    opened = probe()
    given, _ = run(opened)
    assert given == {}
    assert "no CUDA call" in opened.absent()["cuda.kernels"]


def test_a_table_that_is_missing_leaves_the_others(nsys, probe):
    (nsys / "tables").write_text(f"SKIPPED: no kernel data.\n\n{CALLS}")
    given, _ = run(probe())
    assert "cuda.kernels" not in given and given["cuda.launches"] == 160


@pytest.mark.parametrize(
    ("file", "reason"), [("failing", "Report could not be found"), ("blind", "made no recording of the last run")]
)
def test_nsys_that_fails_leaves_the_run_and_says_why(nsys, probe, file, reason):
    opened = probe()
    run(opened)
    (nsys / file).touch()
    given, found = run(opened)
    assert (given, found.exit_code) == ({}, 0)
    assert reason in opened.absent()["cuda.kernels"]
    (nsys / file).unlink()
    assert run(opened)[0]["cuda.kernels"] == 150
    assert opened.absent() == {}


def test_without_nsys_the_program_runs_bare_and_every_column_is_absent_with_the_cure(probe, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    opened = probe()
    command = SpawnCommand(("/bin/true",), {})
    assert opened.wrap(command) is command
    assert set(opened.absent()) == {column.name for column in find_layer("nsys").columns}
    assert all("nsys is not installed: install nsight-systems" in reason for reason in opened.absent().values())
