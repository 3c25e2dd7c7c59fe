"""From the options of `eval record` to what is to be recorded."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from pydantic import ValidationError

from ...agent.again import again
from ...agent.commands.mitigation_arguments import mitigation_meant
from ...agent.commands.subject import subject_of
from ...agent.progress import Lines
from ...agent.settings import effective
from ...knowledge.errors import VgoError
from ...knowledge.files import read_model
from ...knowledge.loader import load as load_knowledge
from ...tools.layers_here import named
from ...tools.subject import Subject
from ..workloads.registry import find
from ..workloads.registry import subject_of as subject_of_workload
from .draft import truth_of_workload
from .folders import CASE, RECORDING, TRUTH
from .options import OfRecording
from .recording_plan import RecordingPlan
from .schema import CaseFile, Recording, Truth
from .truth import nearest, read_truth


def asked_for(command: OfRecording, key: str) -> RecordingPlan:
    """Check the options against each other; what cannot work is refused before the first run."""
    settings, origins = effective({**command.flags, **({"allow": command.allow} if command.allow else {})})
    named(settings.layers)
    allow = settings.allow
    if command.command:
        workload, steady, subject = "", False, subject_of(command, settings)
    elif (command.parent / key).is_dir():
        workload, steady, subject = _again(command.parent / key)
    else:
        workload, steady = find(command.name).name, command.steady
        subject = subject_of_workload(find(workload), steady)
    if workload and origins["allow"] == "default":
        allow = find(workload).allow
    try:
        return RecordingPlan(
            key=key,
            subject=subject.model_copy(update={"timeout_s": settings.timeout_s, "on_failure": settings.on_failure}),
            workload=workload,
            steady=steady,
            **_counts(command),
            layers=("auto",) if origins["layers"] == "default" else settings.layers,
            allow=allow,
            mitigations=_meant(command.mitigation),
            causes=_causes(command.cause),
            placebos=_meant(command.placebo),
            minutes=command.minutes,
            every=command.all,
            made_by=_made_by(command, workload or key, steady, subject),
        )
    except ValidationError as error:
        first = error.errors()[0]
        raise VgoError(f"--{first['loc'][0]} {first['input']}: {first['msg']}; choose another value.") from error


def _again(folder: Path) -> tuple[str, bool, Subject]:
    """The workload of a case, whether it is its twin, and the program: to record it anew."""
    file = read_model(folder / CASE, CaseFile)
    if file.workload:
        return file.workload, file.steady, subject_of_workload(find(file.workload), file.steady)
    return "", False, read_model(folder / RECORDING, Recording).subject


def truth_so_far(folder: Path, asked: RecordingPlan, lines: Lines) -> Truth | None:
    """The truth that stands in the case already, or that of the workload; None where neither says it."""
    if (folder / TRUTH).exists():
        try:
            return read_truth(folder)
        except VgoError as error:
            lines.say(f"It is recorded as if nothing were known. {error}")
            return None
    return truth_of_workload(asked.workload, asked.steady) if asked.workload else None


def _counts(command: OfRecording) -> dict[str, int]:
    """The numbers that were typed; the others are as the `RecordingPlan` has them, or as many as fit."""
    return {name: count for name in ("runs", "pairs") if (count := getattr(command, name)) is not None}


def _meant(words: Sequence[str]) -> tuple[str, ...]:
    """Find the mitigations that were named, by key or name; what only a person can do cannot be recorded."""
    known = load_knowledge()
    meant = [mitigation_meant(word, known) for word in words]
    for one in meant:
        if one.apply is None:
            raise VgoError(f"{one.key} is for a person to do, so it cannot be recorded: leave it out.")
        if one.key not in known.mitigations:
            raise VgoError(f"{one.key} does not ship with vgo-agent, so no case can name it: leave it out.")
    return tuple(one.key for one in meant)


def _causes(keys: Sequence[str]) -> tuple[str, ...]:
    known = load_knowledge().factors
    for key in keys:
        if key not in known:
            raise VgoError(f"There is no factor {key!r}; {nearest(key, known)}")
    return tuple(keys)


def _made_by(command: OfRecording, name: str, steady: bool, subject: Subject) -> str:
    """Give the line that records it again: of a workload by its name, of another program with what it is judged by."""
    words = ["record", name, *(["--steady"] if steady else [])]
    words += [word for name, count in _counts(command).items() for word in (f"--{name}", str(count))]
    words += ["--minutes", f"{command.minutes:g}"] if command.minutes is not None else []
    words += ["--all"] if command.all else []
    words += [word for spec in command.flags.get("layers", ()) for word in ("--layer", spec)]
    for option in ("mitigation", "cause", "placebo"):
        words += [word for name in getattr(command, option) for word in (f"--{option}", name)]
    words += ["--allow", command.allow] if command.allow else []
    if not command.command:
        return shlex.join(("vgo-agent", "eval", *words))
    program = tuple(map(_anywhere, subject.command))
    return again("eval", tuple(words), subject.model_copy(update={"command": program}))


def _anywhere(word: str) -> str:
    """Write a path of this machine as it would be elsewhere: the interpreter by name, files from the working folder."""
    if not word.startswith("/"):
        return word
    if word == sys.executable:
        return "python"
    for folder in (Path.cwd(), Path(__file__).parents[2]):
        if Path(word).is_relative_to(folder):
            return str(Path(word).relative_to(folder))
    return word
