"""A typical slow and a typical fast run: threads as lanes, states as colours, arrows from who ended a wait."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby

from matplotlib.axes import Axes
from matplotlib.patches import Patch

from ...knowledge.states import state_words
from ...knowledge.time_states import TimeState
from ...layers.probes.lanes import NO_LANE, LanePiece
from ...tools.ledger.run_timeline import ON_CPU, PATH, READY, TypicalRun, in_cells
from .canvas import FAINT, INK, canvas
from .figures import short
from .ledger_bars import MOST, OTHER
from .ledger_figure import COLOURS

CELLS = 600
"""Across the picture: what is shorter gives way to what is longest there."""
MOST_THREADS, MOST_ARROWS = 6, 12
LONGEST_NAME, COLUMNS = 20, 3
"""Letters of a thread; columns of the legend."""
LANE, AROUND = 0.2, 0.5
"""Inches of a lane, and of what stands around those of a run."""


def timeline_picture(runs: Sequence[TypicalRun], known: Mapping[str, str]) -> str:
    """One over the other, on one scale; empty where there are none. `known`: colours that states have elsewhere."""
    if not runs:
        return ""
    longest_ns = max(run.lanes.ns for run in runs)
    colours = _colours(runs, known)
    heights = [AROUND + LANE * (1 + len(run.threads(MOST_THREADS))) for run in runs]
    height = sum(heights) + 0.24 + 0.16 * -(-len(colours) // COLUMNS)
    words = f"Timelines of a {' and of a '.join(run.name for run in runs)}."
    with canvas("timeline", words, height) as page:
        top = height
        for run, tall in zip(runs, heights, strict=True):
            axes = page.axes(0.2, 0.78, (top - tall + 0.22) / height, (tall - AROUND) / height)
            top -= tall
            _run(axes, run, longest_ns, colours)
        axes.set_xlabel("ms", loc="right", labelpad=0)
        handles = [Patch(color=colour, label=name) for name, colour in colours.items()]
        page.figure.legend(handles=handles, loc="lower left", bbox_to_anchor=(0.01, 0.0), ncols=COLUMNS)
    return page.svg


def _colours(runs: Sequence[TypicalRun], known: Mapping[str, str]) -> dict[str, str]:
    """Of the states that take most of the paths and of the threads that are drawn, then of the others."""
    spent = Counter[str]()
    for run in runs:
        for pieces in (run.lanes.path, *(lane.pieces for _, lane in run.threads(MOST_THREADS))):
            for piece in pieces:
                spent[state_words(piece.state)] += piece.end_ns - piece.start_ns
    known = {state_words(TimeState.ON_CPU): known.get(state_words(TimeState.USER), COLOURS[0]), **known}
    names = [name for name, _ in spent.most_common(MOST)]
    free = [colour for colour in COLOURS if colour not in {known.get(name) for name in names}]
    first = {name: known.get(name) or free.pop(0) for name in names}
    return {**first, OTHER: FAINT} if len(spent) > MOST else first


def _run(axes: Axes, run: TypicalRun, longest_ns: int, colours: dict[str, str]) -> None:
    threads = run.threads(MOST_THREADS)
    rows = {place: row for row, (place, _) in enumerate(threads, 1)}
    _bars(axes, run.lanes.path, 0, longest_ns, colours)
    for place, lane in threads:
        _bars(axes, lane.pieces, rows[place], longest_ns, colours, waits=0.3)
    waits = [
        (piece, rows[piece.lane], rows[place])
        for place, lane in threads
        for piece in lane.pieces
        if piece.lane in rows and piece.lane not in (NO_LANE, place)
    ]
    for piece, waker, row in sorted(waits, key=lambda one: one[0].start_ns - one[0].end_ns)[:MOST_ARROWS]:
        at = piece.end_ns / 1e6
        arrow = {"arrowstyle": "-|>", "color": INK, "linewidth": 0.7, "shrinkA": 0, "shrinkB": 2, "mutation_scale": 6}
        axes.annotate("", (at, row), (at, waker), arrowprops=arrow)
    names = (PATH, *(short(lane.name, LONGEST_NAME) for _, lane in threads))
    more = len(run.lanes.lanes) - len(threads)
    axes.set_yticks(range(len(names)), names)
    axes.set(
        xlim=(0, longest_ns / 1e6),
        ylim=(len(names) - 0.5, -0.5),
    )
    axes.set_title(f"{run.name}, {run.ms:.2f} ms" + (f"; {more} more threads are not drawn" if more else ""))
    axes.tick_params(axis="y", length=0)


def _bars(
    axes: Axes, pieces: Sequence[LanePiece], row: int, longest_ns: int, colours: dict[str, str], waits: float = 0.8
) -> None:
    """`waits`: how tall time in them is drawn, beside that on a CPU or ready for one."""
    width, cell = longest_ns / CELLS / 1e6, 0
    states = (piece.state if piece else None for piece in in_cells(pieces, 0, longest_ns, CELLS))
    for state, group in groupby(states):
        cells = len(list(group))
        if state is not None:
            tall = 0.8 if state in ON_CPU or state in READY else waits
            colour = colours.get(state_words(state), FAINT)
            axes.barh(row, cells * width, tall, left=cell * width, color=colour, linewidth=0)
        cell += cells
