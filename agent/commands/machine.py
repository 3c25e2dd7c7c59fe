"""machine profile, machine compare: measure a machine, and hold two against each other."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from ...knowledge.errors import VgoError
from ..terminal import printable
from .options import Answering, Voiced, option, place

if TYPE_CHECKING:
    from ...tools.machine_profile.battery import Stressor
    from ...tools.machine_profile.form import Profile, StressorRun, System
    from ...tools.machine_profile.measure import Arm, Progress, Rounds
    from ...tools.machine_profile.stress_ng import StressNg

FULL, QUICK = (2.0, 5), (0.5, 3)
"""Seconds of a run, and repetitions."""
SAY_EVERY_S = 5.0
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
  vgo-agent machine profile --out here.json
  vgo-agent machine profile --quick --out here.json
  vgo-agent machine profile --quick --quota 60% --out slow.json --beside here.json

All CPU methods of stress-ng, and memory, cache, string and matrix stressors in groups of their own: one worker each,
for a set time, in an order drawn anew for every repetition. FILE is written after each run: when it was cut off, the
same command goes on. A stressor that crashes, or that this version does not know, is kept with the reason.
"""

    REQUIRES = {"quota": "beside"}

    out: Path = option("(default machine.json)", Path("machine.json"), metavar="FILE")
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
        "with --quota: the same without it, next to each other, so that drift is in both", metavar="FILE"
    )
    ahead: bool = ahead_option()
    name: str | None = option("of the machine (default its host name)", metavar="WORD")
    seed: int = option("of the order (default 1)", 1, metavar="N")

    def run(self) -> int:
        """Measure what is missing, and say what there is."""
        from ...tools.machine_profile.measure import profile
        from ...tools.machine_profile.stress_ng import StressNg
        from ...tools.mitigation.owned_folder import temporary_folder
        from ..report.machine import profiled_text, profiled_values

        arms = self._arms()
        restore_first(self)
        with temporary_folder() as folder:
            stress_ng = StressNg(folder)
            rounds = self._rounds(stress_ng)
            system = system_here(self.name, stress_ng)
        profiles = profile(arms, rounds, system, self._telling())
        kept = [(one, arm.path) for one, arm in zip(profiles, arms, strict=True)]
        return self.answer(
            {"profiles": [profiled_values(*one) for one in kept]}, "\n\n".join(profiled_text(*one) for one in kept)
        )

    def _arms(self) -> list[Arm]:
        from ...tools.machine_profile.measure import Arm
        from ...tools.machine_profile.quota import quota_of, share_of

        quota = quota_of(share_of(self.quota)) if self.quota else None
        if self.beside and self.beside.absolute() == self.out.absolute():
            raise VgoError(f"--beside {self.beside} is --out: name two files.")
        return [Arm(self.out, quota), *([Arm(self.beside)] if self.beside else [])]

    def _rounds(self, stress_ng: StressNg) -> Rounds:
        from ...tools.machine_profile.measure import Rounds

        seconds, repetitions = QUICK if self.quick else FULL
        seconds = seconds if self.seconds is None else self.seconds
        repetitions = repetitions if self.repetitions is None else self.repetitions
        return Rounds(self._stressors(stress_ng), seconds, repetitions, self.seed, self.ahead)

    def _stressors(self, stress_ng: StressNg) -> tuple[Stressor, ...]:
        """Those asked for; a name that this version does not list is tried all the same, and kept as failed."""
        from ...tools.machine_profile.battery import battery, unknown

        every = battery(stress_ng.methods())
        kept = battery(stress_ng.methods(), self.quick)
        if self.group or self.stressor:
            kept = tuple(one for one in kept if one.group in self.group)
        named = tuple(one for one in every if one.name in self.stressor and one not in kept)
        return (*kept, *named, *unknown(every, self.stressor).values())

    def _telling(self) -> Progress:
        told_s = time.monotonic()

        def progressed(done: int, total: int, run: StressorRun) -> None:
            nonlocal told_s
            if run.failed:
                say(f"  {run.stressor}: {run.failed}", self)
            if time.monotonic() - told_s >= SAY_EVERY_S or done == total:
                told_s = time.monotonic()
                say(f"  run {done} of {total}: {run.stressor}", self)

        return progressed


def restore_first(command: Voiced) -> None:
    """Put back what a dead agent left."""
    from ...tools.mitigation.restore import restore

    for line in restore():
        say(f"put back, left by a vgo-agent that was killed: {line}", command)


def say(line: str, command: Voiced) -> None:
    """Tell one line on standard error, unless quiet."""
    if not command.quiet:
        print(printable(line), file=sys.stderr, flush=True)


def system_here(name: str | None, stress_ng: StressNg) -> System:
    """Describe this machine."""
    import os

    from ...tools.machine_profile.measure import described
    from ...tools.subject import Subject
    from ...tools.survey import survey

    subject = Subject(command=("stress-ng",), argv=(stress_ng.program,), directory=os.getcwd())
    return described(survey(subject, ()), name or os.uname().nodename, stress_ng.version)


@dataclass(frozen=True, kw_only=True)
class MachineCompareCommand(Answering):
    """The variability profile of B over A."""

    EPILOG = """\
examples:
  vgo-agent machine compare old.json new.json
  vgo-agent machine compare old.json new.json --applications times.csv --save report.html
  vgo-agent machine compare old.json new.json --rate cpu --json

A and B are files of `vgo-agent machine profile`. Speed-ups are ratios of median rates, B over A: above 1 B does more.
The range of the CPU stressors bounds CPU-bound programs; the other groups stand apart. times.csv holds lines of
name,seconds on A,seconds on B, and each is checked against the bound.
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
        from ..render.terminal import terminal_text
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
    """Read two profiles that are not one."""
    from ...tools.machine_profile.form import Profile, read

    profiles = read(a, Profile), read(b, Profile)
    if a.resolve() == b.resolve() or profiles[0] == profiles[1]:
        raise VgoError(f"{a} and {b} are the same profile, and every ratio would be 1: name two.")
    return profiles
