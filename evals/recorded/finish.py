"""Put a finished recording in its place: all files of the case, sealed, under its own name or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from importlib.metadata import version
from pathlib import Path

from ...knowledge.errors import VgoError
from ...knowledge.files import read_model
from ...layers.schema import Layer
from ...tools.execution.samples import ITERATION, PREFIX, SAMPLES, layer_of
from ...tools.findings import Findings
from ...tools.row import FIXED, Row
from ...tools.run_table import LAYERS, read_layers, write_layers
from ...tools.subject import Limits
from ..scores.effects import filled
from .draft import case_file, case_yaml, machine_words, truth_to_fill, truth_yaml
from .folders import CASE, RECORDING, TABLE, TRUTH
from .manifest import seal, sealing
from .record import Recorder
from .recorded_case import Part, read_case, write_table
from .recording_plan import series_name, visible
from .schema import CaseFile, Profiling, Recording, Truth
from .workshop import MitigationRecording, Surveyed, Workshop

WORDS = ("title", "question", "split", "tags", "difficulty")
"""Fields of `case.yaml` that are a person's."""


def finish(recorder: Recorder, cases: Path) -> Path:
    """Write the case and move it to its place; `case.yaml` and `truth.yaml` of an earlier recording are kept."""
    workshop, key = recorder.workshop, recorder.asked.key
    case, draft = cases / key, workshop.path / "case"
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir()
    try:
        _write(recorder, draft)
        earlier = workshop.path / "earlier"
        before = next((place for place in (case, earlier) if place.exists()), None)
        if before:
            _keep_words(before, draft, recorder.truth)
        seal(draft)
        if case.exists():
            shutil.rmtree(earlier, ignore_errors=True)
            os.replace(case, earlier)
        os.replace(draft, case)
    except OSError as error:
        raise VgoError(
            f"Cannot write {case} ({error.strerror}); free space there, then go on with --resume."
        ) from error
    shutil.rmtree(workshop.path)
    return case


def _keep_words(before: Path, draft: Path, truth: Truth | None) -> None:
    """Take what a person wrote from an earlier recording: of a case its words, of a truth that is half written all."""
    if truth is None and (before / TRUTH).exists():
        shutil.copyfile(before / TRUTH, draft / TRUTH)
    if not (before / CASE).exists():
        return
    old, new = read_model(before / CASE, CaseFile), read_model(draft / CASE, CaseFile)
    words = {name: getattr(old, name) for name in WORDS}
    limits = old.limits.model_dump(exclude_unset=True, exclude={"layers", "allow"}) | {
        name: min(getattr(old.limits, name), getattr(new.limits, name)) for name in ("min_runs", "max_runs")
    }
    history = (*old.history, f"{datetime.now(UTC).date()}: recorded anew.")
    kept = new.model_copy(update={**words, "limits": Limits(**limits), "history": history})
    (draft / CASE).write_text(case_yaml(kept))


def _write(recorder: Recorder, folder: Path) -> None:
    workshop = recorder.workshop
    kept = workshop.surveyed()
    assert kept is not None
    tried = workshop.tried()
    parts = list(_parts(recorder, tried))
    layers = _layers(workshop, parts)
    write_table(folder / TABLE, parts, layers.values())
    (folder / LAYERS).write_bytes(write_layers(layers))
    recording = _recording(recorder, kept, tried)
    (folder / RECORDING).write_text(recording.model_dump_json(indent=1) + "\n")
    (folder / CASE).write_text(case_yaml(case_file(recorder.asked)))
    (folder / TRUTH).write_text(_truth(recorder, folder))


def _truth(recorder: Recorder, folder: Path) -> str:
    if recorder.truth:
        return truth_yaml(filled(recorder.truth, read_case(folder)))
    ranked = visible(recorder.ranking, recorder.known) if recorder.ranking else None
    case = recorder.workshop.path.parent / recorder.asked.key
    return truth_to_fill(sealing(case), recorder.asked.causes, ranked)


def _parts(recorder: Recorder, tried: Mapping[str, MitigationRecording]) -> Iterator[Part]:
    """The series in the order in which they are described; pairs keep only what tells of them."""
    workshop = recorder.workshop
    yield Part("baseline", None, workshop.rows("baseline"))
    if Findings(workshop.record()).profiled:
        yield Part("profile", None, workshop.rows("profile"))
    for key, one in tried.items():
        if one.trial is not None and one.trial.pairs:
            yield Part("pairs", key, [_kept(row, one.columns) for row in workshop.rows(series_name(key))])


def _kept(row: Row, columns: Sequence[str]) -> Row:
    always = (*FIXED, f"{PREFIX}*")
    return {name: cell for name, cell in row.items() if any(fnmatchcase(name, each) for each in (*always, *columns))}


def _layers(workshop: Workshop, parts: Sequence[Part]) -> dict[str, Layer]:
    """Describe all columns, what the program printed for each sample among them."""
    layers = read_layers((workshop.path / LAYERS).read_bytes())
    rows = [row for part in parts for row in part.rows]
    return layers | ({SAMPLES: layer_of(rows)} if any(ITERATION in row for row in rows) else {})


def _recording(recorder: Recorder, kept: Surveyed, tried: Mapping[str, MitigationRecording]) -> Recording:
    profiled = Findings(recorder.workshop.record()).profiled
    return Recording(
        recorded=datetime.now(UTC).date(),
        version=version("vgo-agent"),
        subject=recorder.asked.subject,
        machine=kept.machine,
        machine_words=machine_words(kept.machine),
        profiling=Profiling(
            layers=kept.layers,
            unavailable=kept.unavailable,
            absent=profiled.absent if profiled else {},
        ),
        trials={key: one.trial for key, one in tried.items() if one.trial is not None},
        refused={key: one.refused for key, one in tried.items() if one.trial is None},
    )
