"""A fleet in words for a terminal, as one object for programs, and as a page with pictures."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...tools import document as doc
from ...tools.nodes.analyse import NodeComparison, Nodes, NodeSummary
from ...tools.nodes.of_record import WithinNodeEffect
from ...tools.recorded.recorded import Observations, RecordedRuns
from ...tools.row import rows_csv
from ...tools.statistics.fleet.levels import NodeDeviation, Pooled
from ...tools.verdict import EXPLAINED
from ..render.html import html_page
from .analysis import FACTORS, factors
from .evidence import Evidence
from .numbers import number, p_cell, p_value, percent, quantity, ratio

NODES = ("node", "runs", "median", "speed ratio", "p", "spread ratio", "p", "")
MOST_ROWS = 20
MOST_EXPLAINED = 10
LEVEL = 0.05


def summary(found: NodeComparison, pooled: WithinNodeEffect | None, recorded: RecordedRuns) -> dict[str, Any]:
    """Give the object that `--json` prints."""
    effect = pooled.model_dump(mode="json") if pooled else None
    return {**found.model_dump(mode="json"), "effect": effect, "file": recorded.source, "notes": list(recorded.notes)}


def document(found: NodeComparison, pooled: WithinNodeEffect | None, remarks: Sequence[str] = ()) -> doc.Document:
    """Put everything in words; `remarks` are of the file that was read."""
    explained = found.within.verdict == EXPLAINED
    factors_within = doc.Table(FACTORS, factors(found.within)[1][:5] if explained else [])
    linked: tuple[doc.Block, ...] = (
        _within(found),
        factors_within,
        *_between_nodes(found),
        *map(doc.Note, (*remarks, *_notes(found))),
    )
    return doc.Document(
        f"{found.outcome} on {len(found.nodes)} nodes",
        "nodes",
        (
            doc.Headline(found.verdict, found.reason),
            *_comparison(found),
            *(_effects(pooled) if pooled else ()),
            doc.Section("What goes with slow runs", linked),
        ),
    )


def hosts(evidence: Evidence) -> Iterator[doc.Section]:
    """Compare the hosts of a diagnosis, or say why that cannot be done; nothing where all runs were made on one."""
    seen = evidence.seen
    if isinstance(seen, str):
        yield doc.Section("Hosts", (seen,))
    elif seen:
        found = seen.found
        # Within hosts and between them apart: a slow host must not make a factor of what differs there.
        linked: tuple[doc.Block, ...] = (_within(found), *_between_nodes(found), *map(doc.Note, _notes(found)))
        yield doc.Section("Hosts", (found.reason, *_comparison(found), *linked))


def _comparison(found: NodeComparison) -> Iterator[doc.Block]:
    """What a fleet and the hosts of a diagnosis say alike: odd nodes first, then the slowest."""
    yield _shares(found)
    yield doc.Note(_drain(found), "Next")
    marks = "Each mark is a run, each line the median of a node; odd nodes are triangles."
    yield doc.Figure("distributions", marks)
    bars = "Each node against the median node, with simultaneous 95 % intervals."
    yield doc.Figure("standings", bars)
    ranked = sorted(found.nodes, key=lambda node: not node.odd)
    yield doc.Table(NODES, [_row(node, found.unit) for node in ranked[:MOST_ROWS]])
    more = len(ranked) - MOST_ROWS
    yield (f"... and {number(more)} more (--json names all)" if more > 0 else "")
    yield from _differences(found)


def _shares(found: NodeComparison) -> str:
    one = found.shares
    low, high = percent(one.interval.low, 2), percent(one.interval.high, 2)
    return (
        f"{number(found.runs)} runs of {found.outcome} on {len(found.nodes)} nodes: {percent(one.between, 2)} "
        f"[{low}, {high}] of the variance lies between nodes ({one.method}); nodes differ by about "
        f"{percent(one.between_sd, 2)}, the runs of a node by {percent(one.within_sd, 2)}."
    )


def _row(node: NodeSummary, unit: str) -> tuple[str, ...]:
    odd = [what for what, one in (("speed", node.level), ("spread", node.spread)) if one and one.odd]
    words = f"odd in {' and '.join(odd)}" if odd else ""
    return (node.name, str(node.runs), quantity(node.median, unit), *_cells(node.level), *_cells(node.spread), words)


def _cells(one: NodeDeviation | None) -> tuple[str, str]:
    if one is None:
        return "–", "–"
    return ratio(one.ratio, one.interval.low, one.interval.high), p_cell(one.p_value)


def _differences(found: NodeComparison) -> Iterator[str]:
    for node in [node for node in found.nodes if node.odd][:MOST_EXPLAINED]:
        if not node.differs:
            yield f"{node.name}: no recorded column stands out there."
            continue
        parts = [f"{one.name} {number(one.here)} (others {number(one.elsewhere)})" for one in node.differs]
        yield f"{node.name} stands out in {', '.join(parts)}."


def _drain(found: NodeComparison) -> str:
    """Say what taking bad nodes out would do; that is no proof of what is wrong with them."""
    one = found.drained
    if one is None:
        return ""
    return (
        f"Drain {', '.join(found.drain)}: the SD of all runs would be {_between(one.sd_ratio, one.sd_interval)} of "
        f"what it is, the mean {number(one.mean_ratio, 3)}, with "
        f"{number(one.runs_left)} of {number(found.runs)} runs left."
    )


def _effects(pooled: WithinNodeEffect) -> Iterator[doc.Block]:
    first, second = pooled.conditions
    yield f"{second} is compared with {first} within {pooled.spread.nodes} nodes."
    yield doc.Facts((("spread", f"x{_pooled(pooled.spread)}"), ("level", f"x{_pooled(pooled.level)}")))
    left_out = ", ".join(pooled.left_out)
    yield (f"Left out, with too few runs of both: {left_out}." if left_out else "")


def _pooled(one: Pooled) -> str:
    ends = one.expected
    wide = f"; on a further node [{number(ends.low, 3)}, {number(ends.high, 3)}]" if ends else ""
    return f"{_between(one.ratio, one.interval)}, I2 between nodes {percent(one.heterogeneity, 2)}{wide}"


def _between(value: float, interval: Any) -> str:
    return ratio(value, interval.low, interval.high)


def _within(found: NodeComparison) -> str:
    one = found.within
    return f"Within nodes: {one.verdict}. {one.reason}".rstrip()


def _between_nodes(found: NodeComparison) -> Iterator[str]:
    if not found.between:
        yield "Between nodes: too few nodes to rank columns by them (six are needed)."
        return
    told = [one for one in found.between if one.p_value <= LEVEL]
    if not told:
        yield "Between nodes: no column follows their level by more than luck."
    for one in told:
        linked = f"rank correlation {one.correlation:.2f}, {p_value(one.p_value)}"
        yield f"Between nodes: {one.name} follows their level ({linked})."


def _notes(found: NodeComparison) -> Iterator[str]:
    if found.alike:
        yield (
            "With fewer than six nodes nobody can tell how much ordinary ones differ: they were taken to be alike, "
            "and an odd one has to lie three times as far off as the others from each other."
        )
    else:
        yield f"Ordinary nodes differ by {percent(found.ordinary_sd, 2)} (robust SD); p-values pay for all nodes."
    yield "What stands out on an odd node goes with it, and need not be the cause."
    yield from found.warnings


def save(
    found: NodeComparison,
    pooled: WithinNodeEffect | None,
    design: Observations,
    nodes: Nodes,
    command: str,
    folder: Path,
) -> None:
    """Write the page, its pictures, the table and the object into a folder, which is made."""
    from .strips import distributions, standings  # Matplotlib takes its time
    from .svg import save_files, standalone

    drawn = {"distributions": distributions(found, design, nodes), "standings": standings(found)}
    page = doc.illustrated(document(found, pooled), drawn)
    page = replace(page, blocks=(doc.Command(command, "The command that gives this page"), *page.blocks))
    pictures = {f"{name}.svg": standalone(svg) for name, svg in drawn.items()}
    described = json.dumps(found.model_dump(mode="json"), indent=2) + "\n"
    save_files(folder, {**pictures, "nodes.json": described, "nodes.csv": _csv(found), "nodes.html": html_page(page)})


def _csv(found: NodeComparison) -> str:
    rows = [
        {
            "node": node.name,
            "runs": node.runs,
            "median": node.median,
            "ratio": node.level.ratio,
            "low": node.level.interval.low,
            "high": node.level.interval.high,
            "p": node.level.p_value,
            "spread_ratio": node.spread.ratio if node.spread else None,
            "spread_p": node.spread.p_value if node.spread else None,
            "odd": int(node.odd),
        }
        for node in found.nodes
    ]
    return rows_csv(rows, list(rows[0])).decode()


def pictures(evidence: Evidence) -> dict[str, str]:
    """Draw the runs of each host, and how hosts compare."""
    seen = evidence.seen
    if seen is None or isinstance(seen, str):
        return {}
    from .strips import distributions, standings  # Matplotlib takes its time

    return {"distributions": distributions(*seen), "standings": standings(seen.found)}
