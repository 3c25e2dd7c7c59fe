"""A language model as planners see it, and one that runs in a process of its own."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any, Protocol, Self

from ...tools.child import Child, Ended, Refused


class ModelFailed(Exception):
    """There is no answer; the words say why. The next question starts anew."""


class ModelGone(ModelFailed):
    """Its process or its server ended, or it was late: the next question may cost as much again."""


class LanguageModel(Protocol):
    """A model in a process of its own, on a server, or in a record."""

    def describe(self) -> dict[str, Any]:
        """Say what it is, and by what build; raises ModelFailed where it cannot be had."""

    def ask(self, request: dict[str, Any], seconds: float) -> dict[str, Any]:
        """Ask one thing; raises ModelFailed where there is no answer within so many seconds.

        A request has `messages` (role and content), `grammar` (GBNF; empty: free), `schema` (the same as a JSON
        schema, or None), `most` (tokens), `temperature` and `seed`; an answer has `text`, `ended` (`stop`, or `length`
        where it was cut), `prompt_tokens`, `tokens` and `framed` (how the messages became a prompt); a process adds
        `seconds`, and `reused` (tokens of the prompt that were kept from the one before).
        """


LOAD_S = 300.0
"""Seconds to load a model: tens of gigabytes from a slow disk."""


class ModelProcess:
    """One GGUF, loaded when it is first asked."""

    def __init__(self, path: Path, context: int, threads: int) -> None:
        self.path = path
        self._load_params = {"path": str(path), "context": context, "threads": threads}
        self._child = Child([sys.executable, "-m", f"{__package__}.served"])
        self._loaded_by = 0
        self._described: dict[str, Any] = {}
        self.end = self._child.close

    @property
    def pid(self) -> int:
        """Of the process that has loaded it; 0 where none has."""
        return self._child.pid

    def describe(self) -> dict[str, Any]:
        """Say what is loaded, by what build, and what it takes now; raises ModelFailed where it cannot be."""
        self._load()
        return self._described | {"resident_bytes": _resident(self.pid)}

    def ask(self, request: dict[str, Any], seconds: float) -> dict[str, Any]:
        """Ask one thing; raises ModelFailed when it is refused, takes longer, or the process ends."""
        self._load()
        try:
            return self._asked("complete", {"request": request}, seconds)
        except Refused as refused:
            raise ModelFailed(str(refused)) from refused

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def _load(self) -> None:
        if self.pid and self.pid == self._loaded_by:
            return
        try:
            self._described = self._asked("load", self._load_params, LOAD_S)
        except Refused as refused:
            self.end()
            raise ModelGone(str(refused)) from refused
        self._loaded_by = self.pid

    def _asked(self, method: str, params: dict[str, Any], seconds: float) -> dict[str, Any]:
        try:
            answer: dict[str, Any] = self._child.ask(method, params, seconds)
        except Ended as ended:
            raise ModelGone(str(ended)) from ended
        return answer


def _resident(pid: int) -> int:
    """Bytes of memory that a process holds now; 0 where it has just ended."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")
