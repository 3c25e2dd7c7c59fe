"""The asking end: one process, started when first needed, asked from any thread, one question at a time."""

from __future__ import annotations

import sys
from typing import Any, Self

from ...knowledge.errors import VgoError
from ...tools.child import Child, Ended, Refused


class Desk:
    """Use it in `with`, or close it."""

    def __init__(self) -> None:
        self._child = Child([sys.executable, "-m", str(__package__)])

    def ask(self, duty: str, **wanted: Any) -> Any:
        """Wait for what a duty gives; VgoError with its sentence where it is refused."""
        try:
            return self._child.ask(duty, wanted)
        except Refused as refused:
            raise VgoError(str(refused)) from refused
        except Ended as ended:
            raise VgoError(f"The process that answers has ended ({ended}); ask again.") from ended

    def close(self) -> None:
        """End the process; another thread that waits for an answer hears of it."""
        self._child.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
