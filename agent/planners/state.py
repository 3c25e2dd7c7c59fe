"""What a model is told before a decision: the state of the diagnosis in few words, and never the whole conversation.

Every text that a program, a table or a file brought is quoted, bounded and stripped, so that it cannot pass for a part
of the prompt; what is left out is counted.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ...prompts.render import render
from ...tools.case import Finished
from ...tools.look_up import Candidate
from ...tools.rank_factors import RankedFactor, RankResult
from ..legal import open_candidates
from .base import View
from .menu import Menu

MOST_STEPS, MOST_FACTORS, MOST_CANDIDATES, MOST_CHOICES = 12, 40, 16, 8
MOST_WORDS = 160
"""Characters of one summary."""
MOST_NAME = 48
"""Characters of a name that a file or a program gave."""
_MARKUP = str.maketrans({"<": "(", ">": ")", "[": "(", "]": ")", "{": "(", "}": ")", "|": "/", '"': "'", "`": "'"})
"""What chat templates and grammars give a meaning."""


def quoted(text: str, most: int = MOST_NAME) -> str:
    """Make a text from outside harmless: one line of printable ASCII in quotation marks, no markup, at most so long."""
    plain = "".join(char if " " <= char <= "~" else " " for char in text).translate(_MARKUP)
    words = " ".join(plain.split())
    return f'"{words[:most]}{"..." if len(words) > most else ""}"'


def told(view: View, listed: Menu, example: str) -> str:
    """Write the state before a decision; the same record gives the same text."""
    steps, factors = view.record.calls, _factors(view)
    candidates = open_candidates(view.record, view.limits)
    applied = {call.arguments.get("mitigation") for call in view.record.succeeded("apply_mitigation")}
    return render(
        "model/decide.txt.j2",
        spent=round(100 * min(1.0, view.record.spent_s / view.limits.budget_s)),
        tried=len(applied),
        most_tried=view.limits.max_mitigations,
        steps=[_step(call) for call in steps[-MOST_STEPS:]],
        steps_cut=_cut(len(steps), MOST_STEPS, "earlier ones"),
        factors=[_factor(factor) for factor in factors[:MOST_FACTORS]],
        factors_cut=_cut(len(factors), MOST_FACTORS, "weaker ones"),
        candidates=[_candidate(candidate) for candidate in candidates[:MOST_CANDIDATES]],
        candidates_cut=_cut(len(candidates), MOST_CANDIDATES, "more"),
        menu=[_choices(tool, listed) for tool in listed],
        example=example,
    )


def _cut(there: int, shown: int, what: str) -> str:
    return f" ({there - shown} {what} left out)" if there > shown else ""


def _step(call: Finished) -> str:
    arguments = " ".join(f"{name}={_value(value)}" for name, value in call.arguments.items())
    said = call.error if call.result is None else str(call.result.get("summary", ""))
    return f"{call.call_id} {' '.join(filter(None, (call.tool, arguments)))}: {quoted(said, MOST_WORDS)}"


def _factors(view: View) -> Sequence[RankedFactor]:
    ranked = view.record.succeeded("rank_factors")
    return ranked[-1].read(RankResult).factors if ranked else ()


def _factor(factor: RankedFactor) -> str:
    seen = "visible" if factor.suspect else "contrary" if factor.contrary else "not visible"
    return f"{quoted(factor.factor)} by {quoted(factor.column)}: AUC {factor.auc:.2f}, p {factor.p_value:.2g}, {seen}"


def _candidate(candidate: Candidate) -> str:
    return f"{candidate.mitigation}: {quoted(candidate.when, MOST_WORDS)}"


def _choices(tool: str, listed: Menu) -> str:
    """One tool with the values of its arguments, the usual one first."""
    words = [tool]
    for slot in listed[tool]:
        values = ["/".join(map(_value, choice)) for choice in slot.choices]
        more = f" or {len(values) - MOST_CHOICES} more" if len(values) > MOST_CHOICES else ""
        words.append(f"{'/'.join(slot.names)}: {', '.join(values[:MOST_CHOICES])}{more}")
    return "; ".join(words)


def _value(value: Any) -> str:
    if isinstance(value, str):
        return value if value.isascii() and value.replace("_", "").isalnum() else quoted(value)
    return json.dumps(value) if not isinstance(value, list | dict) else quoted(json.dumps(value), MOST_WORDS)
