"""machine profile, machine compare: measure a machine, and hold two against each other."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from ...knowledge.errors import VgoError
from .options import Answering, option, place

if TYPE_CHECKING:
    from ...tools.machine_profile.battery import Group, Stressor
    from ...tools.machine_profile.form import Profile
    from ..experiment import ExperimentRequest, ExperimentResult
    from ..machine_profile import MachineProfileRequest
    from ..settings import UserSettings

FULL, QUICK = (2.0, 5), (0.5, 3)
"""Seconds of a run, and repetitions."""
GROUPS = ("cpu", "memory", "cache", "string", "matrix")
Rate = Literal["real", "cpu"]


def ahead_option() -> Any:
    """Declare --ahead."""
    return option(
        "on a busy machine: stressors go before other programs (greatest weight of a control group; needs root)", False
    )


@dataclass(frozen=True, kw_only=True)
class MachineProfileCommand(Answering):
    """Run a battery of stressors, and keep the results."""

    EPILOG = """\
examples:
  vgo-agent machine profile
  vgo-agent machine profile --quick --save here.json
  vgo-agent machine profile --quick --quota 60% --save slow.json --beside here.json

All CPU methods of stress-ng, and memory, cache, string and matrix stressors in groups of their own: one worker each,
for a set time, in an order drawn anew for every repetition. Every run is kept in a run folder, and
`vgo-agent resume RUN` goes on with what was cut off; `vgo-agent machine compare` takes the folder as it takes a file. A
stressor that crashes, or that this version does not know, is kept with the reason.
"""
    SETTINGS = ("budget", "seed", "out")
    WORDS = {"budget": "seconds by the clock, from the start of the command to its answer (default: all runs are made)"}
    REQUIRES = {"quota": "beside"}

    save: Path | None = option("keep the profile in this file too", metavar="FILE")
    quick: bool = option(f"about 3 minutes: fewer stressors, {QUICK[1]} times {QUICK[0]:g} s each", False)
    seconds: float | None = option(
        f"of each run (default {FULL[0]:g})",
        metavar="S",
        allowed=lambda seconds: 0.05 <= seconds <= 3600,
        refused="is no time for a stressor: choose 0.05 to 3600",
    )
    repetitions: int | None = option(
        f"of each stressor (default {FULL[1]})",
        metavar="N",
        allowed=lambda repetitions: repetitions >= 1,
        refused="measures nothing: choose 1 or more",
    )
    group: tuple[str, ...] = option("only this group; repeatable", (), choices=GROUPS)
    stressor: tuple[str, ...] = option("only this one; repeatable", (), metavar="NAME")
    quota: str | None = option("under a CPU quota, such as 60%% or 0.6 CPUs (needs root)", metavar="SHARE")
    beside: Path | None = option(
        "with --quota: the same without it, next to each other, so that drift is in both; keep that in this file",
        metavar="FILE",
    )
    ahead: bool = ahead_option()
    name: str | None = option("of the machine (default its host name)", metavar="WORD")

    def run(self) -> int:
        """Measure, keep and answer."""
        from ...tools.amount import LONGEST
        from ...tools.machine_profile.form import Profile, read, write
        from ..settings import effective

        settings, origins = effective(self.flags)
        if self.beside and self.save and self.beside.absolute() == self.save.absolute():
            raise VgoError(f"--beside {self.beside} is --save: name two files.")
        request = self._request(settings, LONGEST if origins["budget"] == "default" else settings.budget_s)
        found = carried_out(self, settings, request, "machine-profile")
        for one, path in zip(found.answer["profiles"], (self.save, self.beside), strict=False):
            if path:
                write(path, read(Path(found.answer["folder"], one["file"]), Profile))
        return self.answer(*found.shown())

    def _request(self, settings: UserSettings, budget_s: float) -> MachineProfileRequest:
        """Look at this machine; what cannot work is refused before any run."""
        from ...tools.machine_profile.form import Battery
        from ...tools.machine_profile.quota import quota_of, share_of
        from ..machine_profile import MachineProfileRequest

        quota = quota_of(share_of(self.quota)) if self.quota else None
        methods, here = stressors_here(self.name, "bogo operations/s")
        stressors, (seconds, repetitions) = self._stressors(methods), QUICK if self.quick else FULL
        battery = Battery(
            seconds=self.seconds or seconds,
            repetitions=self.repetitions or repetitions,
            seed=settings.seed,
            stressors={one.name: one.group for one in sorted(stressors)},
            quota=quota,
        )
        return MachineProfileRequest(
            **here, stressors=stressors, budget_s=budget_s, battery=battery, beside=bool(self.beside), ahead=self.ahead
        )

    def _stressors(self, methods: dict[Group, tuple[str, ...]]) -> tuple[Stressor, ...]:
        """Those asked for; a name that this version does not list is tried all the same, and kept as failed."""
        from ...tools.machine_profile.battery import battery, unknown

        every, kept = battery(methods), battery(methods, self.quick)
        if self.group or self.stressor:
            kept = tuple(one for one in kept if one.group in self.group)
        named = tuple(one for one in every if one.name in self.stressor and one not in kept)
        return (*kept, *named, *unknown(every, self.stressor).values())


def stressors_here(name: str | None, unit: str) -> tuple[dict[Group, tuple[str, ...]], dict[str, Any]]:
    """List the methods of stress-ng here; give subject, with this unit of outcomes, and system of a request, too."""
    from ...tools.machine_profile.form import System
    from ...tools.machine_profile.measure import StressNg
    from ...tools.mitigation.owned_folder import temporary_folder
    from ...tools.subject import Subject
    from ...tools.survey import survey

    with temporary_folder() as folder:
        stress_ng = StressNg(folder)
        subject = Subject(
            command=("stress-ng",), argv=(stress_ng.program,), directory=os.getcwd(), unit=unit, lower_is_better=False
        )
        same = survey(subject, ()).model_dump(include=set(System.model_fields))
        system = System(**{**same, "name": name or os.uname().nodename, "stress_ng": stress_ng.version})
        return stress_ng.methods(), {"subject": subject, "system": system}


def carried_out(command: Answering, settings: UserSettings, request: ExperimentRequest, name: str) -> ExperimentResult:
    """Carry it out in a new run folder."""
    from ..experiment import go_on
    from ..run_folder import RunFolder

    folder = RunFolder.create(settings.out, name)
    unit = request.subject.unit
    return command.watched(settings, unit, lambda interface, clock: go_on(request, folder, interface, clock))


@dataclass(frozen=True, kw_only=True)
class MachineCompareCommand(Answering):
    """The variability profile of B over A."""

    EPILOG = """\
examples:
  vgo-agent machine compare old.json new.json
  vgo-agent machine compare old.json new.json --applications times.csv --save report.html
  vgo-agent machine compare old.json new.json --rate cpu --json

A and B are files or run folders of `vgo-agent machine profile`. Speed-ups are ratios of median rates, B over A: above 1
B does more. The range of the CPU stressors bounds CPU-bound programs; the other groups stand apart. times.csv holds
lines of name,seconds on A,seconds on B, and each is checked against the bound.
The ratios bound how differently CPU-bound programs run on the two machines; memory-bound ones fall outside (Jimenez et
al., VarSys 2016).
"""

    a: Path = place("A", "profile of the machine that is compared with")
    b: Path = place("B", "profile of the other machine")
    rate: Rate = option(
        "operations per second of real time, which quotas and other programs lower, or of CPU time (default real)",
        "real",
        choices=get_args(Rate),
    )
    applications: Path | None = option("CSV of name,seconds on A,seconds on B", metavar="FILE")
    save: Path | None = option("REPORT.md with a picture beside it, or REPORT.html", metavar="REPORT")

    def run(self) -> int:
        """Compare."""
        from ...tools.machine_profile.compare import compare
        from ...tools.machine_profile.form import read_applications
        from ..render.text import terminal_text
        from ..report.machine import document, refuse, save

        if self.save:
            refuse(self.save)
        a, b = _both(self.a, self.b)
        applications = read_applications(self.applications) if self.applications else ()
        found = compare(a, b, self.rate, applications)
        saved = save(found, self.save) if self.save else ()
        words = terminal_text(document(found)) + "".join(f"\nWritten: {path}" for path in saved)
        return self.answer(found.model_dump(mode="json"), words)


def _both(a: Path, b: Path) -> tuple[Profile, Profile]:
    from ...tools.machine_profile.form import Profile, read

    profiles = read(a, Profile), read(b, Profile)
    if a.resolve() == b.resolve() or profiles[0] == profiles[1]:
        raise VgoError(f"{a} and {b} are the same profile, and every ratio would be 1: name two.")
    return profiles
