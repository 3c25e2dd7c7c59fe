"""What a ledger is shown and written as: its pictures, its page, a trace of two runs, folded stacks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from ...knowledge.errors import VgoError
from ...knowledge.loader import load
from ...tools.document import Document, illustrated
from ...tools.ledger.flame import flame_stacks, folded
from ...tools.ledger.ledger import ledger_of_split
from ...tools.ledger.of_recorded import split_recorded
from ...tools.ledger.shares import VarianceShares
from ...tools.ledger.split import STACKS, SplitRuns
from ...tools.ledger.trace_events import BEGINS, trace_file
from ...tools.ledger.typical import typical_runs
from ...tools.recorded.recorded import RecordedRuns
from ..render.html import html_page
from .flame_figure import flame_picture
from .ledger import section
from .ledger_figure import ledger_picture, state_colours
from .saving import save_files
from .timeline_figure import timeline_picture

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


def _folded(split: SplitRuns, _: str) -> str:
    return folded(flame_stacks(split))


def _page(split: SplitRuns, source: str) -> str:
    ledger = ledger_of_split(STACKS, split, SEED, load().factors.values())
    if ledger is None:
        return ""
    page = Document("Ledger of runs", "ledger", tuple(section(ledger)), source)
    return html_page(illustrated(page, ledger_pictures(split, ledger.shares)))


WRITERS: Mapping[str, Callable[[SplitRuns, str], str]] = {".html": _page, ".json": _trace, ".folded": _folded}
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
