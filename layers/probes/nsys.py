"""The probe of the layer `nsys`: runs the program under Nsight Systems, and reads its statistics after the run."""

from __future__ import annotations

import csv
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ..schema import Layer, Value
from ..wrapper import own_folder
from .base import LayerProbe, SpawnCommand
from .sysfs import name_of

LIMIT_S = 300
"""nsys makes a database of its recording first, which takes the longer the more the program did."""
REPORTS = ("cuda_gpu_kern_sum", "cuda_gpu_mem_time_sum", "cuda_api_sum")
KERNELS, COPIES, CALLS = "Instances", "Count", "Num Calls"
"""By which the three tables are told apart: how each calls the number of times."""
TOTAL, LONGEST = "Total Time (ns)", "Max (ns)"
INIT = re.compile(r"cuInit|cuModuleLoad|cuLibraryLoad|cuCtxCreate|cuDevicePrimaryCtxRetain")
FREE = re.compile(r"cudaFree(_v\d+)?$")
"""A program often begins with cudaFree(0), which makes the context: its longest call counts as that."""
LAUNCH = re.compile(r"cu(da)?(Graph)?Launch")
WAIT = re.compile(r"cu(da)?\w*Synchronize")
OPERATION = re.compile(r"\[CUDA (.+)\]")
Row = Mapping[str, str]


class NsysProbe(LayerProbe):
    """Wraps the program; the statistics are made between runs, outside the time of any."""

    prints = True

    def __init__(self, layer: Layer, root: Path) -> None:
        """Find nsys; without it every column is absent."""
        super().__init__(layer)
        self._cure = layer.cure
        self._program = shutil.which("nsys") or ""
        self._trace = str(layer.parameters.get("trace", "cuda"))
        self._recording = Path(self._closing.enter_context(own_folder("nsys"))) / "run.nsys-rep"
        if not self._program:
            self._lack(f"nsys is not installed: {layer.cure}")

    def wrap(self, command: SpawnCommand) -> SpawnCommand:
        """Let nsys start the program; it samples no CPU, which would cost more."""
        if not self._program:
            return command
        options = ("--sample=none", "--cpuctxsw=none", f"--trace={self._trace}", "--force-overwrite=true")
        profile = (self._program, "profile", *options, "--output", str(self._recording), *command.argv)
        return SpawnCommand(profile, command.environment)

    def before(self) -> None:
        """Remove the recording of the run before, so that a run without one has no columns."""
        self._recording.unlink(missing_ok=True)

    def values(self) -> dict[str, Value]:
        if not self._program:
            return {}
        found, why_none = {}, f"nsys made no recording of the last run: {self._cure}"
        if self._recording.exists():
            said, why_none = statistics_of(self._program, self._recording)
            found = columns_of(list(rows(said)))
        self._lack(why_none)
        return self._declared(found)


def statistics_of(program: str, recording: Path) -> tuple[str, str]:
    """Return the tables of a recording as CSV, and where there are none why and the cure."""
    reports = [word for report in REPORTS for word in ("--report", report)]
    argv = [program, "stats", "--quiet", "--force-export=true", "--format", "csv", *reports, str(recording)]
    try:
        done = subprocess.run(argv, capture_output=True, text=True, errors="replace", timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        return "", f"nsys stats took longer than {LIMIT_S} s: record a shorter run"
    if done.returncode != 0:
        last = (done.stderr.strip() or done.stdout.strip() or "it said nothing").splitlines()[-1]
        return "", f"nsys stats failed ({last[:120]}): it takes nsys 2023.1 or later"
    if not any(rows(done.stdout)):
        return "", "nsys saw no CUDA call in the program: measure one that uses CUDA, or leave the layer out"
    return done.stdout, ""


def rows(said: str) -> Iterator[Row]:
    """Read CSV tables that follow each other: each begins with a header that has a total time."""
    header: Sequence[str] = ()
    for cells in csv.reader(said.splitlines()):
        if TOTAL in cells:
            header = cells
        elif header and len(cells) == len(header):
            yield dict(zip(header, cells, strict=True))
        else:
            header = ()  # A blank line, or a note that a report was skipped.


def columns_of(table: Sequence[Row]) -> dict[str, Value]:
    """Sum the rows up; no column where the program did nothing with CUDA."""
    kernels, copies, calls = ([row for row in table if kind in row] for kind in (KERNELS, COPIES, CALLS))
    values: dict[str, Value] = {}
    if kernels:
        values |= {"cuda.kernels": total(kernels, KERNELS), "cuda.kernel_ms": total(kernels, TOTAL) / 1e6}
    if copies:
        values |= {"cuda.copies": total(copies, COPIES), "cuda.copy_ms": total(copies, TOTAL) / 1e6}
        for row in copies:
            # [CUDA memcpy Host-to-Device] or, in older versions, [CUDA memcpy HtoD].
            if operation := OPERATION.search(row.get("Operation", "")):
                values[f"cuda.{name_of(operation.group(1))}.ms"] = float(row[TOTAL]) / 1e6
    if calls:
        first = [row for row in calls if INIT.match(row["Name"])]
        frees = [row for row in calls if FREE.match(row["Name"])]
        launches = [row for row in calls if LAUNCH.match(row["Name"])]
        waits = [row for row in calls if WAIT.match(row["Name"])]
        values |= {
            "cuda.api_ms": total(calls, TOTAL) / 1e6,
            "cuda.init_ms": (total(first, TOTAL) + total(frees, LONGEST)) / 1e6,
            "cuda.launches": total(launches, CALLS),
            "cuda.launch_ms": total(launches, TOTAL) / 1e6,
            "cuda.wait_ms": total(waits, TOTAL) / 1e6,
        }
    return values


def total(table: Sequence[Row], column: str) -> float:
    """Add a column up."""
    return sum(float(row[column]) for row in table)
