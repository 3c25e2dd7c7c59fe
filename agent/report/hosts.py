"""The hosts of a diagnosis: how they compare, what draining the bad ones would do, factors within and between."""

from __future__ import annotations

from collections.abc import Mapping

from ...tools.nodes.node_comparison import NodeComparison
from . import nodes
from .evidence import Evidence
from .story import HostsStory


def hosts_story(evidence: Evidence) -> HostsStory | None:
    """Put what was seen in words."""
    seen = evidence.seen
    if seen is None or isinstance(seen, str):
        return HostsStory(seen) if seen else None
    found = seen.found
    rows, more = nodes.rows(found)
    return HostsStory(
        reason=found.reason,
        shares=nodes.shares(found),
        head=nodes.HEADER,
        rows=tuple(rows),
        more=more.strip(),
        drain=nodes.drain(found),
        lines=(*nodes.differences(found), *_factors(found), *nodes.notes(found)),
    )


def _factors(found: NodeComparison) -> tuple[str, ...]:
    """Within hosts and between them apart: a slow host must not make a factor of what differs there."""
    return (nodes.within(found), *nodes.between(found))


def pictures(evidence: Evidence) -> Mapping[str, str]:
    """Draw the runs of each host, and how hosts compare."""
    seen = evidence.seen
    if seen is None or isinstance(seen, str):
        return {"hosts": "", "standings": ""}
    from .nodes_figure import distributions, standings  # Matplotlib takes its time

    return {"hosts": distributions(*seen), "standings": standings(seen.found)}
