"""The first `case.yaml` and `truth.yaml` of a recording: filled in for a workload, with gaps for a user's program."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import yaml

from ...tools.machine import Machine
from ...tools.steps.apply_mitigation import MOST_PAIRS
from ...tools.subject import Limits
from ..workloads.registry import find
from ..workloads.workload import STILL
from .bench import BATCHES, SHARE
from .recording_plan import RecordingPlan
from .schema import ByHand, CaseFile, Truth

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
