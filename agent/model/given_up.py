"""A model that is not asked any more in this diagnosis, after it was gone or late several times in a row.

Each time it is loaded anew, which takes minutes where it is large, and none of that is in the time of a decision.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .language_model import LanguageModel, ModelFailed, ModelGone

MOST_GONE = 3
"""Times in a row."""


@dataclass
class Patient:
    """Passes questions on for as long as the model is worth its time."""

    model: LanguageModel
    _gone: int = 0
    _last: str = ""

    def describe(self) -> dict[str, Any]:
        """Describe the model."""
        return self.model.describe()

    def ask(self, request: dict[str, Any], seconds: float) -> dict[str, Any]:
        """Ask one thing; raises ModelFailed where there is no answer, or the model is given up."""
        if self._gone >= MOST_GONE:
            raise ModelFailed(f"it is given up, since it was gone or late {MOST_GONE} times in a row: {self._last}")
        try:
            answer = self.model.ask(request, seconds)
        except ModelGone as gone:
            self._gone, self._last = self._gone + 1, str(gone)
            raise
        except ModelFailed:
            self._gone = 0
            raise
        self._gone = 0
        return answer
