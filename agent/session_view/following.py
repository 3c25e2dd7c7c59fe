"""Follow a run folder while it grows: new events and new rows are read once."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

from pydantic import ValidationError

from ...knowledge.errors import VgoError
from ...tools.findings import GIVEN_BY, Findings
from ...tools.row import RUNS
from ..record import record_of
from ..run_folder import RunFolder
from ..transcript import FORMAT, Approval, Decision, Event, RunStart, ToolEnd, ToolStart
from .measured import RunArrays, RunArraysBuilder, read_table
from .view import SessionView, view_of

MOST_AT_ONCE = 8 << 20
"""Bytes of rows read in one look."""


class Following:
    """The events and rows of one folder so far; looking again costs what has come since."""

    def __init__(self, folder: RunFolder) -> None:
        self.folder = folder
        self.events: list[Event] = []
        self._broken: VgoError | None = None
        """Why nothing more is read."""
        self._tools: dict[str, str] = {}
        self._findings: Findings | None = None
        """What the calls that have ended gave; None: to be read again."""
        self._tables: dict[str, RunArrays] = {}
        self._lines = _Tail(folder.transcript)
        self._rows: RunArraysBuilder | None = None
        self._partial: _Tail | None = None

    def look(self) -> bool:
        """Read what is new; tell whether anything is. VgoError where the folder is broken, or of a newer version."""
        if self._broken is not None:
            raise self._broken
        try:
            return self._look()
        except VgoError as error:
            self._broken = error
            raise

    def _look(self) -> bool:
        lines, anew = self._lines.more()
        if anew:
            self.events.clear()
            self._tools.clear()
            self._findings = None
        for line in lines:
            self._take(line)
        return self._look_at_rows() or bool(lines) or anew

    def view(self) -> SessionView:
        """Compute the view of now."""
        live = [self._rows.measured()] if self._rows is not None and self._rows.count else []
        tables = [self._tables[call] for call in self._tools if call in self._tables]
        if self._findings is None:
            self._findings = Findings(record_of(self.events, self.folder))
        return view_of(self.events, [*tables, *live], str(self.folder.path), self._findings)

    def _take(self, line: bytes) -> None:
        try:
            event = Event.model_validate_json(line)
        except ValidationError as error:
            raise VgoError(
                f"Event {len(self.events)} of {self.folder.path} is broken, or of a newer version; "
                "read the run with the version that made it."
            ) from error
        self._check(event)
        body = event.body
        self.events.append(event)
        if isinstance(body, ToolEnd | Approval):
            self._findings = None
        if isinstance(body, Decision):
            self._tools[body.call_id] = body.tool
            self._rows = RunArraysBuilder(body.call_id, body.tool)
            self._partial = _Tail(self.folder.partial / f"{body.call_id}.jsonl")
        elif isinstance(body, ToolEnd):
            self._rows = self._partial = None
            self._keep(body)

    def _newer(self, what: str) -> VgoError:
        return VgoError(
            f"{self.folder.path} has {what}, of a newer version; read the run with the version that made it."
        )

    def _check(self, event: Event) -> None:
        """Refuse what a view could not show."""
        body = event.body
        if isinstance(body, RunStart) and body.format > FORMAT:
            raise self._newer(f"format {body.format}")
        if isinstance(body, Approval | ToolStart | ToolEnd) and body.call_id not in self._tools:
            raise self._newer(f"an event of a call that was not chosen ({body.call_id})")
        if isinstance(body, ToolEnd) and body.result is not None:
            self._check_result(body.call_id, body.result)

    def _check_result(self, call_id: str, result: Mapping[str, Any]) -> None:
        for kind, tool in GIVEN_BY.items():
            if tool == self._tools[call_id]:
                try:
                    kind.model_validate(result)
                except ValidationError as error:
                    raise self._newer(f"a result of another form ({call_id})") from error

    def _keep(self, end: ToolEnd) -> None:
        if RUNS in end.artefacts and end.call_id not in self._tables:
            data = self.folder.get(end.artefacts[RUNS])
            self._tables[end.call_id] = read_table(data, end.call_id, self._tools.get(end.call_id, ""))

    def _look_at_rows(self) -> bool:
        if self._partial is None or self._rows is None:
            return False
        lines, anew = self._partial.more()
        if anew:
            self._rows = RunArraysBuilder(self._rows.call_id, self._rows.tool)
        try:
            self._rows.add([json.loads(line) for line in lines])
        except (ValueError, KeyError, TypeError) as error:
            raise VgoError(f"A row of {self._rows.call_id} in {self.folder.path} is broken ({error!r}).") from error
        return bool(lines) or anew


class _Tail:
    """Whole lines of a file that grows; one that was replaced is read anew."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: BinaryIO | None = None
        self._held = b""

    def more(self) -> tuple[list[bytes], bool]:
        """Give the lines since the last look, and whether the file is another one than then."""
        anew = self._reopened()
        if self._file is None:
            return [], anew
        *lines, self._held = (self._held + self._file.read(MOST_AT_ONCE)).split(b"\n")
        return lines, anew

    def _reopened(self) -> bool:
        try:
            now = os.stat(self._path)
        except OSError:
            return False
        if self._file is not None:
            then = os.fstat(self._file.fileno())
            if then.st_ino == now.st_ino and now.st_size >= self._file.tell():
                return False
            self._file.close()
        had = self._file is not None
        try:
            self._file = self._path.open("rb")
        except OSError as error:
            raise VgoError(f"{self._path} cannot be read ({error.strerror}); give the folder of a run.") from error
        self._held = b""
        return had
