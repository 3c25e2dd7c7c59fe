"""What is known of all rows of a table of which only a sample is analysed: streamed through DuckDB."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ...knowledge.errors import VgoError
from ..statistics.values import FiniteResult

QUANTILES = (0.5, 0.95, 0.99)


@dataclass(frozen=True)
class RecordedFiles:
    """The files, and how many rows they hold."""

    files: tuple[Path, ...]
    rows: int


class AllRows(FiniteResult):
    """One column over all rows."""

    column: str
    rows: int
    """With a finite value."""
    mean: float
    sd: float
    low: float
    high: float
    """Exact up to rounding, in one pass (Welford)."""
    p50: float
    p95: float
    p99: float
    """By a t-digest (Dunning and Ertl 2019): close at the ends, not exact."""


def all_rows(whole: RecordedFiles, column: str) -> AllRows:
    """Stream one column; raise VgoError without DuckDB, or where the column holds no numbers."""
    try:
        import duckdb
    except ImportError as error:
        raise VgoError("All rows are streamed through DuckDB: pip install 'vgo-agent[cluster]'.") from error
    quoted = '"' + column.replace('"', '""') + '"'
    quantiles = ", ".join(f"approx_quantile(x, {share})" for share in QUANTILES)
    query = (
        f"select count(*), avg(x), stddev_samp(x), min(x), max(x), {quantiles} from (select {quoted}::double as x "
        "from read_parquet($files, hive_partitioning = true, union_by_name = true)) where isfinite(x)"
    )
    try:
        found = duckdb.execute(query, {"files": [str(path) for path in whole.files]}).fetchone()
    except duckdb.Error as error:
        reason = str(error).splitlines()[0]
        raise VgoError(f"{column} cannot be streamed ({reason}): name a column of numbers.") from error
    if found is None or found[0] < 2:
        raise VgoError(f"{column} has fewer than two finite values: name another column.")
    return AllRows(
        column=column,
        rows=found[0],
        mean=found[1],
        sd=found[2],
        low=found[3],
        high=found[4],
        p50=found[5],
        p95=found[6],
        p99=found[7],
    )
