"""What a model is told before a decision: the state of the diagnosis in few words, and never the whole conversation.

Every text that a program, a table or a file brought is quoted, bounded and stripped, so that it cannot pass for a part
of the prompt; what is left out is counted.
"""

from __future__ import annotations

import json
from typing import Any

from ...prompts.render import render
from ...tools.case import open_candidates
from ...tools.ranking import RankedFactor
from ...tools.record import Finished
from .base import Menu, View

MOST_STEPS, MOST_FACTORS, MOST_CANDIDATES, MOST_CHOICES = 12, 40, 16, 8
SHARES = (1.0, 0.8, 0.65, 0.5, 0.35, 0.25, 0.1)
"""Of those, where a text would be too long: the first that fits, else the last."""
MOST_WORDS = 160
"""Characters of one summary."""
MOST_NAME = 48
"""Characters of a name that a file or a program gave."""
_MARKUP = str.maketrans({"<": "(", ">": ")", "[": "(", "]": ")", "{": "(", "}": ")", "|": "/", '"': "'", "`": "'"})
"""What chat templates and grammars give a meaning."""


def quoted(text: str, most: int = MOST_NAME) -> str:
    """Make a text from outside harmless: `plain`, in quotation marks."""
    return f'"{plain(text, most)}"'


def plain(text: str, most: int) -> str:
    """Make one line of printable ASCII without markup and quotation marks, of at most so many characters."""
    printed = "".join(char if " " <= char <= "~" else " " for char in text).translate(_MARKUP)
    words = " ".join(printed.split())
    return f"{words[:most]}{'...' if len(words) > most else ''}"


def state_text(view: View, listed: Menu, example: str, characters: int) -> str:
    """Write the state before a decision, in about so many characters; the same record gives the same text."""
    text = ""
    for share in SHARES:
        text = _state_text(view, listed, example, share)
        if len(text) <= characters:
            break
    return text


def _state_text(view: View, listed: Menu, example: str, share: float) -> str:
    steps, factors = view.record.calls, view.findings.factors
    candidates = open_candidates(view)
    most_steps, most_factors = _most(MOST_STEPS, share), _most(MOST_FACTORS, share)
    most_candidates, most_choices = _most(MOST_CANDIDATES, share), _most(MOST_CHOICES, share)
    return render(
        "model/decide.txt.j2",
        spent=round(100 * min(1.0, view.record.spent_s / view.limits.budget_s)),
        tried=len(view.findings.applied),
        most_tried=view.limits.max_mitigations,
        steps=[_step(call) for call in steps[-most_steps:]],
        steps_cut=_cut(len(steps), most_steps, "earlier ones"),
        factors=[_factor(factor) for factor in factors[:most_factors]],
        factors_cut=_cut(len(factors), most_factors, "weaker ones"),
        candidates=[
            f"{_value(one.mitigation)}: {quoted(one.when, MOST_WORDS)}" for one in candidates[:most_candidates]
        ],
        candidates_cut=_cut(len(candidates), most_candidates, "more"),
        menu=[_choices(tool, listed, most_choices) for tool in listed],
        example=example,
    )


def _most(usual: int, share: float) -> int:
    return max(1, round(usual * share))


def _cut(there: int, shown: int, what: str) -> str:
    return f" ({there - shown} {what} left out)" if there > shown else ""


def _step(call: Finished) -> str:
    arguments = " ".join(f"{name}={_value(value)}" for name, value in call.arguments.items())
    return f"{call.call_id} {' '.join(filter(None, (call.tool, arguments)))}: {quoted(call.said, MOST_WORDS)}"


def _factor(factor: RankedFactor) -> str:
    seen = "visible" if factor.suspect else "contrary" if factor.contrary else "not visible"
    return f"{quoted(factor.factor)} by {quoted(factor.column)}: AUC {factor.auc:.2f}, p {factor.p_value:.2g}, {seen}"


def _choices(tool: str, listed: Menu, most: int) -> str:
    """One tool with the values of its arguments, the usual one first."""
    words = [tool]
    for slot in listed[tool]:
        values = ["/".join(map(_value, choice)) for choice in slot.choices]
        more = f" or {len(values) - most} more" if len(values) > most else ""
        words.append(f"{'/'.join(slot.names)}: {', '.join(values[:most])}{more}")
    return "; ".join(words)


def _value(value: Any) -> str:
    if isinstance(value, str):
        return value if value.isascii() and value.replace("_", "").isalnum() else quoted(value)
    return json.dumps(value) if not isinstance(value, list | dict) else quoted(json.dumps(value), MOST_WORDS)
