"""Where the time of recorded runs went: the table of a run folder, or one that was saved."""

from __future__ import annotations

from ...knowledge.errors import VgoError
from ...layers.loader import load_layers
from ..recorded.recorded import RecordedRuns
from ..row import FIXED
from ..run_table import read_runs
from ..subject import Subject
from .split import STACKS, SplitRuns, split_runs


def split_recorded(recorded: RecordedRuns) -> SplitRuns:
    """Split runs whose table has a ledger with stacks; raises VgoError where it has none."""
    known = load_layers().values()
    names = [name for name in recorded.frame.columns if name in FIXED or any(one.column(name) for one in known)]
    split = None
    if f"{STACKS}.opened" in names:
        table = read_runs(recorded.frame.select(names).write_csv().encode(), recorded.source)
        metric, unit = recorded.system.get("subject.metric"), recorded.units.get("outcome", "")
        subject = Subject(command=(recorded.source,), argv=(), directory="/", metric=metric, unit=unit)
        split = split_runs(table, STACKS, subject)
    if split is None:
        raise VgoError(f"{recorded.source} has no ledger of its runs: make one with `vgo-agent measure --ledger`.")
    return split
