"""The formats that a run table may have, the first that recognises a file reads it."""

from __future__ import annotations

from ..source import Format
from .delimited import CSV, DESCRIBED_CSV
from .google_benchmark import GOOGLE_BENCHMARK
from .hyperfine import HYPERFINE
from .parquet import PARQUET
from .perf_stat import PERF_STAT
from .pyperf import PYPERF
from .sharp import SHARP
from .vgo import VGO_AGENT

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
