"""What a ledger gives other programs: a slow and a fast run as a trace, the time of both classes as folded stacks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from ...knowledge.errors import VgoError
from ...tools.ledger.flame import flame_stacks, folded
from ...tools.ledger.of_recorded import split_recorded
from ...tools.ledger.split import SplitRuns
from ...tools.ledger.trace_events import BEGINS, trace_file
from ...tools.ledger.typical import typical_runs
from ...tools.recorded.recorded import RecordedRuns
from .saving import save_files

NOT_TOLD_APART = "the runs do not vary, are too few, or kept no lanes"


def _trace(split: SplitRuns) -> str:
    runs = typical_runs(split)
    return trace_file(runs) if runs else ""


def _folded(split: SplitRuns) -> str:
    return folded(flame_stacks(split))


WRITERS: Mapping[str, Callable[[SplitRuns], str]] = {".json": _trace, ".folded": _folded}
"""By the ending of the file."""


def save_ledger(recorded: RecordedRuns, path: Path) -> tuple[Path, ...]:
    """Write a trace or folded stacks of runs with a ledger; only such a file may be written over."""
    content = WRITERS[path.suffix](split_recorded(recorded))
    if not content:
        raise VgoError(f"{recorded.source} has no slow and fast run to show: {NOT_TOLD_APART}.")
    if path.suffix == ".json" and path.is_file() and not path.read_bytes().startswith(BEGINS.encode()):
        raise VgoError(f"{path} holds something else than a trace; choose another name for --save.")
    return tuple(save_files(path.parent, {path.name: content}))
