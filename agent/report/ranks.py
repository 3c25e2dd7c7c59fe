"""The ranks of an MPI program in words: for a terminal and for programs; and their table as a file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ...knowledge.errors import VgoError
from ...tools.document import SHARE, Block, Cell, Headline, Note, Section, Table, TableColumn
from ...tools.mpi.rank_summary import HostRanks, RankRows, Ranks, RankSummary, ranks_table
from ...tools.verdict import placed
from ..render.text import blocks_text
from .evidence import Evidence
from .numbers import ABSENT, number, p_cell, p_value, percent

RANKS = (
    "rank",
    "host",
    "CPUs",
    TableColumn("outside MPI", "s"),
    TableColumn("waiting", SHARE, 2),
    TableColumn("preempted", digits=2),
    TableColumn("migrated", digits=2),
    "slowest in [95 %]",
    "p",
    TableColumn("of slow runs", SHARE, 2),
    "variance [95 %]",
    "p",
)
HOSTS = (
    "host",
    "ranks",
    TableColumn("outside MPI", "s"),
    TableColumn("has the slowest in", SHARE, 2),
    "variance [95 %]",
    "p",
)
MOST_ROWS = 16
MOST_PLACED = 4
LEVEL = 0.05
PLACES = {"host": "on host", "cpus": "bound to CPUs", "cpu": "on CPU"}


def summary(found: Ranks, source: str) -> dict[str, Any]:
    """Give the object that `--json` prints."""
    return {**found.model_dump(mode="json"), "file": source}


def text(found: Ranks) -> str:
    """Give the words of a terminal."""
    more = len(found.ranks) - MOST_ROWS
    rest = f"... and {more} more (--json names all)" if more > 0 else ""
    head = (Headline(found.verdict, found.reason), _unevenness(found), _rank_table(found), rest)
    return blocks_text((*head, _host_table(found), *_statements(found)))


def _unevenness(found: Ranks) -> str:
    return (
        f"{number(found.runs)} runs of {found.outcome} with {number(len(found.ranks))} ranks: the ranks wait "
        f"{percent(found.waiting)} of their time (median); the slowest computes {percent(found.imbalance - 1, 2)} "
        f"longer than the mean. {percent(found.common, 2)} of the variance goes with the time outside MPI of "
        f"{'all ranks together' if found.rank is None else 'the other ranks'}."
    )


def _rank_table(found: Ranks) -> Table:
    """Tabulate the ranks: of many, those that say most."""
    ranked = sorted(found.ranks, key=lambda one: (one.rank != found.rank, -one.explained, -one.slowest))
    return Table(RANKS, [_row(one) for one in sorted(ranked[:MOST_ROWS], key=lambda one: one.rank)])


def _row(one: RankSummary) -> tuple[Cell, ...]:
    return (
        one.rank,
        one.host or ABSENT,
        one.cpus or ABSENT,
        one.own_s,
        one.waiting,
        one.preemptions,
        one.migrations,
        _shares(one.slowest, one.interval.low, one.interval.high),
        p_cell(one.p_slowest),
        one.slowest_of_slow,
        _shares(one.explained, one.explained_interval.low, one.explained_interval.high),
        p_cell(one.p_explained),
    )


def _shares(share: float, low: float, high: float) -> str:
    return f"{percent(share, 2)} [{percent(low, 2)}, {percent(high, 2)}]"


def _why(found: Ranks) -> Iterator[str]:
    yield from _of_host(found)
    one = next((one for one in found.ranks if one.rank == found.rank), None)
    if one is None:
        return
    where = f" (on {one.host})" if one.host else ""
    yield (
        f"Rank {one.rank}{where}: the slowest in {percent(one.slowest, 2)} of the runs, by chance "
        f"{percent(1 / len(found.ranks), 2)}; in {percent(one.slowest_of_slow, 2)} of the {number(found.slow_runs)} "
        f"slow ones. Its time beyond the others' goes with {percent(one.explained, 2)} of the variance."
    )
    if found.on_cpu is not None:
        yield _on_cpu(found.on_cpu)
    for linked in found.within:
        if linked.p_value <= LEVEL and linked.correlation > 0:
            r = f"{linked.correlation:.2f}"
            yield f"Its {linked.name} go with it (rank correlation {r}, {p_value(linked.p_value)})."


def _of_host(found: Ranks) -> Iterator[str]:
    for one in found.hosts:
        if one.host == found.host:
            many = f"{number(len(one.ranks))} of {number(len(found.ranks))} ranks"
            yield (
                f"{one.host} has {many}, and the slowest of all in {percent(one.slowest, 2)} of the runs. What its "
                f"ranks compute beyond the others goes with {percent(one.explained, 2)} of the variance, without the "
                f"latest of them with {percent(one.together, 2)}."
            )


def _host_table(found: Ranks) -> Table:
    """Tabulate the hosts, those that say most first; nothing for one host."""
    ranked = sorted(found.hosts, key=lambda one: (one.host != found.host, -one.explained, -one.slowest))
    return Table(HOSTS, [_host(one) for one in ranked[:MOST_ROWS]])


def _host(one: HostRanks) -> tuple[Cell, ...]:
    explained = _shares(one.explained, one.explained_interval.low, one.explained_interval.high)
    return one.host, len(one.ranks), one.own_s, one.slowest, explained, p_cell(one.p_explained)


def _on_cpu(share: float) -> str:
    part = "Less than 1 %" if share < 0.01 else percent(share, 2)
    words = f"{part} of what its time outside MPI varies by is CPU time"
    if share >= 0.5:
        return f"{words}: it has more to compute then, or computes on a CPU that does less."
    return f"{words}: the rest it is off its CPU, pre-empted, asleep, or waiting for a disk."


def _places(found: Ranks) -> Iterator[str]:
    telling = [one for one in found.placed if one.p_value <= LEVEL]
    for one in telling[:MOST_PLACED]:
        yield (
            f"A rank computes {number(one.ratio, 3)} times as long {PLACES[one.factor]} {one.level} as elsewhere "
            f"({p_value(one.p_value)}, over all places)."
        )
    if found.placed and not telling:
        yield "No host or CPU changes how long a rank computes by more than luck."


def save(rows: RankRows, path: Path) -> None:
    """Write one line a run and rank, as Parquet where the name says so, else as CSV."""
    table = ranks_table(rows)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".parquet":
            table.write_parquet(path)
        else:
            table.write_csv(path)
    except OSError as error:
        raise VgoError(f"Cannot write {path} ({error.strerror}); choose another file for --save.") from error


def csv_of(evidence: Evidence) -> bytes | None:
    """One line a run and rank; `run` is the `order` of the run in its profile."""
    rows, profiled = evidence.ranked_runs, evidence.runs_explained
    if rows is None or profiled is None:
        return None
    order = profiled.table.frame["order"].to_numpy().astype(np.int64)
    return ranks_table(replace(rows, runs=order[rows.runs])).write_csv().encode()


def section(evidence: Evidence) -> Iterator[Section]:
    """Tell of the ranks in a report; nothing where the program is not known to have any."""
    found = evidence.ranks
    if isinstance(found, str):
        yield Section("The ranks", (found,))
    elif found:
        told = f"{found.verdict.capitalize()}. {found.reason} {_unevenness(found)}"
        file = "One line a run and rank: `ranks.csv`."
        yield Section("The ranks", (told, _rank_table(found), _host_table(found), *_statements(found), file))


def _statements(found: Ranks) -> Iterator[Block]:
    yield from (*_why(found), *_places(found))
    yield from map(Note, found.notes)


def remarks(evidence: Evidence) -> Iterator[str]:
    """Name the rank that slow runs wait for."""
    found = evidence.ranks
    if not isinstance(found, Ranks) or found.verdict not in ("one rank", "one host"):
        return
    ranks = [one for one in found.ranks if one.rank == found.rank]
    one: RankSummary | HostRanks = ranks[0] if ranks else next(one for one in found.hosts if one.host == found.host)
    low, high = one.explained_interval.low, one.explained_interval.high
    where = f"it runs on {one.host}, and " if ranks and one.host else ""
    others = "theirs" if ranks else "the other hosts'"
    if placed(evidence.verdict):  # the verdict has the sentence and its numbers
        yield (
            f"Rank {found.rank} runs on {one.host}; the report has all ranks." if where else "The report has all ranks."
        )
        return
    yield (
        f"{found.reason} Its time outside MPI beyond {others} goes with {percent(one.explained, 2)} "
        f"[{percent(low, 2)}, {percent(high, 2)}] of the variance; {where}the report has all ranks."
    )
