"""A slow and a fast run as timelines: threads as lines, a letter for each state; one time is read in all of them."""

from __future__ import annotations

import itertools
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...knowledge.states import state_words
from ...knowledge.time_states import TimeState
from ...layers.probes.lanes import NO_LANE, LanePiece
from ...tools.amount import amount
from ...tools.ledger.run_timeline import ON_CPU, PATH, READY, TypicalRun, in_cells
from .canvas import Ink, Marks, TextCanvas
from .plot import APART, Framed, Picture, PlotAxis, TextFigure, headed, level_axis
from .scale import AxisWindow, CellScale

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
