"""How a diagnosis answers: the object or the words, and one sentence on standard error when the data say nothing."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from ..terminal import answer, printable

if TYPE_CHECKING:
    from ..session import DiagnosisEnding


def give(ending: DiagnosisEnding, as_json: bool | str) -> int:
    """Answer, and return the exit code."""
    answer(ending.summary, ending.text, as_json)
    if ending.exit_code:
        print(f"vgo-agent: {printable(ending.summary['headline'])}", file=sys.stderr)
    return ending.exit_code
