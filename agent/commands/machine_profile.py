"""machine profile: run the battery and keep it."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from ...knowledge.errors import VgoError
from ..terminal import answer, printable
from .options import add_manners

if TYPE_CHECKING:
    from ...tools.machine_profile.battery import Stressor
    from ...tools.machine_profile.form import StressorRun, System
    from ...tools.machine_profile.measure import Arm, Progress, Rounds
    from ...tools.machine_profile.stress_ng import StressNg

EPILOG = """\
examples:
  vgo-agent machine profile --out here.json
  vgo-agent machine profile --quick --out here.json
  vgo-agent machine profile --quick --quota 60% --out slow.json --beside here.json

All CPU methods of stress-ng, and memory, cache, string and matrix stressors in groups of their own: one worker each,
for a set time, in an order drawn anew for every repetition. FILE is written after each run: when it was cut off, the
same command goes on. A stressor that crashes, or that this version does not know, is kept with the reason.
"""
FULL, QUICK = (2.0, 5), (0.5, 3)
"""Seconds of a run, and repetitions."""
SAY_EVERY_S = 5.0
GROUPS = ("cpu", "memory", "cache", "string", "matrix")


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.epilog = EPILOG
    parser.add_argument("--out", type=Path, default=Path("machine.json"), metavar="FILE", help="(default machine.json)")
    parser.add_argument(
        "--quick", action="store_true", help=f"about 3 minutes: fewer stressors, {QUICK[1]} times {QUICK[0]:g} s each"
    )
    parser.add_argument("--seconds", type=float, metavar="S", help=f"of each run (default {FULL[0]:g})")
    parser.add_argument("--repetitions", type=int, metavar="N", help=f"of each stressor (default {FULL[1]})")
    parser.add_argument("--group", action="append", choices=GROUPS, default=[], help="only this group; repeatable")
    parser.add_argument("--stressor", action="append", default=[], metavar="NAME", help="only this one; repeatable")
    parser.add_argument("--quota", metavar="SHARE", help="under a CPU quota, such as 60%% or 0.6 CPUs (needs root)")
    parser.add_argument(
        "--beside",
        type=Path,
        metavar="FILE",
        help="with --quota: the same without it, next to each other, so that drift is in both",
    )
    add_ahead(parser)
    parser.add_argument("--name", metavar="WORD", help="of the machine (default its host name)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of the order (default 1)")
    add_manners(parser)


def add_ahead(parser: argparse.ArgumentParser) -> None:
    """Add whether other programs have to wait."""
    parser.add_argument(
        "--ahead",
        action="store_true",
        help="on a busy machine: stressors go before other programs (greatest weight of a control group; needs root)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Measure what is missing, and say what there is."""
    from ...tools.machine_profile.measure import profile
    from ...tools.mitigation.owned_folder import temporary_folder
    from ..report.machine import profiled_text, profiled_values

    arms = _arms(arguments)
    restore_first(arguments)
    with temporary_folder() as folder:
        stress_ng = stress_ng_in(folder)
        rounds = _rounds(arguments, stress_ng)
        system = system_here(arguments.name, stress_ng)
    profiles = profile(arms, rounds, system, _telling(arguments))
    answer(
        {"profiles": [profiled_values(one, arm.path) for one, arm in zip(profiles, arms, strict=True)]},
        "\n\n".join(profiled_text(one, arm.path) for one, arm in zip(profiles, arms, strict=True)),
        arguments.json,
    )
    return 0


def restore_first(arguments: argparse.Namespace) -> None:
    """Put back what a dead agent left."""
    from ...tools.mitigation.restore import restore

    for line in restore():
        say(f"put back, left by a vgo-agent that was killed: {line}", arguments)


def say(line: str, arguments: argparse.Namespace) -> None:
    """Tell one line on standard error, unless quiet."""
    if not getattr(arguments, "quiet", False):
        print(printable(line), file=sys.stderr, flush=True)


def stress_ng_in(folder: Path) -> StressNg:
    """Find stress-ng."""
    from ...tools.machine_profile.stress_ng import StressNg

    return StressNg(folder)


def system_here(name: str | None, stress_ng: StressNg) -> System:
    """Describe this machine."""
    import os

    from ...tools.machine_profile.measure import described
    from ...tools.subject import Subject
    from ...tools.survey import survey

    subject = Subject(command=("stress-ng",), argv=(stress_ng.program,), directory=os.getcwd())
    return described(survey(subject, ()), name or os.uname().nodename, stress_ng.version)


def _arms(arguments: argparse.Namespace) -> list[Arm]:
    from ...tools.machine_profile.measure import Arm
    from ...tools.machine_profile.quota import quota_of, share_of

    quota = quota_of(share_of(arguments.quota)) if arguments.quota else None
    if arguments.beside and not quota:
        raise VgoError("--beside FILE is the profile without the quota: give the quota too, with --quota 60%.")
    if arguments.beside and arguments.beside.absolute() == arguments.out.absolute():
        raise VgoError(f"--beside {arguments.beside} is --out: name two files.")
    return [Arm(arguments.out, quota), *([Arm(arguments.beside)] if arguments.beside else [])]


def _rounds(arguments: argparse.Namespace, stress_ng: StressNg) -> Rounds:
    from ...tools.machine_profile.measure import Rounds

    seconds, repetitions = QUICK if arguments.quick else FULL
    seconds = seconds if arguments.seconds is None else arguments.seconds
    repetitions = repetitions if arguments.repetitions is None else arguments.repetitions
    if not 0.05 <= seconds <= 3600:
        raise VgoError(f"--seconds {seconds:g} is no time for a stressor: choose 0.05 to 3600.")
    if repetitions < 1:
        raise VgoError(f"--repetitions {repetitions} measures nothing: choose 1 or more.")
    return Rounds(_stressors(arguments, stress_ng), seconds, repetitions, arguments.seed, arguments.ahead)


def _stressors(arguments: argparse.Namespace, stress_ng: StressNg) -> tuple[Stressor, ...]:
    """Those asked for; a name that this version does not list is tried all the same, and kept as failed."""
    from ...tools.machine_profile.battery import battery, unknown

    every = battery(stress_ng.methods())
    kept = battery(stress_ng.methods(), arguments.quick)
    if arguments.group or arguments.stressor:
        kept = tuple(one for one in kept if one.group in arguments.group)
    named = tuple(one for one in every if one.name in arguments.stressor and one not in kept)
    return (*kept, *named, *unknown(every, arguments.stressor).values())


def _telling(arguments: argparse.Namespace) -> Progress:
    told_s = time.monotonic()

    def progressed(done: int, total: int, run: StressorRun) -> None:
        nonlocal told_s
        if run.failed:
            say(f"  {run.stressor}: {run.failed}", arguments)
        if time.monotonic() - told_s >= SAY_EVERY_S or done == total:
            told_s = time.monotonic()
            say(f"  run {done} of {total}: {run.stressor}", arguments)

    return progressed
