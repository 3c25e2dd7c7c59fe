"""Where the time of recorded runs went: the table of a run folder, or one that was saved."""

from __future__ import annotations

from ...knowledge.errors import VgoError
from ...knowledge.loader import load
from ...knowledge.time_states import TimeState
from ...layers.loader import load_layers
from ..recorded.recorded import RecordedRuns
from ..row import FIXED, REQUIRED
from ..run_table import RunTable
from ..subject import Subject
from .ledger import Ledger, ledger_of
from .split import LEDGER, STACKS, SplitRuns, split_runs


def split_recorded(recorded: RecordedRuns) -> SplitRuns:
    """Split runs whose table has a ledger with stacks; raises VgoError where it has none."""
    opened = f"{STACKS}.opened" in recorded.frame.columns
    split = split_runs(_runs(recorded), STACKS, _subject(recorded)) if opened else None
    if split is None and f"{LEDGER}.{TimeState.ON_CPU}_ms" in recorded.frame.columns:
        raise VgoError(
            f"{recorded.source} has a ledger without stacks, which keeps no threads: see what they need here with "
            "`vgo-agent layers stacks`, and measure again."
        )
    if split is None:
        raise VgoError(f"{recorded.source} has no ledger of its runs: make one with `vgo-agent measure --ledger`.")
    return split


def ledger_recorded(recorded: RecordedRuns, seed: int, steady_cv: float) -> Ledger | None:
    """Make the ledger of runs whose table has one; None where it has none, or slow runs are not told from fast ones.

    Any table may have a column that is called as one of a ledger.
    """
    names = set(recorded.frame.columns)
    if names.isdisjoint(f"{layer}.{TimeState.ON_CPU}_ms" for layer in (LEDGER, STACKS)) or not names.issuperset(
        REQUIRED
    ):
        return None
    return ledger_of(_runs(recorded), _subject(recorded), seed, load().factors, steady_cv)


def _runs(recorded: RecordedRuns) -> RunTable:
    known = load_layers().values()
    names = [name for name in recorded.frame.columns if name in FIXED or any(one.column(name) for one in known)]
    return RunTable.of(recorded.frame.select(names), recorded.source, known)


def _subject(recorded: RecordedRuns) -> Subject:
    metric, unit = recorded.system.get("subject.metric"), recorded.units.get("outcome", "")
    return Subject(command=(recorded.source,), argv=(), directory="/", metric=metric, unit=unit)
