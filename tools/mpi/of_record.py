"""The ranks of a diagnosis: those of its last profile, compared."""

from __future__ import annotations

from ...knowledge.errors import VgoError
from ..hosts import Hosts
from ..profiled import Profiled
from ..subject import Limits, Subject
from ..verdict import Placed
from .analyse import LEAST_SHARE, of_ranks
from .rank_summary import RankRows, Ranks, rank_rows


def ranked_runs(runs: Profiled) -> RankRows | None:
    """The ranks of the runs that explain; None where none told of itself, or rows are samples of a run."""
    if runs.sampled:
        return None
    frame = runs.table.frame
    try:
        found = rank_rows(runs.table.names, lambda name: frame[name].to_list())
    except VgoError:
        return None
    return found if found.runs.size else None


def compared_ranks(runs: Profiled, rows: RankRows | None, subject: Subject, limits: Limits) -> Ranks | str | None:
    """The ranks compared, or why that cannot be done; None where the program is not known to have any."""
    if rows is None:
        return None
    try:
        return of_ranks(
            rows,
            runs.outcome[rows.runs],
            subject.outcome,
            subject.unit,
            lower_is_better=subject.lower_is_better,
            alpha=limits.alpha,
            seed=limits.seed,
        )
    except VgoError as error:
        return str(error)


def places(ranks: Ranks | str | None, hosts: Hosts | None) -> tuple[Placed, ...]:
    """Name the rank, or the host of ranks, that slow runs go with; and hosts that make much of the variance."""
    found = list[Placed]()
    if isinstance(ranks, Ranks):
        meant = [one for one in ranks.ranks if ranks.verdict == "one rank" and one.rank == ranks.rank]
        late = [one for one in ranks.hosts if ranks.verdict == "one host" and one.host == ranks.host]
        told = [(f"rank {one.rank}", one, "the others wait for it") for one in meant]
        for name, one, why in (*told, *((one.host, one, "its ranks are late together") for one in late)):
            share, interval = one.explained, one.explained_interval
            found.append(Placed(name=name, share=share, interval=interval, why=why, by="rank"))
    if hosts and hosts.slow and hosts.shares and hosts.shares.between >= LEAST_SHARE:
        slow = sorted(hosts.slow, key=lambda one: one.p_value)
        name, ratios = " and ".join(one.host for one in slow), " and ".join(f"{one.ratio:.3g}" for one in slow)
        why = f"outcomes there are {ratios} times those of the median host"
        between = hosts.shares
        found.append(Placed(name=name, share=between.between, interval=between.interval, why=why, by="node"))
    return tuple(found)
