"""A run table that somebody recorded: how its file opens, what the user asks of it, what the statistics see of it."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from io import BufferedReader
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...knowledge.errors import VgoError
from ...knowledge.files import regular
from ..statistics.values import FloatArray, IntArray

if TYPE_CHECKING:
    import polars as pl


NO_ORDER = "none"
HEAD = 1 << 20
"""Bytes that are looked at to tell the format; the header of 10,000 columns fits in."""
_PACKED = {
    b"PK\x03\x04": "a zip archive (or a spreadsheet)",
    b"\xfd7zXZ": "compressed by xz",
    b"BZh": "compressed by bzip2",
    b"\x28\xb5\x2f\xfd": "compressed by zstd",
    b"SQLite format 3": "an SQLite database",
    b"\x89HDF": "an HDF5 file",
    b"ARROW1": "an Arrow file",
}
_KNOWN = (
    "give CSV, TSV, CSV.gz, Parquet, a SHARP log, JSON of pyperf, hyperfine, Google Benchmark or perf stat, "
    "or a run folder of vgo-agent"
)


@dataclass(frozen=True)
class RecordedFiles:
    """The files, and how many rows they hold."""

    files: tuple[Path, ...]
    rows: int


@dataclass(frozen=True, kw_only=True)
class ColumnTraits:
    """What is known of the columns of a table, by their names."""

    units: Mapping[str, str] = field(default_factory=dict)
    roles: Mapping[str, str] = field(default_factory=dict)
    """`outcome`, `factor`, `consequence`, `setting`, `order` or `id`, where the format knows."""
    levels: frozenset[str] = frozenset()
    """Columns that do not add up over a run, so that dividing them by its time, the outcome, says nothing."""
    rates: frozenset[str] = frozenset()
    """As `layers.schema.Column.rate`: multiplied by the outcome instead."""
    most_us: Mapping[str, float] = field(default_factory=dict)
    """As `layers.schema.Column.most_us`."""


@dataclass(frozen=True)
class RecordedRuns(ColumnTraits):
    """One row a run, in the order of the file."""

    frame: pl.DataFrame
    """The values as they stand in the file."""
    source: str
    """The path as the user gave it."""
    format: str
    outcome: str | None = None
    """The column that this format means as outcome; None: the user must name it."""
    lower_is_better: Mapping[str, bool] = field(default_factory=dict)
    descriptions: Mapping[str, str] = field(default_factory=dict)
    system: Mapping[str, str] = field(default_factory=dict)
    """The system under test and the options of the runs, flat; {} if unknown."""
    usual: Mapping[str, str] = field(default_factory=dict)
    """Column to value: the rows to look at unless the user groups by the column (the baseline of a diagnosis)."""
    group: tuple[str, ...] = ()
    """Columns whose combinations are looked at one by one unless the user says otherwise: benchmarks of one file."""
    left_out: tuple[str, ...] = ()
    """Columns that were not read, as asked for."""
    beyond: Mapping[str, float] = field(default_factory=dict)
    """Column to a number that was left out of it, too large or too small to compute with."""
    notes: tuple[str, ...] = ()
    """What was understood or dropped while reading."""
    whole: RecordedFiles | None = None
    """Where `frame` is a sample: what it was drawn from."""


@dataclass(frozen=True)
class ColumnOptions:
    """What the user asks for; None and () leave it to the table."""

    outcome: str | None = None
    lower_is_better: bool | None = None
    group: tuple[str, ...] = ()
    """Columns whose combinations are looked at one by one."""
    settings: tuple[str, ...] = ()
    """Columns that were varied on purpose."""
    exclude: tuple[str, ...] = ()
    levels: tuple[str, ...] = ()
    """Columns that do not add up over a run."""
    order: str | None = None
    """The column that gives the order of the runs; `none`: their order means nothing."""


@dataclass(frozen=True)
class Observations(ColumnTraits):
    """Outcomes and columns of one group of runs, all finite, in run order; `levels` holds the settings too."""

    outcome_name: str
    unit: str
    lower_is_better: bool
    outcome: FloatArray
    """Shape (runs,)."""
    names: tuple[str, ...]
    values: FloatArray
    """Shape (runs, columns), Fortran order; no column is constant; text settings are indicators named `host=a`."""
    rows: IntArray
    """Shape (runs,): the row of `Recorded.frame` that each run stands in."""
    ordered: bool
    """False where the order of the runs is unknown or means nothing."""
    assumed: bool = False
    """Nobody said what the order is: that of the file was taken."""
    runs: IntArray | None = None
    """Shape (rows,): the run that each row is a sample of, its median taken out of all values; None: rows are runs."""
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Text setting to its indicators."""
    settings: frozenset[str] = frozenset()
    """Names that were varied on purpose, indicators included."""
    set_aside: Mapping[str, str] = field(default_factory=dict)
    """Column to the reason why nothing is asked of it."""
    warnings: tuple[str, ...] = ()

    def after(self, first: int) -> Observations:
        """Leave out the first runs; what then never changes is set aside."""
        if not first:
            return self
        values = self.values[first:]
        varies = (values != values[:1]).any(axis=0) if values.size else np.zeros(len(self.names), dtype=np.bool_)
        keep = np.flatnonzero(varies)
        gone = {
            name: "the same in every run after warm-up"
            for name, does in zip(self.names, varies, strict=True)
            if not does
        }
        groups = {setting: tuple(m for m in members if m not in gone) for setting, members in self.groups.items()}
        return replace(
            self,
            outcome=self.outcome[first:],
            names=tuple(self.names[place] for place in keep),
            values=np.asfortranarray(values[:, keep]),
            rows=self.rows[first:],
            runs=None if self.runs is None else self.runs[first:],
            groups={setting: members for setting, members in groups.items() if members},
            set_aside={**self.set_aside, **gone},
        )


@dataclass(frozen=True)
class TableSource:
    """Where the bytes are, and the first of them."""

    path: Path
    given: str
    """The path as the user gave it, for messages."""
    head: bytes
    """The first bytes, unpacked, without the mark that some editors put before UTF-8."""
    texts: frozenset[str] = frozenset()
    """Columns that are text whatever they look like, as a mapping says."""
    leave_out: Collection[str] = ()
    """Columns that need not be read."""

    def beside(self, ending: str) -> Path:
        """Name the file that would stand beside this one and share its stem."""
        return self.path.with_name(self.path.name.removesuffix(".gz")).with_suffix(ending)

    @property
    def is_parquet(self) -> bool:
        """Parquet files say so in their first bytes."""
        return self.head.startswith(b"PAR1")

    @property
    def is_packed(self) -> bool:
        """Whether it is packed by gzip."""
        return _is_packed(self.path)

    def raw(self, lines: int | None = None) -> bytes:
        """Read the file as it is, or its first lines."""
        try:
            with self.path.open("rb") as file:
                return file.read() if lines is None else b"".join(islice(file, lines))
        except OSError as error:
            raise VgoError(f"{self.given} cannot be read ({error.strerror}): copy or record it again.") from error

    def text(self) -> str:
        """Read the whole file, unpacked."""
        try:
            with _opened(self.path) as file:
                return file.read().decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise not_utf8(self.given) from error
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise _broken_gzip(self.given) from error


def open_source(path: Path, texts: frozenset[str] = frozenset(), leave_out: Collection[str] = ()) -> TableSource:
    """Find the file behind a path, which may be a run folder or the page beside a table, and look into it."""
    given = str(path)
    target = _table_behind(path)
    try:
        with _opened(target) as file:
            head = file.read(HEAD).removeprefix(b"\xef\xbb\xbf")
    except FileNotFoundError as error:
        raise VgoError(f"There is no file {given}: check the path.") from error
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise _broken_gzip(given) from error
    except OSError as error:
        raise VgoError(f"{given} cannot be read: {error.strerror}.") from error
    source = TableSource(target, given, head, texts, leave_out)
    _refuse_at_sight(source)
    return source


def not_utf8(given: str) -> VgoError:
    """Say how to turn a file into UTF-8."""
    return VgoError(f"{given} is not UTF-8: convert it, as in `iconv -f LATIN1 -t UTF-8 FILE > NEW`.")


def _table_behind(path: Path) -> Path:
    if path.is_dir():
        return _table_in(path)
    if path.suffix == ".md" and path.with_suffix(".csv").is_file():
        return path.with_suffix(".csv")
    return path


def _table_in(folder: Path) -> Path:
    """Find the table of a run folder, or the one run log that lies there as SHARP writes it."""
    table = folder / "runs.csv"
    if table.is_file():
        return table
    tables = list(folder.glob("*.csv"))
    if len(tables) == 1 and tables[0].with_suffix(".md").is_file():
        return tables[0]
    raise VgoError(
        f"{folder} is a folder without runs.csv, and without one SHARP log alone (CSV and .md of the same name): "
        "name a run folder of vgo-agent, or one file."
    )


def _opened(path: Path) -> BufferedReader | gzip.GzipFile:
    """Open a file, unpacked: gzip is told by its first bytes, whatever the name."""
    return gzip.open(path, "rb") if _is_packed(path) else path.open("rb")


def _is_packed(path: Path) -> bool:
    with regular(path).open("rb") as file:
        return file.read(2) == b"\x1f\x8b"


def _broken_gzip(given: str) -> VgoError:
    return VgoError(f"{given} is a broken gzip file: copy or record it again.")


def _refuse_at_sight(source: TableSource) -> None:
    head, given = source.head, source.given
    if not head.strip():
        raise VgoError(f"{given} is empty: record runs into it, or name another file.")
    if source.is_parquet:
        return
    packed = next((what for magic, what in _PACKED.items() if head.startswith(magic)), None)
    if packed:
        raise VgoError(f"{given} is {packed}: unpack or export it; {_KNOWN}.")
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise VgoError(f"{given} is UTF-16: convert it, as in `iconv -f UTF-16 -t UTF-8 FILE > NEW`.")
    if b"\x00" in head:
        raise VgoError(f"{given} is binary and no Parquet: {_KNOWN}.")
    try:
        head.decode()
    except UnicodeDecodeError as error:
        if error.start < len(head) - 4:  # a letter may be cut in two by the end of the head
            raise not_utf8(given) from error


@dataclass(frozen=True)
class Format:
    """How to tell a format by its content, and how to read it."""

    name: str
    recognises: Callable[[TableSource], bool]
    read: Callable[[TableSource], RecordedRuns]
