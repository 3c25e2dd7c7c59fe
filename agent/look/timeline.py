"""A slow and a fast run as timelines: threads as lines, a letter for each state; one time is read in all of them."""

from __future__ import annotations

import itertools
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...knowledge.terms import state_words
from ...knowledge.time_states import TimeState
from ...layers.probes.lanes import NO_LANE, LanePiece
from ...layers.probes.machine import CPU_FIELDS, interrupts_of_cpus
from ...layers.probes.surroundings import cpu_ticks
from ...tools.amount import amount
from ...tools.ledger.exports import ON_CPU, PATH, READY, TypicalRun, in_cells
from .canvas import AxisWindow, CellScale, Ink, Marks, TextCanvas
from .plot import APART, Framed, Picture, PlotAxis, Sentence, TextFigure, headed, level_axis

ROOT = Path("/")
NOT_LINUX = "No per-core figures here: /proc/stat cannot be read."


@dataclass(frozen=True)
class CoreReading:
    """Counters of one core since boot."""

    ticks: Sequence[int]
    """In the order of CPU_FIELDS."""
    interrupts: int
    mhz: float | None


@dataclass(frozen=True)
class CoresSnapshot:
    """All cores at one moment."""

    at_s: float
    """Monotonic."""
    cores: Mapping[int, CoreReading]


@dataclass(frozen=True)
class CoreRates:
    """One core between two readings."""

    core: int
    busy: float | None
    """Share of the time, 0 to 1; None where no tick passed."""
    steal: float | None
    interrupts_s: float
    """A second."""
    mhz: float | None


def read_cores(at_s: float, root: Path = ROOT) -> CoresSnapshot:
    """Read the counters; no cores where the kernel does not tell."""
    interrupts = interrupts_of_cpus(_read(root / "proc/interrupts"))
    ticks = cpu_ticks(_read(root / "proc/stat"))
    cores = {core: CoreReading(times, interrupts.get(core, 0), _mhz(core, root)) for core, times in ticks.items()}
    return CoresSnapshot(at_s, cores)


def rates(before: CoresSnapshot, after: CoresSnapshot) -> tuple[CoreRates, ...]:
    """What passed between two readings, core by core; those that are in both."""
    seconds = max(after.at_s - before.at_s, 1e-9)
    return tuple(
        _rate(core, before.cores[core], now, seconds) for core, now in after.cores.items() if core in before.cores
    )


def _rate(core: int, before: CoreReading, after: CoreReading, seconds: float) -> CoreRates:
    counts = zip(CPU_FIELDS, before.ticks, after.ticks, strict=False)  # guest time after them is part of user
    passed = {field: max(late - early, 0) for field, early, late in counts}
    total, idle = sum(passed.values()), passed.get("idle", 0) + passed.get("iowait", 0)
    return CoreRates(
        core=core,
        busy=(total - idle) / total if total else None,
        steal=passed.get("steal", 0) / total if total else None,
        interrupts_s=max(after.interrupts - before.interrupts, 0) / seconds,
        mhz=after.mhz,
    )


def _mhz(core: int, root: Path) -> float | None:
    khz = _read(root / f"sys/devices/system/cpu/cpu{core}/cpufreq/scaling_cur_freq").strip()
    return int(khz) / 1000 if khz.isdigit() else None


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:  # not there, or not for us: then it is not shown
        return b""


NUMBERS = 40
"""Cells of the numbers beside the bar."""


@dataclass(frozen=True, eq=False)
class CoresPage(TextFigure):
    """One line a core, from that line on which the page is called after."""

    rates: tuple[CoreRates, ...]
    name: str = "0"
    """The first line, from 0."""

    def draw(self, canvas: TextCanvas, window: AxisWindow | None = None, cursor: float | None = None) -> Picture:
        """Draw the lines below their header."""
        bar, marks = max(canvas.width - NUMBERS, 4), canvas.marks
        columns = f"{'core':>5} {'busy':>6} {'steal':>6} {'irq/s':>9} {'MHz':>6}"
        canvas.write(0, 0, f"{columns}  {marks.bar} busy {marks.slow_bar} stolen", "faint")
        first = int(self.name)
        for row, core in enumerate(self.rates[first : first + max(canvas.height - 1, 0)], 1):
            mhz = "-" if core.mhz is None else f"{core.mhz:.0f}"
            shares = f"{_share(core.busy):>6} {_share(core.steal):>6}"
            canvas.write(row, 0, f"{core.core:>5} {shares} {core.interrupts_s:>9.0f} {mhz:>6}")
            busy, steal = round((core.busy or 0.0) * bar), round((core.steal or 0.0) * bar)
            canvas.write(row, NUMBERS - 2, marks.bar * (busy - steal), "fast")
            canvas.write(row, NUMBERS - 2 + max(busy - steal, 0), marks.slow_bar * steal, "slow")
        return Picture(canvas)


def cores_pages(found: tuple[CoreRates, ...], known: bool) -> tuple[TextFigure, ...]:
    """Give the cores from each line on; `known`: the kernel tells about its cores."""
    if not found:
        return (Sentence("Reading the cores." if known else NOT_LINUX),)
    return tuple(CoresPage(found, str(first)) for first in range(len(found)))


def _share(share: float | None) -> str:
    return "-" if share is None else f"{share:.0%}"


NAME = 20
"""Cells of the name of a thread."""
LEAST_WIDTH, TOLD = 2 * NAME, 4
"""Below so many cells there are only words; lines for what is read at the cursor."""
LETTERS = {
    **{TimeState.QUEUE_OWN: "o", TimeState.QUEUE_OTHERS: "O", TimeState.QUEUE_NOBODY: "n", TimeState.THROTTLED: "T"},
    TimeState.STOLEN: "h",
    **{TimeState.BLOCKED: "b", TimeState.DISK: "d", TimeState.WRITE_THROTTLE: "w", TimeState.RECLAIM: "r"},
    **{TimeState.LOCK: "l", TimeState.FILE_LOCK: "f", TimeState.KERNEL_LOCK: "k", TimeState.PIPE: "p"},
    **{TimeState.SOCKET: "s", TimeState.POLL: "e", TimeState.CHILD: "c", TimeState.SLEEP: "z"},
    TimeState.TIMER_LATE: "a",
    **{TimeState.CPU_MOVE: "m", TimeState.SIGNAL: "g", TimeState.START_AND_END: "-", TimeState.UNSEEN: "?"},
    **{TimeState.QUEUE: "q", TimeState.OFF_CPU: "x", TimeState.UNDIVIDED: "u"},
}
"""Of the states; those on a CPU are drawn as bars, and any other has a letter of its own."""
ANY = "+"
HELP = "arrow keys read a time, + and - zoom; up and down show one run or both"


@dataclass(frozen=True, eq=False)
class RunTimelines(TextFigure):
    """One run, or two over each other on one scale."""

    runs: tuple[TypicalRun, ...]
    name: str = ""

    @property
    def span(self) -> AxisWindow:
        """From the beginning of the window to the end of the longest, in seconds."""
        return AxisWindow(0.0, max(run.lanes.ns for run in self.runs) / 1e9)

    def draw(self, canvas: TextCanvas, window: AxisWindow | None = None, cursor: float | None = None) -> Picture:
        """Draw lines and axis, and below them what is at the cursor."""
        cells = canvas.width - NAME - 1
        title = "; ".join(f"{run.name}: {amount(run.lanes.ns / 1e9, 's')}" for run in self.runs)
        if canvas.width < LEAST_WIDTH:
            canvas.write(0, 0, title)
            return Picture(canvas)
        head = headed(title, APART.join(self._legend(canvas.marks)), canvas.width)
        room = canvas.height - len(head) - 2 - TOLD
        most = max(room // len(self.runs) - 1 - (len(self.runs) > 1), 0)
        for row, line in enumerate(head):
            canvas.write(row, 0, line)
        x, row = CellScale(window or self.span, cells), len(head)
        for run in self.runs:
            row = self._run(canvas, run, row, most, x)
        framed = Framed(x, CellScale(AxisWindow(0.0, 1.0), 1), NAME + 1, len(head), row - 1)
        level_axis(canvas, framed, PlotAxis(x.window, "s"))
        if cursor is not None and (column := framed.column(cursor)) >= 0:
            canvas.upright(column, framed.top, framed.bottom, canvas.marks.cursor, "cursor")
        folded = (textwrap.wrap(line, canvas.width, subsequent_indent="  ") for line in self._read(cursor))
        for place, line in enumerate(itertools.chain.from_iterable(folded), row + 2):
            canvas.write(place, 0, line)
        return Picture(canvas, framed)

    def _run(self, canvas: TextCanvas, run: TypicalRun, row: int, most: int, x: CellScale) -> int:
        """Draw one run from a row on; give the row below it."""
        if len(self.runs) > 1:
            canvas.write(row, 0, run.name, "faint")
            row += 1
        lines = [(PATH, run.lanes.path), *((lane.name, lane.pieces) for _, lane in run.threads(most))]
        for name, pieces in lines:
            canvas.write(row, 0, name[:NAME])
            shown = in_cells(pieces, 1e9 * x.window.low, 1e9 * x.window.high, x.cells)
            for cell, piece in enumerate(shown):
                if piece is not None:
                    canvas.put(row, NAME + 1 + cell, *_mark(piece.state, canvas.marks))
            row += 1
        return row

    def _legend(self, marks: Marks) -> Iterator[str]:
        """Name the states of the paths, those with most time first, then those of threads alone."""
        spent = Counter[TimeState]()
        for run in self.runs:
            for weight, pieces in ((1, run.lanes.path), *((0, lane.pieces) for lane in run.lanes.lanes)):
                for piece in pieces:
                    spent[piece.state] += weight * (piece.end_ns - piece.start_ns)
        for state, _ in spent.most_common(8):
            yield f"{_mark(state, marks)[0]} {state_words(state)}"

    def _read(self, cursor: float | None) -> list[str]:
        """What the time went to at the cursor; of one run also what its threads did."""
        if cursor is None:
            return [HELP]
        at, lines = 1e9 * cursor, []
        for run in self.runs:
            names = [lane.name for lane in run.lanes.lanes]
            found = _at(run.lanes.path, at)
            begins = f"{run.name} at {amount(cursor, 's')}: "
            lines.append(begins + (_words(found, names, "in") if found else "it has ended"))
            for _, lane in run.threads(len(names)) if len(self.runs) == 1 else ():
                if piece := _at(lane.pieces, at):
                    lines.append(f"{lane.name}: {_words(piece, names, 'woken by')}")
        return lines


def run_timelines(runs: tuple[TypicalRun, ...]) -> tuple[RunTimelines, ...]:
    """Both, then each alone; none where there are no runs."""
    return (RunTimelines(runs, "timelines"), *(RunTimelines((run,), run.name) for run in runs)) if runs else ()


def _mark(state: TimeState, marks: Marks) -> tuple[str, Ink]:
    if state in ON_CPU:
        return (marks.bar if state is TimeState.ON_CPU else marks.faint_bar), "fast"
    return LETTERS.get(state, ANY), "slow" if state in READY else "cut"


def _at(pieces: Sequence[LanePiece], ns: float) -> LanePiece | None:
    return next((piece for piece in pieces if piece.start_ns <= ns < piece.end_ns), None)


def _words(piece: LanePiece, names: Sequence[str], other: str) -> str:
    """`asleep by a timer (clock_nanosleep) in python 17, 7.5 ms to 37.5 ms`."""
    what = f" ({piece.what})" if piece.what else ""
    who = f" {other} {names[piece.lane]}" if piece.lane != NO_LANE else ""
    times = f"{amount(piece.start_ns / 1e9, 's')} to {amount(piece.end_ns / 1e9, 's')}"
    return f"{state_words(piece.state)}{what}{who}, {times}"
