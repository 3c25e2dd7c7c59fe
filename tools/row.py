"""One row of a run table, and how rows are written, before a table library is needed."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]
BASELINE = "baseline"
RUNS = "runs.csv"
"""Artefact of a measuring call: its table."""
FIXED = ("order", "condition", "pair", "ok", "exit_code", "survivors", "outcome", "wall_s", "layers", "failure")
"""order: 0 upwards within its table; pair: -1 outside pairs; ok: 0 where the run failed and does not count;
survivors: processes that the run left behind, which were ended; layers: keys of those that were on, joined by +,
the outermost first, empty for a bare run; failure: why the run does not count, in a few words, empty where it does."""
TEXTS = ("condition", "layers", "failure")
"""Those that are no numbers."""
REQUIRED = tuple(name for name in FIXED if name not in ("layers", "failure"))
"""Those that the tables of older versions have too."""


def rows_csv(rows: Iterable[Row], names: Sequence[str]) -> bytes:
    """Render these columns as CSV; floats keep all their digits, a cell that is missing or NaN is empty."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    for row in rows:
        cells = (row.get(name) for name in names)
        writer.writerow("" if cell != cell else cell for cell in cells)
    return text.getvalue().encode()
