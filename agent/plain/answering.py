"""What a line means while something is asked that goes beyond the program."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ...tools.plan import NO_MORE

_DENIED = re.compile(r"(?:/deny|no|n|deny|skip)(?:[ ,:]+(?:because )?(?P<reason>.*))?", re.IGNORECASE)
_GRANTED = re.compile(
    r"(?:/approve|yes|y|approve|ok)(?P<run>[ ,]+(?:for )?(?:this |the )?run)?(?: once)?", re.IGNORECASE
)
_NEVER = re.compile(r"(?:/never|never)(?:[ ,].*)?", re.IGNORECASE)
_DONE = re.compile(r"(?:/done|done|yes|y)", re.IGNORECASE)


def answered(line: str, question: Mapping[str, Any]) -> dict[str, Any] | None:
    """Read an answer as `ChatSession.answer` takes it; None where the line is something else, as a question."""
    text = line.strip().rstrip(".!")
    by_hand = bool(question.get("steps"))
    if _NEVER.fullmatch(text):
        return _given(False, NO_MORE if by_hand else "never in this run", not by_hand)
    if denied := _DENIED.fullmatch(text):
        return _given(False, denied["reason"] or ("skipped" if by_hand else "denied"))
    if by_hand:
        return _given(True, "done by hand") if _DONE.fullmatch(text) else None
    granted = _GRANTED.fullmatch(text)
    if granted is None:
        return None
    whole = bool(granted["run"])
    return _given(True, "approved for this run" if whole else "approved once", whole)


def _given(granted: bool, reason: str, standing: bool = False) -> dict[str, Any]:
    return {"granted": granted, "reason": reason, "standing": standing}
