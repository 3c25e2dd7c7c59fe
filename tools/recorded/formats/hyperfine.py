"""hyperfine --export-json: one row a run, the command as a setting where there are several."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

import polars as pl
from pydantic import BaseModel, Field, ValidationError

from ....knowledge.errors import VgoError
from ....knowledge.files import first, parsed_json
from ..recorded import Format, RecordedRuns, TableSource

Shape = TypeVar("Shape", bound=BaseModel)
_START = re.compile(rb'\s*(\{\s*["}]|\[\s*[\[{"\d\]])')


def is_json(source: TableSource) -> bool:
    """Tell JSON by how it starts; a table may start with a bracket too, hence the second mark."""
    return bool(_START.match(source.head))


def looks_like(source: TableSource, *keys: str) -> bool:
    """Tell whether a file is a JSON object with one of these keys near its start."""
    return is_json(source) and any(f'"{key}"'.encode() in source.head for key in keys)


def load(source: TableSource, shape: type[Shape], tool: str) -> Shape:
    """Read a JSON file of a known tool; what is wrong with it is named by place."""
    try:
        return shape.model_validate(parsed_json(source.text()))
    except json.JSONDecodeError as error:
        raise _broken(source, error) from error
    except ValidationError as error:
        raise VgoError(f"{source.given} is no file of {tool}: {first(error)}, or export it again.") from error


def refuse_broken(source: TableSource) -> None:
    """Refuse JSON that does not parse; several values in one file, as in JSON lines, are whole."""
    try:
        parsed_json(source.text())
    except json.JSONDecodeError as error:
        if not error.msg.startswith("Extra data"):
            raise _broken(source, error) from error


def _broken(source: TableSource, error: json.JSONDecodeError) -> VgoError:
    return VgoError(
        f"{source.given}, line {error.lineno}: {error.msg}: the JSON is cut short or damaged; export it again."
    )


def flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Flatten nested objects into dotted keys and texts; lists of plain values become one text."""
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{prefix}{key}.")
        elif isinstance(value, list):
            yield f"{prefix}{key}", " ".join(map(str, value))
        else:
            yield f"{prefix}{key}", str(value)


class _Command(BaseModel):
    command: str
    times: list[float]
    exit_codes: list[int | None] = []
    memory_usage_byte: list[float | None] = []
    parameters: dict[str, str] = {}


class _Export(BaseModel):
    results: list[_Command] = Field(min_length=1)


def _read(source: TableSource) -> RecordedRuns:
    export = load(source, _Export, "hyperfine")
    frame = pl.DataFrame([row for command in export.results for row in _rows(command)], infer_schema_length=None)
    frame, notes = _without_failed(frame)
    parameters = sorted({name for command in export.results for name in command.parameters})
    several = len(export.results) > 1
    varied = {tuple(sorted(command.parameters.items())) for command in export.results}
    told_apart = len(varied) == len(export.results) and all(
        parameters and command.parameters.keys() == set(parameters) for command in export.results
    )
    return RecordedRuns(
        frame,
        source.given,
        "hyperfine",
        outcome="time",
        lower_is_better={"time": True},
        units={"time": "s", "memory_usage_byte": "bytes"},
        roles={
            "run": "id",
            "exit_code": "id",
            "command": "setting" if several and not told_apart else "id",
            **dict.fromkeys(parameters, "setting"),
        },
        levels=frozenset({"memory_usage_byte"} & set(frame.columns)),
        system={} if several else {"command": export.results[0].command},
        notes=notes,
    )


def _rows(command: _Command) -> Iterator[dict[str, Any]]:
    """Give one row a run; hyperfine keeps user and system time as means only, which say nothing about a run."""
    for run, time in enumerate(command.times):
        row: dict[str, Any] = {"command": command.command, "run": run, "time": time}
        if run < len(command.exit_codes):
            row["exit_code"] = command.exit_codes[run]
        if run < len(command.memory_usage_byte):
            row["memory_usage_byte"] = command.memory_usage_byte[run]
        yield row | command.parameters


def _without_failed(frame: pl.DataFrame) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """A run that failed or was killed is no measurement, unless every run of its command ends that way by intent."""
    if "exit_code" not in frame.columns:
        return frame, ()
    worked = (pl.col("exit_code") == 0).fill_null(False)
    none_did = ~worked.any().over("command")
    kept = frame.filter(worked | none_did)
    by_intent = kept.filter(~worked)
    notes = []
    if kept.height < frame.height:
        notes.append(f"{frame.height - kept.height} runs ended with an exit code other than 0: left out.")
    for command in by_intent["command"].unique(maintain_order=True):
        notes.append(f"Every run of `{command}` ended with an exit code other than 0: kept, as if that were intended.")
    return kept, tuple(notes)


HYPERFINE = Format("hyperfine", lambda source: looks_like(source, "results") and looks_like(source, "times"), _read)
