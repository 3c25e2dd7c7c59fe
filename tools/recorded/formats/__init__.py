"""The formats that a run table may have, the first that recognises a file reads it."""

from __future__ import annotations

from .base import Format
from .delimited import CSV
from .hyperfine import HYPERFINE
from .parquet import PARQUET
from .pyperf import PYPERF
from .sharp import SHARP
from .vgo import VGO_AGENT

FORMATS: tuple[Format, ...] = (PARQUET, PYPERF, HYPERFINE, VGO_AGENT, SHARP, CSV)
