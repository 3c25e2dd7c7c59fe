"""Read a recorded run table, whatever its format."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from ...knowledge.errors import VgoError
from .columns import countable_only
from .formats.delimited import CSV, DESCRIBED_CSV
from .formats.google_benchmark import GOOGLE_BENCHMARK
from .formats.hyperfine import HYPERFINE, is_json, refuse_broken
from .formats.parquet import PARQUET, files_in, read_folder
from .formats.perf_stat import PERF_STAT
from .formats.pyperf import PYPERF
from .formats.sharp import SHARP
from .formats.vgo import VGO_AGENT, counted
from .mapping import Meanings, meant
from .recorded import RecordedRuns
from .source import Format, TableSource, open_source

FORMATS: tuple[Format, ...] = (
    PARQUET,
    DESCRIBED_CSV,
    PERF_STAT,
    GOOGLE_BENCHMARK,
    PYPERF,
    HYPERFINE,
    SHARP,
    VGO_AGENT,
    CSV,
)
"""The first that recognises a file reads it."""


def read(path: Path, leave_out: Collection[str] = (), mapping: Meanings | None = None) -> RecordedRuns:
    """Read a file, a run folder or a folder of Parquet files; the format is told by what is in it.

    `leave_out` names columns that need not be read; `mapping` says what columns are called and mean. At 1,000,000 runs
    x 200 columns (1.6 GB of numbers) the process peaks at 2.2 GB from CSV and 1.8 GB from Parquet. Raises VgoError for
    whatever cannot be read.
    """
    leave_out = mapping.in_file(leave_out) if mapping else leave_out
    recorded = read_folder(path, leave_out) if files_in(path) else _read_file(path, leave_out, mapping)
    return countable_only(meant(recorded, mapping) if mapping else recorded)


def _read_file(path: Path, leave_out: Collection[str], mapping: Meanings | None) -> RecordedRuns:
    source = open_source(path, mapping.texts if mapping else frozenset(), leave_out)
    form = next((form for form in FORMATS if form.recognises(source)), None)
    if form is None:
        raise _unknown(source)
    recorded = counted(form.read(source))
    if recorded.frame.is_empty():
        raise VgoError(f"{source.given} holds no runs: record some, or name another file.")
    left = [name for name in leave_out if name in recorded.frame.columns]
    return replace(recorded, frame=recorded.frame.drop(left), left_out=(*recorded.left_out, *left))


def _unknown(source: TableSource) -> VgoError:
    if is_json(source):
        refuse_broken(source)
        return VgoError(
            f"{source.given} is JSON, but not of pyperf, hyperfine, Google Benchmark or perf stat: "
            "export the runs as CSV, one row a run."
        )
    return VgoError(f"{source.given} is no run table: give CSV with a header line, one row a run.")
