"""The answer of an evaluation for a terminal: the table, who is better than whom, then what failed and why."""

from __future__ import annotations

from collections.abc import Collection

from .difference import Difference
from .results import Results
from .tables import brief, difference_lines, duel_line, duels, failure_lines, notes

MAIN = "rules"
"""Whose failures are told where nobody was named: those of baselines are no news."""


def words(results: Results, found: Difference | None, asked: Collection[str], width: int) -> str:
    """Write everything, a line each below the table, which is as wide as the terminal allows."""
    seeds = ", ".join(map(str, results.seeds))
    cases = "case" if len(results.cases) == 1 else "cases"
    heads = [
        f"{len(results.cases)} {cases}, {'seeds' if ',' in seeds else 'seed'} {seeds}; with 95 % intervals over cases."
    ]
    blocks = [
        [results.stopped, *heads],
        [brief(results, width), *notes(results)],
        [duel_line(duel) for duel in duels(results)],
    ]
    shown = [name for name in results.contestants if name in asked or (not asked and name == MAIN)]
    if shown:
        wrong, of = failure_lines(results, shown), ", ".join(shown)
        blocks.append([f"What failed and why (of {of}):", *wrong] if wrong else [f"Nothing failed (of {of})."])
    if found is not None:
        blocks.append(["Against the results before:", *difference_lines(found)])
    return "\n\n".join("\n".join(filter(None, block)) for block in blocks if block)
