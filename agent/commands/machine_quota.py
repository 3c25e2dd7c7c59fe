"""machine calibrate, machine run: find the CPU quota that makes this machine as slow as another, and run under it."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ...knowledge.errors import VgoError
from ..terminal import printable
from .machine import ahead_option, carried_out, stressors_here
from .options import Answering, Voiced, option, place

if TYPE_CHECKING:
    from ...tools.machine_profile.form import Calibration, Profile, Quota, System
    from ...tools.machine_profile.quota import LimitedRunResult
    from ..calibration import CalibrationRequest
    from ..settings import UserSettings


@dataclass(frozen=True, kw_only=True)
class MachineCalibrateCommand(Answering):
    """Find the CPU quota that brings this machine closest to another."""

    EPILOG = """\
examples:
  vgo-agent machine calibrate --base old.json
  vgo-agent machine calibrate --base old.json --here new.json --ahead --save like-old.json

A and B are files or run folders of `vgo-agent machine profile`. Every step runs CPU stressors with and without a quota
next to each other, and moves the quota until the median speed-up over the base is 1; the last step runs every stressor
that the base has. --here gives a profile of this machine made next to the base's (for a machine that drifts); else this
machine's speed is that of the runs without the quota. The quota is for one thread, in a control group of its own that
is gone afterwards; `vgo-agent machine run --like RUN` uses it. Every run is kept in a run folder, and
`vgo-agent resume RUN` goes on with what was cut off.
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
        from ...tools.machine_profile.form import Calibration, read, write

        settings = self.in_force()
        found = carried_out(self, settings, self._request(settings), f"calibration-{self.base.stem}")
        if self.save:
            write(self.save, read(Path(found.answer["folder"]), Calibration))
        return self.answer(*found.shown([self.save] if self.save else ()))

    def _request(self, settings: UserSettings) -> CalibrationRequest:
        """Read the profiles and look at this machine; what cannot work is refused before any run."""
        from ...tools.machine_profile.battery import battery
        from ...tools.machine_profile.form import Profile, read
        from ...tools.machine_profile.quota_pairs import Search
        from ..calibration import CalibrationRequest

        base = read(self.base, Profile)
        here = read(self.here, Profile) if self.here else None
        if self.steps < 2 or self.sample < 1:
            raise VgoError("A search needs --steps 2 and --sample 1 at least.")
        asked = {name: getattr(self, name) for name in ("seconds", "sample", "steps", "ahead")}
        search = Search(**asked, seed=settings.seed)
        methods, told = stressors_here(self.name, "x")
        _refuse_foreign(here, told["system"], self.here)
        return CalibrationRequest(
            **told, base=base, here=here, stressors=battery(methods), search=search, budget_s=settings.budget_s
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
        from ...tools.execution.launch import resolve
        from ...tools.machine_profile.quota import limited_run
        from ...tools.mitigation.restore import restore

        argv = resolve(self.command, shell=False)
        quota = self._quota()
        for line in restore():
            say(f"put back, left by a vgo-agent that was killed: {line}", self)
        ended = limited_run(argv, quota)
        say(_quota_answer(ended, quota), self)
        if ended.left:
            print(f"vgo-agent: {printable(ended.left)}", file=sys.stderr)
        return ended.exit_code

    def _quota(self) -> Quota:
        """Take the quota that was named or found, for all threads together."""
        from ...tools.machine_profile.form import Calibration, read
        from ...tools.machine_profile.quota import quota_of, share_of

        if (self.quota is None) == (self.like is None):
            raise VgoError("Say which quota: give --like RUN or --quota SHARE, and one of them.")
        if self.quota:
            return quota_of(share_of(self.quota) * self.threads, self.period)
        assert self.like is not None
        found = read(self.like, Calibration)
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


def _quota_answer(ended: LimitedRunResult, quota: Quota) -> str:
    from ..report.machine import quota_words

    share = f"{ended.cpu_s / ended.wall_s:.3g} CPUs used over {ended.wall_s:.3g} s" if ended.wall_s else "no time"
    proof = f"stopped in {ended.throttled} of {ended.periods} periods"
    if not ended.throttled:
        proof += ", so it never asked for more"
    return f"vgo-agent: {quota_words(quota)}: {proof}; {share}."


def say(line: str, command: Voiced) -> None:
    """Tell one line on standard error, unless quiet."""
    if not command.quiet:
        print(printable(line), file=sys.stderr, flush=True)
