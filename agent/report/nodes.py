"""A fleet in words for a terminal, as one object for programs, and as a page with pictures."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
from markupsafe import Markup

from ...prompts.render import render
from ...tools.nodes.analyse import NodeComparison, NodeDeviation, Nodes, NodeSummary
from ...tools.nodes.of_record import WithinNodeEffect
from ...tools.recorded.recorded import RecordedRuns
from ...tools.recorded.shapes import Observations
from ...tools.statistics.fleet.levels import Pooled
from ..terminal import folded, table
from .analysis import FACTORS, factors
from .evidence import Evidence
from .numbers import number, p_cell, p_value, percent, quantity, ratio

HEADER = ("NODE", "RUNS", "MEDIAN", "SPEED RATIO", "P", "SPREAD RATIO", "P", "")
MOST_ROWS = 20
MOST_EXPLAINED = 10
LEVEL = 0.05


def summary(found: NodeComparison, pooled: WithinNodeEffect | None, recorded: RecordedRuns) -> dict[str, Any]:
    """Give the object that `--json` prints."""
    effect = pooled.model_dump(mode="json") if pooled else None
    return {**found.model_dump(mode="json"), "effect": effect, "file": recorded.source, "notes": list(recorded.notes)}


def text(found: NodeComparison, pooled: WithinNodeEffect | None, recorded: RecordedRuns) -> str:
    """Give the words of a terminal."""
    shown, more = rows(found)
    explaining = _factors(found)
    words = render(
        "nodes.txt.j2",
        nodes=table(HEADER, shown) + more,
        factors=table(FACTORS, explaining) if explaining else "",
        notes=[*recorded.notes, *notes(found)],
        **_sentences(found, pooled),
    )
    return folded(words)


def _sentences(found: NodeComparison, pooled: WithinNodeEffect | None) -> dict[str, Any]:
    """What the terminal and the page say alike."""
    return {
        "verdict": found.verdict,
        "reason": found.reason,
        "shares": shares(found),
        "differences": list(differences(found)),
        "drain": drain(found),
        "effect": list(_effects(pooled)) if pooled else [],
        "within": within(found),
        "between": list(between(found)),
    }


def shares(found: NodeComparison) -> str:
    """Say how much lies between nodes."""
    one = found.shares
    low, high = percent(one.interval.low, 2), percent(one.interval.high, 2)
    return (
        f"{number(found.runs)} runs of {found.outcome} on {len(found.nodes)} nodes: {percent(one.between, 2)} "
        f"[{low}, {high}] of the variance lies between nodes ({one.method}); nodes differ by about "
        f"{percent(one.between_sd, 2)}, the runs of a node by {percent(one.within_sd, 2)}."
    )


def rows(found: NodeComparison) -> tuple[list[tuple[str, ...]], str]:
    """Rows to show: odd nodes first, then the slowest."""
    ranked = sorted(found.nodes, key=lambda node: not node.odd)
    more = len(ranked) - MOST_ROWS
    words = f"\n... and {number(more)} more (--json names all)" if more > 0 else ""
    return [_row(node, found.unit) for node in ranked[:MOST_ROWS]], words


def _row(node: NodeSummary, unit: str) -> tuple[str, ...]:
    odd = [what for what, one in (("speed", node.level), ("spread", node.spread)) if one and one.odd]
    words = f"odd in {' and '.join(odd)}" if odd else ""
    return (node.name, str(node.runs), quantity(node.median, unit), *_cells(node.level), *_cells(node.spread), words)


def _cells(one: NodeDeviation | None) -> tuple[str, str]:
    if one is None:
        return "–", "–"
    return ratio(one.ratio, one.interval.low, one.interval.high), p_cell(one.p_value)


def differences(found: NodeComparison) -> Iterator[str]:
    """Say where each odd node stands out."""
    for node in [node for node in found.nodes if node.odd][:MOST_EXPLAINED]:
        if not node.differs:
            yield f"{node.name}: no recorded column stands out there."
            continue
        parts = [f"{one.name} {number(one.here)} (others {number(one.elsewhere)})" for one in node.differs]
        yield f"{node.name} stands out in {', '.join(parts)}."


def drain(found: NodeComparison) -> str:
    """Say what taking bad nodes out would do; that is no proof of what is wrong with them."""
    one = found.drained
    if one is None:
        return ""
    return (
        f"Drain {', '.join(found.drain)}: the SD of all runs would be {_between(one.sd_ratio, one.sd_interval)} of "
        f"what it is, the mean {number(one.mean_ratio, 3)}, with "
        f"{number(one.runs_left)} of {number(found.runs)} runs left."
    )


def _effects(pooled: WithinNodeEffect) -> Iterator[str]:
    """Say what a condition does on the nodes together."""
    first, second = pooled.conditions
    yield f"{second} against {first}, compared within {pooled.spread.nodes} nodes: "
    yield f"  spread x{_pooled(pooled.spread)}"
    yield f"  level  x{_pooled(pooled.level)}"
    if pooled.left_out:
        yield f"Left out, with too few runs of both: {', '.join(pooled.left_out)}."


def _pooled(one: Pooled) -> str:
    ends = one.expected
    wide = f"; on a further node [{number(ends.low, 3)}, {number(ends.high, 3)}]" if ends else ""
    return f"{_between(one.ratio, one.interval)}, I2 between nodes {percent(one.heterogeneity, 2)}{wide}"


def _between(value: float, interval: Any) -> str:
    return ratio(value, interval.low, interval.high)


def within(found: NodeComparison) -> str:
    """Say what was found about the runs of each node."""
    one = found.within
    return f"Within nodes: {one.verdict}. {one.reason}".rstrip()


def _factors(found: NodeComparison) -> list[tuple[str, ...]]:
    return factors(found.within)[1][:5] if found.within.verdict == "cause explained" else []


def between(found: NodeComparison) -> Iterator[str]:
    """Name what goes with the level of nodes."""
    if not found.between:
        yield "Between nodes: too few nodes to rank columns by them (six are needed)."
        return
    told = [one for one in found.between if one.p_value <= LEVEL]
    if not told:
        yield "Between nodes: no column follows their level by more than luck."
    for one in told:
        linked = f"rank correlation {one.correlation:.2f}, {p_value(one.p_value)}"
        yield f"Between nodes: {one.name} follows their level ({linked})."


def notes(found: NodeComparison) -> Iterator[str]:
    """Give the warnings, and what the numbers rest on."""
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
    from .canvas import standalone
    from .fleet_figures import standings  # Matplotlib takes its time
    from .saving import save_files
    from .strips import distributions

    drawn = {"distributions": distributions(found, design, nodes), "standings": standings(found)}
    files = {f"{name}.svg": standalone(svg) for name, svg in drawn.items()}
    files["nodes.json"] = json.dumps(found.model_dump(mode="json"), indent=2) + "\n"
    files["nodes.csv"] = _csv(found)
    files["nodes.html"] = _page(found, pooled, drawn, command)
    save_files(folder, files)


def _page(found: NodeComparison, pooled: WithinNodeEffect | None, drawn: dict[str, str], command: str) -> str:
    shown, more = rows(found)
    return render(
        "nodes.html.j2",
        title=f"{found.outcome} on {len(found.nodes)} nodes",
        command=command,
        head=HEADER,
        rows=shown,
        more=more.strip(),
        factor_head=FACTORS,
        factors=_factors(found),
        notes=list(notes(found)),
        pictures={name: Markup(svg) for name, svg in drawn.items()},
        **_sentences(found, pooled),
    )


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
    return pd.DataFrame(rows).to_csv(index=False)


def hosts_story(evidence: Evidence) -> dict[str, Any] | None:
    """Put what was seen in words; None where all runs were made on one host."""
    seen = evidence.seen
    if seen is None:
        return None
    if isinstance(seen, str):
        return {"reason": seen, "shares": "", "drain": "", "listed": (), "more": "", "lines": ()}
    found = seen.found
    listed, more = rows(found)
    # Within hosts and between them apart: a slow host must not make a factor of what differs there.
    factors = (within(found), *between(found))
    return {
        "reason": found.reason,
        "shares": shares(found),
        "head": HEADER,
        "listed": listed,
        "more": more.strip(),
        "drain": drain(found),
        "lines": (*differences(found), *factors, *notes(found)),
    }


def pictures(evidence: Evidence) -> Mapping[str, str]:
    """Draw the runs of each host, and how hosts compare."""
    seen = evidence.seen
    if seen is None or isinstance(seen, str):
        return {"hosts": "", "standings": ""}
    from .fleet_figures import standings  # Matplotlib takes its time
    from .strips import distributions

    return {"hosts": distributions(*seen), "standings": standings(seen.found)}
