"""The files of a recorded case, drafted and put in their place: sealed, under the case's own name or not at all.

`case.yaml` and `truth.yaml` are filled in for a workload, with gaps for a user's program.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from importlib.metadata import version
from pathlib import Path
from typing import Any

import yaml

from ...knowledge.errors import VgoError
from ...knowledge.files import read_model
from ...tools.execution.outcomes import ITERATION, PREFIX, SAMPLES, layer_of
from ...tools.findings import Findings
from ...tools.machine import Machine
from ...tools.row import FIXED
from ...tools.run_table import LAYERS, read_layers, write_layers
from ...tools.steps.apply_mitigation import MOST_PAIRS
from ...tools.subject import Limits
from ..scores.effects import filled
from ..workloads.registry import find
from ..workloads.workload import STILL
from .bench import BATCHES, SHARE
from .folders import CASE, RECORDING, TABLE, TRUTH
from .record import Recorder
from .recorded_case import Part, read_case, write_table
from .recording_plan import RecordingPlan, series_name, visible
from .schema import ByHand, CaseFile, Profiling, Recording, Truth
from .truth import seal, sealing
from .workshop import MitigationRecording, Surveyed

TRUTH_TITLE = "What is right; no contestant sees it before its answer."
QUESTION = "What my program measures varies from run to run, though it does the same each time. Why, and what cures it?"


def truth_of_workload(name: str, steady: bool) -> Truth:
    """Take the truth from the entry of the workload; of a steady twin, there is nothing to find.

    By this one truth recorded answers are judged (`truth.yaml`, written from it) and live ones.
    """
    workload = find(name)
    verdicts: tuple[Any, ...] = STILL if steady else workload.verdicts
    if steady:
        return Truth(
            verdicts=verdicts,
            must_not_help=(*workload.cures, *workload.not_cures),
            control=True,
            why=f"The workload {workload.name} without its cause.",
        )
    # A cause that no counter shows need not be named.
    seen = 0 if workload.control or "cause not visible" in verdicts else workload.causes
    return Truth(
        verdicts=verdicts,
        causes=workload.cause[:seen],
        also_true=workload.cause[seen:],
        accepted=workload.cures,
        must_not_help=workload.not_cures,
        control=workload.control,
        why=f"The workload {workload.name}: it {workload.description}.",
    )


def case_file(asked: RecordingPlan) -> CaseFile:
    """Draft what may be known before the answer, the limits within what was recorded."""
    workload = find(asked.workload) if asked.workload else None
    return CaseFile(
        key=asked.key,
        title=f"{asked.key.replace('-', ' ')}",
        question=QUESTION,
        split="train",
        tags=("workload",) if workload else ("own",),
        difficulty=1,
        workload=asked.workload,
        steady=asked.steady,
        made_by=asked.made_by,
        limits=limits_for(asked),
    )


def limits_for(asked: RecordingPlan) -> Limits:
    """The most that a diagnosis may ask for: three quarters of the runs, and of the pairs half in each batch."""
    most = int(asked.runs * SHARE)
    if asked.pairs < BATCHES * MOST_PAIRS:
        most = min(most, asked.pairs // BATCHES)
    most = max(2, most)
    return Limits(min_runs=min(Limits().min_runs, most), max_runs=most)


def case_yaml(file: CaseFile) -> str:
    """Render it with a comment above each field."""
    shown = file.model_dump(mode="json")
    shown["limits"] = file.limits.model_dump(mode="json", exclude_defaults=True)
    return _commented("What may be known before the answer.", shown, CaseFile)


def truth_yaml(truth: Truth) -> str:
    """Render a truth that is known."""
    return _commented(TRUTH_TITLE, truth.model_dump(mode="json"), Truth)


def truth_to_fill(seal: str, causes: Sequence[str], ranked: Mapping[str, float] | None) -> str:
    """Render one of which only a named cause is known, with gaps that the gate asks to be filled, and what was ranked.

    `ranked`: the factors that a profile shows, with their AUC; None where it could not be told.
    """
    empty: dict[str, Any] = dict.fromkeys(Truth.model_fields, [])
    shown = {**empty, "causes": list(causes), "unproved": {}, "control": False, "why": ""}
    return _commented(f"{TRUTH_TITLE} Fill it in, then: {seal}", shown, Truth, dict(_ranked_words(causes, ranked)))


def _ranked_words(causes: Sequence[str], ranked: Mapping[str, float] | None) -> Iterator[tuple[str, str]]:
    """Say of causes, and of what goes with them, what the profile shows."""
    if ranked is None:
        yield "also_true", "Of this profile no factor could be ranked."
        return
    unseen = ", ".join(cause for cause in causes if cause not in ranked)
    yield "causes", f"No counter of this profile ranks {unseen}: if none can, also_true is its place." if unseen else ""
    shown = ", ".join(f"{factor} (AUC {auc:.2f})" for factor, auc in ranked.items()) or "none"
    yield "also_true", f"This profile ranks as visible: {shown}."


def _commented(title: str, shown: Mapping[str, Any], kind: type[ByHand], told: Mapping[str, str] | None = None) -> str:
    lines = [f"# {title}\n"]
    for name, value in shown.items():
        comment = f"{kind.model_fields[name].description or ''}\n{(told or {}).get(name, '')}"
        lines += [f"# {line}\n" for line in comment.splitlines() if line]
        within = None if isinstance(value, list | dict) else False  # a list stands in one line, the rest does not
        lines.append(yaml.safe_dump({name: value}, default_flow_style=within, sort_keys=False, width=110))
    return "".join(lines)


GIGABYTE = 1e9


def machine_words(machine: Machine) -> str:
    """Describe it for a reader: hardware, kernel, what it is shared with as far as that shows, how busy it was.

    To be called when all is measured: the load at the end is that of now.
    """
    allowed = f"{len(machine.cpus)} of {machine.online} CPUs" if machine.online else f"{len(machine.cpus)} CPUs"
    words = [
        f"{machine.cpu} ({machine.architecture}), {allowed}, {machine.memory_bytes / GIGABYTE:.0f} GB",
        f"virtual ({machine.virtual})" if machine.virtual else "no hypervisor seen",
        f"Linux {machine.kernel}, {machine.distribution}",
        f"{'root' if machine.root else 'not root'}, load {machine.load_1min:.2f} when it began, "
        f"{os.getloadavg()[0]:.2f} when it ended",
    ]
    return "; ".join(words)


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
    layers = read_layers((workshop.path / LAYERS).read_bytes())
    rows = [row for part in parts for row in part.rows]
    if any(ITERATION in row for row in rows):  # what the program printed for each sample
        layers |= {SAMPLES: layer_of(rows)}
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
            kept, rows = (*FIXED, f"{PREFIX}*", *one.columns), workshop.rows(series_name(key))
            telling = {name for row in rows for name in row if any(fnmatchcase(name, each) for each in kept)}
            yield Part("pairs", key, [{name: row[name] for name in row if name in telling} for row in rows])


def _recording(recorder: Recorder, kept: Surveyed, tried: Mapping[str, MitigationRecording]) -> Recording:
    profiled = Findings(recorder.workshop.record()).profiled
    return Recording(
        recorded=datetime.now(UTC).date(),
        version=version("vgo-agent"),
        subject=recorder.asked.subject,
        machine=kept.machine,
        machine_words=machine_words(kept.machine),
        profiling=Profiling(
            layers=kept.layers, unavailable=kept.unavailable, absent=profiled.absent if profiled else {}
        ),
        trials={key: one.trial for key, one in tried.items() if one.trial is not None},
        refused={key: one.refused for key, one in tried.items() if one.trial is None},
    )
