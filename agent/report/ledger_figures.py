"""Pictures of a ledger: slow against fast runs by state, and the states of each run in the order they were made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from ...knowledge.errors import VgoError
from ...knowledge.loader import load
from ...knowledge.terms import state_words
from ...knowledge.time_states import TimeState
from ...layers.probes.lanes import NO_LANE, LanePiece
from ...tools.document import Document, illustrated
from ...tools.ledger.exports import (
    BEGINS,
    ON_CPU,
    PATH,
    READY,
    FlameStack,
    TypicalRun,
    flame_frames,
    flame_stacks,
    folded,
    in_cells,
    trace_file,
    typical_runs,
)
from ...tools.ledger.ledger import ledger_of_split, split_recorded
from ...tools.ledger.shares import VarianceShares, slow_runs
from ...tools.ledger.split import STACKS, SplitRuns
from ...tools.recorded.recorded import RecordedRuns
from ..render.html import html_page
from .figures import short
from .ledger import section, states_drawn
from .ledger_bars import MOST, OTHER
from .numbers import number
from .svg import BASELINE, FAINT, INK, MITIGATED, WIDTH, canvas, save_files

COLOURS = ("#d55e00", "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9")
"""Okabe and Ito's, told apart in every common colour blindness."""


def ledger_picture(split: SplitRuns, shares: VarianceShares) -> str:
    """Stacked bars of the mean slow and fast run, and a stacked column for each run, in its order."""
    parts, colours = states_drawn(split, shares), state_colours(split, shares)
    slow = slow_runs(split.time_ms, split.told).slow
    with canvas(
        "ledger", f"Time of {slow.size} runs by state: means of slow and fast runs, and each run.", 2.7
    ) as page:
        bars, runs = page.axes(0.07, 0.36, 0.42, 0.47), page.axes(0.52, 0.46, 0.42, 0.47)
        at, below = np.zeros(2), np.zeros(slow.size)
        order = np.arange(slow.size)
        for name, values in parts.items():
            colour = colours.get(name, FAINT)
            means = np.array([values[~slow].mean(), values[slow].mean()])
            bars.barh((1, 0), means, left=at, height=0.6, color=colour, label=name)
            runs.bar(order, values, bottom=below, width=1.0, color=colour)
            at, below = at + means, below + values
        bars.set_yticks((1, 0), ("fast", "slow"))
        bars.set(xlabel="ms, mean of runs", title="slow against fast runs")
        runs.set(xlabel="run", ylabel="ms", title="each run", xlim=(-0.5, slow.size - 0.5))
        page.figure.legend(*bars.get_legend_handles_labels(), loc="lower left", bbox_to_anchor=(0.05, 0.0), ncols=3)
    return page.svg


def state_colours(split: SplitRuns, shares: VarianceShares) -> dict[str, str]:
    """Colours of the states that are drawn apart, by their names."""
    return dict(zip((name for name in states_drawn(split, shares) if name != OTHER), COLOURS, strict=False))


ROW = 0.21
"""Inches of a frame."""
NARROWEST = 1 / 400
"""Of the width: a frame that is narrower is not drawn."""
LETTER = 0.058
"""Inches that a letter takes."""
FEWEST_LETTERS = 6
"""Letters: where there is room for fewer, there are none."""


def flame_picture(stacks: Sequence[FlameStack]) -> str:
    """Draw it; empty where nothing was opened."""
    total = sum(one.slow_ms for one in stacks)
    frames = [one for one in flame_frames(stacks) if one.slow_ms > NARROWEST * total]
    if not frames:
        return ""
    most, rows = max(abs(one.slow_ms - one.fast_ms) for one in frames), 1 + max(one.depth for one in frames)
    height = ROW * rows + 0.4
    with canvas("flame", "Flame graph of the mean slow run, by its difference from the mean fast run.", height) as page:
        axes = page.axes(0.02, 0.96, 0.36 / height, ROW * rows / height)
        for one in frames:
            gap = one.slow_ms - one.fast_ms
            colour, shade = BASELINE if gap > 0 else MITIGATED, abs(gap) / most if most else 0.0
            axes.barh(one.depth, one.slow_ms, 0.94, one.left_ms, color=colour, alpha=shade, linewidth=0)
            axes.barh(one.depth, one.slow_ms, 0.94, one.left_ms, color="none", edgecolor=INK, linewidth=0.2)
            words = f"{'+' if gap > 0 else ''}{number(gap, 2)}  {one.name}"
            if (room := int(one.slow_ms / total * 0.96 * WIDTH / LETTER)) >= FEWEST_LETTERS:
                axes.text(
                    one.left_ms + 0.003 * total, one.depth, short(words, room), va="center", fontsize=7, clip_on=True
                )
        axes.set(xlim=(0, total), ylim=(-0.5, rows - 0.5), yticks=())
        axes.spines["left"].set_visible(False)
        axes.set_xlabel("ms of the mean slow run; numbers: more (orange) or less (blue) than the mean fast run, in ms")
    return page.svg


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
    axes.set(xlim=(0, longest_ns / 1e6), ylim=(len(names) - 0.5, -0.5))
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


SEED = 1
"""Of the intervals, as a measurement has it where it is not told another."""


def ledger_pictures(split: SplitRuns, shares: VarianceShares) -> dict[str, str]:
    """Draw what was kept: SVG by name, empty where nothing was."""
    return {
        "ledger": ledger_picture(split, shares),
        "timeline": timeline_picture(typical_runs(split), state_colours(split, shares)),
        "flame": flame_picture(flame_stacks(split)),
    }


def _trace(split: SplitRuns, _: str) -> str:
    runs = typical_runs(split)
    return trace_file(runs) if runs else ""


def _page(split: SplitRuns, source: str) -> str:
    ledger = ledger_of_split(STACKS, split, SEED, load().factors.values())
    if ledger is None:
        return ""
    page = Document("Ledger of runs", "ledger", tuple(section(ledger)), source)
    return html_page(illustrated(page, ledger_pictures(split, ledger.shares)))


WRITERS: Mapping[str, Callable[[SplitRuns, str], str]] = {
    ".html": _page,
    ".json": _trace,
    ".folded": lambda split, _: folded(flame_stacks(split)),
}
"""By the ending of the file."""
_BEGINS = {".html": "<!", ".json": BEGINS}


def save_ledger(recorded: RecordedRuns, path: Path) -> tuple[Path, ...]:
    """Write a page, a trace or folded stacks of runs with a ledger; only such a file may be written over."""
    content = WRITERS[path.suffix](split_recorded(recorded), recorded.source)
    if not content:
        raise VgoError(f"{recorded.source} tells no slow run from a fast one: they are too few, or do not vary.")
    if path.is_file() and not path.read_text(errors="replace").startswith(_BEGINS.get(path.suffix, "")):
        raise VgoError(f"{path} holds something else; choose another name for --save.")
    return tuple(save_files(path.parent, {path.name: content}))
