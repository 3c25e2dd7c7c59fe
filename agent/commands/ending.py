"""How what has run answers: the object or the words, and one sentence on standard error when the data say nothing."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from ..terminal import answer, printable

if TYPE_CHECKING:
    from ..experiment import ShownAnswer
    from ..session import DiagnosisEnding


def give(ending: DiagnosisEnding, as_json: bool | str) -> int:
    """Answer with a diagnosis, and return the exit code."""
    return _given(ending.summary, ending.text, ending.summary["headline"] if ending.exit_code else "", as_json)


def give_shown(shown: ShownAnswer, as_json: bool | str) -> int:
    """Answer with an experiment, and return the exit code."""
    return _given(*shown, as_json)


def _given(values: dict[str, Any], words: str, failure: str, as_json: bool | str) -> int:
    answer(values, words, as_json)
    if failure:
        print(f"vgo-agent: {printable(failure)}", file=sys.stderr)
    return 1 if failure else 0
