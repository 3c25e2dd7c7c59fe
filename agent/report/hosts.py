"""The hosts of a diagnosis: how they compare, what draining the bad ones would do, factors within and between."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import nodes
from .evidence import Evidence


def hosts_story(evidence: Evidence) -> dict[str, Any] | None:
    """Put what was seen in words; None where all runs were made on one host."""
    seen = evidence.seen
    if seen is None:
        return None
    if isinstance(seen, str):
        return {"reason": seen, "shares": "", "drain": "", "rows": (), "more": "", "lines": ()}
    found = seen.found
    rows, more = nodes.rows(found)
    # Within hosts and between them apart: a slow host must not make a factor of what differs there.
    factors = (nodes.within(found), *nodes.between(found))
    return {
        "reason": found.reason,
        "shares": nodes.shares(found),
        "head": nodes.HEADER,
        "rows": rows,
        "more": more.strip(),
        "drain": nodes.drain(found),
        "lines": (*nodes.differences(found), *factors, *nodes.notes(found)),
    }


def pictures(evidence: Evidence) -> Mapping[str, str]:
    """Draw the runs of each host, and how hosts compare."""
    seen = evidence.seen
    if seen is None or isinstance(seen, str):
        return {"hosts": "", "standings": ""}
    from .nodes_figure import distributions, standings  # Matplotlib takes its time

    return {"hosts": distributions(*seen), "standings": standings(seen.found)}
