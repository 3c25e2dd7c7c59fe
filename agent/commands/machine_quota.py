"""machine calibrate, machine run: find the CPU quota that makes this machine as slow as another, and run under it."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ...knowledge.errors import VgoError
from ..terminal import printable
from .machine import ahead_option, restore_first, say, system_here
from .options import Answering, Voiced, option, place

if TYPE_CHECKING:
    from ...tools.machine_profile.form import Calibration, Profile, Quota, System
    from ...tools.machine_profile.quota import LimitedRunResult
    from ...tools.machine_profile.quota_pairs import Search
    from ..calibration import CalibrationRequest, CalibrationResult
    from ..clock import BudgetClock
    from ..interface import Interface
    from ..settings import UserSettings


@dataclass(frozen=True, kw_only=True)
class MachineCalibrateCommand(Answering):
    """Find the CPU quota that brings this machine closest to another."""

    EPILOG = """\
examples:
  vgo-agent machine calibrate --base old.json
  vgo-agent machine calibrate --base old.json --here new.json --ahead --save like-old.json

Every step runs CPU stressors with and without a quota next to each other, and moves the quota until the median speed-up
over the base is 1; the last step runs every stressor that the base has. --here gives a profile of this machine made
next to the base's (for a machine that drifts); else this machine's speed is that of the runs without the quota. The
quota is for one thread, in a control group of its own that is gone afterwards; `vgo-agent machine run --like RUN` uses
it. Every run is kept in a run folder, and `vgo-agent resume RUN` goes on with what was cut off.
"""
    SETTINGS = ("budget", "seed", "out")

    base: Path = option("profile of the machine to be like", metavar="A", required=True)
    here: Path | None = option("a profile of this machine, made at the time of A", metavar="B")
    save: Path | None = option("keep the quota in this file too", metavar="FILE")
    seconds: float = option(
        "of each run (default 0.5)",
        0.5,
        metavar="S",
        allowed=lambda seconds: 0.1 <= seconds <= 3600,
        refused="holds too few periods of a quota: choose 0.1 to 3600",
    )
    sample: int = option("CPU stressors of a step (default 24)", 24, metavar="N")
    steps: int = option("at most (default 5)", 5, metavar="N")
    name: str | None = option("of this machine (default its host name)", metavar="WORD")
    ahead: bool = ahead_option()

    def run(self) -> int:
        """Search, keep and answer."""
        settings = self.in_force()
        request = self._request(settings)
        from ...tools.machine_profile.form import write
        from ..experiment import carry_on, opened
        from ..run_folder import RunFolder

        def begun(interface: Interface, clock: BudgetClock) -> CalibrationResult:
            with opened(request, interface, clock) as (began, there):
                folder = RunFolder.create(settings.out, f"calibration-{self.base.stem}")
                return carry_on(request, request.run, folder, began, there)

        found = self.watched(settings, request.subject.unit, begun)
        if self.save:
            write(self.save, found.found.calibration)
        return self.answer(*found.shown([self.save] if self.save else ()))

    def _request(self, settings: UserSettings) -> CalibrationRequest:
        """Read the profiles and look at this machine; what cannot work is refused before any run."""
        from ...tools.machine_profile.battery import battery
        from ...tools.machine_profile.form import Profile, read
        from ...tools.machine_profile.stress_ng import StressNg
        from ...tools.mitigation.owned_folder import temporary_folder
        from ...tools.subject import Subject
        from ..calibration import CalibrationRequest

        base = read(self.base, Profile)
        here = read(self.here, Profile) if self.here else None
        search = self._search(settings.seed)
        with temporary_folder() as folder:
            stress_ng = StressNg(folder)
            stressors, system = battery(stress_ng.methods()), system_here(self.name, stress_ng)
        _refuse_foreign(here, system, self.here)
        subject = Subject(
            command=("stress-ng",),
            argv=(stress_ng.program,),
            directory=str(Path.cwd()),
            unit="x",
            lower_is_better=False,
        )
        return CalibrationRequest(
            subject=subject,
            base=base,
            here=here,
            system=system,
            stressors=stressors,
            search=search,
            budget_s=settings.budget_s,
        )

    def _search(self, seed: int) -> Search:
        from ...tools.machine_profile.quota_pairs import Search

        if self.steps < 2 or self.sample < 1:
            raise VgoError("A search needs --steps 2 and --sample 1 at least.")
        return Search(
            seconds=self.seconds,
            sample=self.sample,
            steps=self.steps,
            seed=seed,
            ahead=self.ahead,
        )


def _refuse_foreign(here: Profile | None, system: System, path: Path | None) -> None:
    if here is not None and (here.system.cpu, here.system.architecture) != (system.cpu, system.architecture):
        raise VgoError(
            f"--here {path} is a profile of another machine ({here.system.cpu}); this one is {system.cpu}: "
            "profile this one, or leave --here out."
        )
    if here is not None and here.battery.quota:
        raise VgoError(f"--here {path} was measured under a quota: give one of the whole machine.")


@dataclass(frozen=True, kw_only=True)
class MachineRunCommand(Voiced):
    """Run a command under a CPU quota, with the proof that it was in force."""

    EPILOG = """\
examples:
  vgo-agent machine run --like like-old.json -- ./bench.sh --size 10
  vgo-agent machine run --quota 60% --threads 4 -- ./solver

RUN is the run folder of `vgo-agent machine calibrate`, or the file that its --save wrote. The quota is for one thread,
as it was found; --threads gives the whole group so many times as much. The exit code is that of COMMAND; whether the
quota stopped it is told on standard error.
"""
    USAGE = "(--like RUN | --quota SHARE) [OPTIONS] -- COMMAND [ARGS...]"
    PLACES = 0

    command: tuple[str, ...] = place("COMMAND", "the program and its arguments", default=())
    like: Path | None = option("a calibration: its folder or file", metavar="RUN")
    quota: str | None = option("such as 60%% or 0.6 CPUs", metavar="SHARE")
    threads: int = option(
        "so many times the quota (default 1)",
        1,
        metavar="N",
        allowed=lambda threads: threads >= 1,
        refused="runs nothing: choose 1 or more",
    )
    period: int | None = option("period in microseconds (default 10000)", metavar="US")

    def run(self) -> int:
        """Run it and pass its exit code on."""
        from ...tools.execution.resolve import resolve
        from ...tools.machine_profile.quota import limited_run

        argv = resolve(self.command, shell=False)
        quota = self._quota()
        restore_first(self)
        ended = limited_run(argv, quota)
        say(_told(ended, quota), self)
        if ended.left:
            print(f"vgo-agent: {printable(ended.left)}", file=sys.stderr)
        return ended.exit_code

    def _quota(self) -> Quota:
        """Take the quota that was named or found, for all threads together."""
        from ...tools.machine_profile.quota import quota_of, share_of

        if (self.quota is None) == (self.like is None):
            raise VgoError("Say which quota: give --like RUN or --quota SHARE, and one of them.")
        if self.quota:
            return quota_of(share_of(self.quota) * self.threads, self.period)
        assert self.like is not None
        found = calibration_of(self.like)
        self._warn_elsewhere(found)
        return quota_of(found.quota.cpus * self.threads, self.period or found.quota.period_us)

    def _warn_elsewhere(self, found: Calibration) -> None:
        import os

        from ...tools.subject import Subject
        from ...tools.survey import survey

        here = survey(Subject(command=("true",), argv=("true",), directory=os.getcwd()), ())
        if (found.here.kernel, found.here.cpu) != (here.kernel, here.cpu):
            say(
                f"The calibration was made on {found.here.name} ({found.here.cpu}, Linux {found.here.kernel}), and "
                f"this is {here.cpu}, Linux {here.kernel}: calibrate again here.",
                self,
            )


def calibration_of(path: Path) -> Calibration:
    """Read a calibration, from a file or from its run folder."""
    from ...tools.machine_profile.form import Calibration, read
    from ..calibration import QUOTA

    return read(path / QUOTA if path.is_dir() else path, Calibration)


def _told(ended: LimitedRunResult, quota: Quota) -> str:
    from ..report.machine import quota_words

    share = f"{ended.cpu_s / ended.wall_s:.3g} CPUs used over {ended.wall_s:.3g} s" if ended.wall_s else "no time"
    proof = f"stopped in {ended.throttled} of {ended.periods} periods"
    if not ended.throttled:
        proof += ", so it never asked for more"
    return f"vgo-agent: {quota_words(quota)}: {proof}; {share}."
