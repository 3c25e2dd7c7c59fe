"""The ranks of a finished run: the section of its report, the remark beside its verdict, and its table of ranks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from ...knowledge.errors import VgoError
from ...tools.mpi.analyse import of_ranks
from ...tools.mpi.rank_summary import HostRanks, Ranks, RankSummary
from ...tools.mpi.rows import RankRows, rank_rows, ranks_csv
from .evidence import Evidence
from .numbers import percent
from .ranks import HEADER, places, runs, shown, why


def explaining(evidence: Evidence) -> RankRows | None:
    """The ranks of the runs that explain; None where none told of itself, or rows are samples of a run."""
    profiled = evidence.runs_explained
    if profiled is None or profiled.sampled:
        return None
    frame = profiled.table.frame
    try:
        found = rank_rows(profiled.table.names, lambda name: frame[name].tolist())
    except VgoError:
        return None
    return found if found.runs.size else None


def csv_of(evidence: Evidence) -> bytes | None:
    """One line a run and rank; `run` is the `order` of the run in its profile."""
    rows, profiled = explaining(evidence), evidence.runs_explained
    if rows is None or profiled is None:
        return None
    return ranks_csv(replace(rows, runs=profiled.table.frame["order"].to_numpy(dtype=np.int64)[rows.runs]))


def story(evidence: Evidence) -> dict[str, Any] | None:
    """Tell of the ranks in a report; None where the program is not known to have any."""
    found = _found(evidence)
    if found is None or isinstance(found, str):
        return {"sentence": found, "rows": ()} if found else None
    return {
        "sentence": f"{found.verdict.capitalize()}. {found.reason} {runs(found)}",
        "head": HEADER,
        "rows": shown(found),
        "lines": (*why(found), *places(found), *found.notes),
    }


def remarks(evidence: Evidence) -> Iterator[str]:
    """Name the rank that slow runs wait for."""
    found = _found(evidence)
    if not isinstance(found, Ranks) or found.verdict not in ("one rank", "one host"):
        return
    ranks = [one for one in found.ranks if one.rank == found.rank]
    one: RankSummary | HostRanks = ranks[0] if ranks else next(one for one in found.hosts if one.host == found.host)
    low, high = one.explained_interval.low, one.explained_interval.high
    where = f"it runs on {one.host}, and " if ranks and one.host else ""
    others = "theirs" if ranks else "the other hosts'"
    yield (
        f"{found.reason} Its time outside MPI beyond {others} goes with {percent(one.explained, 2)} "
        f"[{percent(low, 2)}, {percent(high, 2)}] of the variance; {where}the report has all ranks."
    )


def _found(evidence: Evidence) -> Ranks | str | None:
    """Look at the ranks; a sentence where that cannot be done."""
    rows, profiled = explaining(evidence), evidence.runs_explained
    if rows is None or profiled is None:
        return None
    subject, limits = evidence.run.subject, evidence.run.limits
    outcome, lower = profiled.outcome[rows.runs], subject.lower_is_better
    try:
        return of_ranks(
            rows, outcome, subject.outcome, subject.unit, lower_is_better=lower, alpha=limits.alpha, seed=limits.seed
        )
    except VgoError as error:
        return str(error)
