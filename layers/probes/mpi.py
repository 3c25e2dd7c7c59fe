"""MPI per rank: time inside MPI and outside, from our own PMPI library or from the text report of mpiP."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from platformdirs import user_cache_path

from ..schema import Layer, Value
from ..wrapper import own_folder
from .base import LayerProbe, SpawnCommand

SOURCE = Path(__file__).with_name("pmpi.c")
LONGEST_BUILD_S = 120.0
OURS = re.compile(
    r"^(\d+) ([\d.]+) ([\d.]+) (\d+) ([\d.]+) (-?\d+) (\d+) (\d+) (-?\d+) (-?\d+) (\S+) (\S+)$", re.MULTILINE
)
"""One line of pmpi.c, which names the fields."""
MPIP_TIMES = re.compile(r"^@--- MPI Time \(seconds\) -+\n-+\n(.*?)(?:\n-{20}|\Z)", re.MULTILINE | re.DOTALL)
MPIP_ROW = re.compile(r"^\s*(\d+)\s+([\d.eE+-]+)\s+([\d.eE+-]+)\s+[\d.]+\s*$", re.MULTILINE)
"""Task, AppTime, MPITime, MPI%; the row of all tasks has a star."""
NUMBERS = ("calls", "cpu_s", "migrations", "voluntary", "preemptions", "local")
"""CPU time outside MPI, since within it a rank spins while it waits; number on its host."""
TEXTS = ("cpu", "cpus", "host")
"""Where it ended, and where it may run."""
SILENT = (
    "no rank told of its time: the program is no MPI program, links MPI statically, calls it from Fortran (name mpiP's "
    "library), ended before MPI_Finalize, or ran on a machine that does not see this one's files (set TMPDIR to a "
    "folder that all share)"
)


class RankReport(NamedTuple):
    """What one rank told."""

    rank: int
    all_s: float
    mpi_s: float
    more: Mapping[str, Value] = MappingProxyType({})
    """`NUMBERS` and `TEXTS`, as far as they are known."""

    @property
    def own_s(self) -> float:
        """Time outside MPI."""
        return max(0.0, self.all_s - self.mpi_s)


class MpiProbe(LayerProbe):
    """Loads a profiling library into every rank and reads what each wrote at its end."""

    prints = True

    def __init__(self, layer: Layer, root: Path) -> None:
        """Find the library, building ours where none is named; without one every column is absent."""
        super().__init__(layer)
        named = str(layer.parameters.get("library", ""))
        self._library, self._why = (Path(named).absolute(), "") if named else built()
        if named and not self._library.is_file():
            self._why = f"there is no library {named}: name the file of libmpiP.so with --layer mpi:library=PATH"
        self._folder = Path(self._closing.enter_context(own_folder("mpi")))
        self._told = False
        self._unseen(self._why)

    def wrap(self, command: SpawnCommand) -> SpawnCommand:
        """Let every process load the library, before what the user loads."""
        if self._why:
            return command
        others = command.environment.get("LD_PRELOAD", "")
        added = {
            "LD_PRELOAD": f"{self._library}:{others}" if others else str(self._library),
            "VGO_MPI_REPORT": str(self._folder),
            "MPIP": f"{command.environment.get('MPIP', '')} -f {self._folder}".strip(),
        }
        return replace(command, environment={**command.environment, **added})

    def before(self) -> None:
        for path in self._folder.iterdir():
            path.unlink()

    def values(self) -> Mapping[str, Value]:
        """Read the reports of all ranks; a rank that died wrote none, so its cells are missing."""
        if self._why:
            return {}
        texts = [path.read_text(errors="replace") for path in sorted(self._folder.iterdir())]
        ranks = [rank for text in texts for rank in read_report(text)]
        self._told = self._told or bool(ranks)
        self._unseen("" if self._told else SILENT)
        return figures(ranks)

    def _unseen(self, why: str) -> None:
        self._lack(f"MPI is not seen, since {why}." * bool(why))


def read_report(text: str) -> list[RankReport]:
    """Read the line of one rank, or the table of all ranks in a report of mpiP."""
    if table := MPIP_TIMES.search(text):
        return [RankReport(int(rank), float(app), float(mpi)) for rank, app, mpi in MPIP_ROW.findall(table[1])]
    return [_ours(*found) for found in OURS.findall(text)]


def _ours(rank: str, all_s: str, mpi_s: str, *rest: str) -> RankReport:
    """What is not shown is below zero or a dash."""
    told = dict(zip((*NUMBERS, *TEXTS), rest, strict=True))
    numbers: dict[str, Value] = {name: float(told[name]) for name in NUMBERS if float(told[name]) >= 0}
    texts = {name: told[name] for name in TEXTS if told[name] not in ("-", "-1")}
    return RankReport(int(rank), float(all_s), float(mpi_s), numbers | texts)


def figures(ranks: Sequence[RankReport]) -> dict[str, Value]:
    """Columns of all ranks; the imbalance is how much longer the busiest rank computes than the mean, in percent."""
    found: dict[str, Value] = {name: value for rank in ranks for name, value in _of_rank(rank)}
    own = [rank.own_s for rank in ranks]
    total = sum(rank.all_s for rank in ranks)
    if total > 0:
        found["mpi.share"] = 100 * sum(rank.mpi_s for rank in ranks) / total
    if sum(own) > 0:
        found["mpi.imbalance"] = 100 * (max(own) * len(own) / sum(own) - 1)
    return found | _ends(ranks)


def _ends(ranks: Sequence[RankReport]) -> dict[str, Value]:
    """Name the rank that computes longest and the one that waits least; of one rank alone neither says anything."""
    if len(ranks) < 2:
        return {}
    slowest = max(ranks, key=lambda rank: rank.own_s)
    least = min(ranks, key=lambda rank: rank.mpi_s)
    named: dict[str, Value] = {"mpi.slowest": str(slowest.rank), "mpi.least_waiting": str(least.rank)}
    return named | ({"mpi.slowest_host": slowest.more["host"]} if "host" in slowest.more else {})


def _of_rank(rank: RankReport) -> Iterator[tuple[str, Value]]:
    yield f"mpi.{rank.rank}.time_s", rank.mpi_s
    yield f"mpi.{rank.rank}.own_s", rank.own_s
    if rank.all_s > 0:
        yield f"mpi.{rank.rank}.share", 100 * rank.mpi_s / rank.all_s
    for name, value in rank.more.items():
        yield f"mpi.{rank.rank}.{name}", value


def built() -> tuple[Path, str]:
    """Build our library once for this compiler and source; return where it lies, or why it does not."""
    compiler = shutil.which("mpicc")
    place = user_cache_path("vgo-agent") / "pmpi"
    if compiler is None:
        cure = "apt install libopenmpi-dev, or name libmpiP with --layer mpi:library=PATH"
        return place, f"mpicc is not installed: {cure}"
    source = SOURCE.read_bytes()
    mark = hashlib.sha256(source + os.path.realpath(compiler).encode() + _version(compiler)).hexdigest()[:16]
    library = place / f"pmpi-{mark}.so"
    if library.is_file():
        return library, ""
    try:
        place.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=place) as making:
            made = Path(making) / "pmpi.so"
            words = [compiler, "-shared", "-fPIC", "-O2", "-o", str(made), str(SOURCE)]
            done = subprocess.run(words, capture_output=True, text=True, timeout=LONGEST_BUILD_S, check=False)
            if done.returncode == 0:
                os.replace(made, library)
    except (OSError, subprocess.TimeoutExpired) as error:
        return library, f"the profiling library could not be built in {place} ({error}): set XDG_CACHE_HOME"
    first = next(iter(done.stderr.splitlines()), "no word")
    return library, "" if done.returncode == 0 else f"mpicc refused the profiling library ({first}): mend mpicc"


def _version(compiler: str) -> bytes:
    """What the compiler wrapper stands for: another MPI under the same name is another library."""
    try:
        return subprocess.run([compiler, "-show"], capture_output=True, timeout=LONGEST_BUILD_S, check=False).stdout
    except (OSError, subprocess.TimeoutExpired):
        return b""
