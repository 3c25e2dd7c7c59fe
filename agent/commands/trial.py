"""A trial of one mitigation: what stands in the way is told before the first run, and the plan is carried out."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ...knowledge.errors import VgoError
from ..terminal import LINES
from .options import Asking, OfProgram

if TYPE_CHECKING:
    from ...knowledge.schema import Mitigation
    from ...tools.machine import Machine
    from ...tools.subject import Subject, TrialPlan
    from ..clock import BudgetClock
    from ..diagnosis import DiagnosisEnding
    from ..progress import Lines
    from ..run_folder import RunFolder
    from ..settings import UserSettings

BY_HAND = ("reboot", "code", "hardware")
"""Scopes that a person sees to."""
COMPARED = ("command", "argv", "metric", "per_iteration", "unit", "lower_is_better", "launcher")
"""What two runs must have in common to be about the same program."""
TOLD = ("kernel", "distribution", "cpu", "cpus", "memory_bytes", "governor", "thp", "glibc", "program_sha256")
"""What a person wants to know of the machine to have changed between two runs."""


@dataclass(frozen=True)
class TrialRequest:
    """A mitigation with its values, and what it is to be tried on."""

    mitigation: Mitigation
    """With its values in their places."""
    plain: Mitigation
    """As it is written."""
    values: dict[str, str]
    subject: Subject
    machine: Machine
    settings: UserSettings
    source: str = ""
    """The user's file that it was read from; empty where it ships."""
    asks: bool = False
    """Somebody can be asked for a yes: at a terminal, or a program."""

    @property
    def own(self) -> Mitigation | None:
        """The user's own mitigation; None where it ships."""
        return self.plain if self.source else None


def looked_at(command: Asking, word: str, params: Sequence[str], subject: Subject | None = None) -> TrialRequest:
    """Look at the machine, for a program or the one that is named; what is not understood is refused."""
    from ...knowledge.loader import load
    from ...tools.layers_here import named
    from ...tools.mitigation.parameters import with_values
    from ...tools.mitigation.scripts import names_file
    from .mitigation_arguments import accepted, mitigation_meant, surveyed, values_meant
    from .subject import subject_of

    settings, knowledge = command.in_force(), load()
    plain = mitigation_meant(word, knowledge)
    settings = settings.model_copy(update={"accept": accepted(settings.accept, plain)})
    values = values_meant(params, plain)
    named(settings.layers)
    if subject is None:
        assert isinstance(command, OfProgram)
        subject = subject_of(command, settings)
    machine = surveyed(subject, [*knowledge.mitigations.values(), plain])
    source = str(Path(word).resolve()) if names_file(word) else ""
    return TrialRequest(
        with_values(plain, values, machine),
        plain,
        values,
        subject,
        machine,
        settings,
        source,
        attended() or command.json == LINES,
    )


def for_a_person(mitigation: Mitigation) -> bool:
    """Tell whether the tool leaves it to a person."""
    return mitigation.apply is None or mitigation.scope in BY_HAND


def attended() -> bool:
    """Tell whether somebody sits at the terminal who can be asked; a job in the background would be stopped by it."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    try:
        return os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
    except OSError:  # not the terminal of this session
        return False


def obstacles(trial: TrialRequest, settings: UserSettings) -> Iterator[str]:
    """Say what stands in the way, each with its cure; how many CPUs the program keeps busy is seen later."""
    from ...tools.mitigation.preconditions import beyond_reach, unmet

    mitigation, machine = trial.mitigation, trial.machine
    yield from _untrusted(trial)
    if not trial.subject.on:  # a host of a cluster says for itself what stands in the way there
        before_runs = mitigation.applies.model_copy(update={"single_threaded": False, "multi_threaded": False})
        yield from unmet(before_runs, machine, trial.subject, None)
        yield from beyond_reach(mitigation, machine, trial.subject)
    if settings.allow == "none":
        yield "--allow none forbids every mitigation: leave it out"
    elif (
        not for_a_person(mitigation) and mitigation.scope != "process" and settings.allow != "system" and not trial.asks
    ):
        yield (
            f"it changes more than the program (scope {mitigation.scope}), and nobody sits at a terminal to agree: "
            "allow it with --allow system"
        )
    elif mitigation.changes_promise and mitigation.key not in settings.accept and not trial.asks:
        yield (
            f"it changes what the program promises ({mitigation.changes_promise}), and nobody sits at a terminal to "
            f"agree: allow it with --accept {mitigation.key}"
        )


def _untrusted(trial: TrialRequest) -> Iterator[str]:
    from ...tools.mitigation.scripts import refuse_own

    try:
        if trial.own:
            refuse_own(trial.own, Path(trial.source))
    except VgoError as refused:
        yield str(refused)


def refuse(trial: TrialRequest) -> None:
    """Refuse before the first run what cannot be tried."""
    reasons = list(obstacles(trial, trial.settings))
    if reasons:
        more = f" (and {len(reasons) - 1} more: see --dry-run)" if len(reasons) > 1 else ""
        raise VgoError(f"{trial.mitigation.key} cannot be tried: {reasons[0].rstrip('.')}{more}.")


def would_do(trial: TrialRequest) -> tuple[str, ...]:
    """List every write, hold, variable and change of the start."""
    from ...tools.mitigation.by_hand import planned

    return planned(trial.mitigation, trial.subject, trial.machine, Path(trial.subject.root))


def carry_out(
    trial: TrialRequest, plan: TrialPlan, command: Asking, after: str | None = None, said: Sequence[str] = ()
) -> DiagnosisEnding:
    """Run the plan as a diagnosis is run, in a folder of its own, and answer; what is `said` comes first."""
    from ..diagnosis import DiagnosisRequest, NewDiagnosis, diagnose
    from .subject import short_name

    settings, subject = trial.settings, trial.subject
    earlier = _earlier(after, trial) if after else None
    request = DiagnosisRequest(
        subject=subject,
        limits=settings.limits(),
        planner="fixed",
        plan=plan,
        after=str(earlier.path.resolve()) if earlier else "",
    )
    name = short_name(subject.command, subject.shell)

    def begun(interface: Lines, clock: BudgetClock) -> DiagnosisEnding:
        for line in (*said, *(_changes(earlier, trial.machine) if earlier else ())):
            interface.say(line)
        return diagnose(NewDiagnosis(request, settings.out, name, clock), interface)

    ending = command.watched(settings, subject.unit, begun)
    command.answer(*ending.shown())
    return ending


def _earlier(after: str, trial: TrialRequest) -> RunFolder:
    """The recorded run, of the same program judged by the same outcome."""
    from ..conduct import baseline_in
    from ..diagnosis import DiagnosisRequest
    from ..run_folder import run_meant
    from ..session import read_request

    folder = run_meant(after, trial.settings.out)
    before = read_request(folder.path, DiagnosisRequest).subject
    for name in COMPARED:
        old, new = getattr(before, name), getattr(trial.subject, name)
        if old != new:
            raise VgoError(
                f"--after {after} is a run with {name} {_shown(old)}, and this is {_shown(new)}: give the same."
            )
    baseline_in(folder)  # one without a baseline is told before the first run
    return folder


def _shown(value: object) -> str:
    return " ".join(value) if isinstance(value, tuple) else repr(value)


def _changes(earlier: RunFolder, now: Machine) -> Iterator[str]:
    """Say what is not as it was, since a change that nobody meant would be taken for the mitigation."""
    from ..conduct import machine_of
    from ..record import bodies
    from ..transcript import RunStart, read

    before = machine_of(bodies(read(earlier.transcript), RunStart)[0], earlier)
    yield f"the baseline is that of {earlier.path}; the two series are not interleaved, which is weaker evidence"
    for name in TOLD:
        old, new = getattr(before, name), getattr(now, name)
        if old != new:
            yield f"  since then {name} went from {old or 'nothing'} to {new or 'nothing'}"
