"""Where a recording is made: a folder beside the case, in which every finished series stays if it is cut off."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ...agent.run_folder import RunFolder, write
from ...knowledge.errors import VgoError
from ...knowledge.files import read_model
from ...knowledge.shape import Frozen
from ...tools.execution.capture import SAID
from ...tools.machine import Machine
from ...tools.record import Finished, Outcome, Record
from ...tools.row import Row
from .recording_plan import RecordingPlan
from .schema import Trial

CALLS = ("baseline", "profile")


class Surveyed(Frozen):
    """The machine as the recording began, and which layers it can show."""

    machine: Machine
    layers: tuple[str, ...]
    """Those to profile with, by spec."""
    unavailable: dict[str, str] = {}
    """Those that can show nothing there, with the reason."""


class MitigationRecording(Frozen):
    """What became of one mitigation."""

    trial: Trial | None = None
    """None: it was refused."""
    refused: str = ""
    columns: tuple[str, ...] = ()
    """Those that its rows keep, or patterns of them."""


@dataclass(frozen=True)
class Workshop:
    """The folder; calls that ended stand in it with their results."""

    folder: RunFolder

    @classmethod
    def begin(cls, cases: Path, asked: RecordingPlan, force: bool) -> Workshop:
        """Begin a recording; one that was cut off is dropped only where that is said."""
        path = workshop_of(cases, asked.key)
        if path.exists() and not force:
            raise VgoError(f"A recording of {asked.key} was cut off: go on with --resume, or begin again with --force.")
        try:
            shutil.rmtree(path, ignore_errors=True)
            (path / "artefacts").mkdir(parents=True)
        except OSError as error:
            raise VgoError(f"Cannot write in {cases} ({error.strerror}); name another folder with --out.") from error
        workshop = cls(RunFolder(path))
        workshop.keep("asked", asked)
        return workshop

    @classmethod
    def reopen(cls, cases: Path, key: str) -> Workshop:
        """Go on with a recording that was cut off."""
        path = workshop_of(cases, key)
        if not (path / "asked.json").exists():
            raise VgoError(f"No recording of {key} was cut off in {cases}: leave --resume out.")
        return cls(RunFolder(path))

    def drop_if_empty(self) -> None:
        """Leave nothing behind where not even the machine was surveyed: there is nothing to go on with."""
        if self.surveyed() is None:
            shutil.rmtree(self.path)

    @property
    def path(self) -> Path:
        """The folder."""
        return self.folder.path

    @property
    def rows_folder(self) -> Path:
        """Rows of each series, as JSON lines."""
        return self.folder.partial

    def asked(self) -> RecordingPlan:
        """What was to be recorded when it began, or after it was fitted into the time that there is."""
        return read_model(self.path / "asked.json", RecordingPlan)

    def surveyed(self) -> Surveyed | None:
        """The first survey; None before it."""
        path = self.path / "surveyed.json"
        return read_model(path, Surveyed) if path.exists() else None

    def keep(self, name: str, what: RecordingPlan | Surveyed | MitigationRecording) -> None:
        """Keep `asked`, `surveyed`, or what became of a mitigation (`tried-KEY`), whose rows stand already."""
        write(self.path / f"{name}.json", what.model_dump_json(indent=1).encode())

    def record(self) -> Record:
        """The finished calls of the tools."""
        paths = [self.path / f"{name}.json" for name in CALLS]
        return Record(tuple(Finished(**json.loads(path.read_bytes())) for path in paths if path.exists()), self.folder)

    def keep_call(self, name: str, tool: str, arguments: Mapping[str, Any], outcome: Outcome) -> None:
        """Keep what a tool gave."""
        artefacts = {file: self.folder.put(content) for file, content in outcome.artefacts.items()}
        finished = Finished(name, tool, arguments, outcome.result.model_dump(mode="json"), artefacts)
        write(self.path / f"{name}.json", json.dumps(asdict(finished)).encode())

    def tried(self) -> dict[str, MitigationRecording]:
        """What became of the mitigations that were tried, by key."""
        paths = sorted(self.path.glob("tried-*.json"))
        return {path.stem.removeprefix("tried-"): read_model(path, MitigationRecording) for path in paths}

    def rows(self, series: str) -> list[Row]:
        """Rows of a finished series, without what the runs printed."""
        rows = map(json.loads, (self.rows_folder / f"{series}.jsonl").read_bytes().splitlines())
        return [{name: cell for name, cell in row.items() if name != SAID} for row in rows]

    def forget_rows(self, series: str) -> None:
        """Begin a series anew."""
        (self.rows_folder / f"{series}.jsonl").unlink(missing_ok=True)


def workshop_of(cases: Path, key: str) -> Path:
    """Where a case is recorded before it stands beside the others."""
    return cases / f".{key}.recording"
