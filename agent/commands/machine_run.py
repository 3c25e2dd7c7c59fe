"""machine run: a command under a CPU quota, with the proof that it was in force."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ...knowledge.errors import VgoError
from ..terminal import printable
from .machine_profile import restore_first, say
from .options import add_voice

if TYPE_CHECKING:
    from ...tools.machine_profile.form import Calibration, Quota
    from ...tools.machine_profile.quota import LimitedRunResult

EPILOG = """\
examples:
  vgo-agent machine run --like like-old.json -- ./bench.sh --size 10
  vgo-agent machine run --quota 60% --threads 4 -- ./solver

RUN is the run folder of `vgo-agent machine calibrate`, or the file that its --save wrote. The quota is for one thread,
as it was found; --threads gives the whole group so many times as much. The exit code is that of COMMAND; whether the
quota stopped it is told on standard error.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.usage = f"{parser.prog} (--like RUN | --quota SHARE) [OPTIONS] -- COMMAND [ARGS...]"
    parser.epilog = EPILOG
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--like", type=Path, metavar="RUN", help="a calibration: its folder or file")
    which.add_argument("--quota", metavar="SHARE", help="such as 60%% or 0.6 CPUs")
    parser.add_argument("--threads", type=int, default=1, metavar="N", help="so many times the quota (default 1)")
    parser.add_argument("--period", type=int, metavar="US", help="period in microseconds (default 10000)")
    add_voice(parser)
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="COMMAND", help="the program and its arguments")


def run(arguments: argparse.Namespace) -> int:
    """Run it and pass its exit code on."""
    from ...tools.execution.resolve import resolve
    from ...tools.machine_profile.quota import limited_run

    command = arguments.command[1:] if arguments.command[:1] == ["--"] else arguments.command
    argv = resolve(tuple(command), shell=False)
    quota = _quota(arguments)
    restore_first(arguments)
    ended = limited_run(argv, quota)
    say(_told(ended, quota), arguments)
    if ended.left:
        print(f"vgo-agent: {printable(ended.left)}", file=sys.stderr)
    return ended.exit_code


def _quota(arguments: argparse.Namespace) -> Quota:
    """Take the quota that was named or found, for all threads together."""
    from ...tools.machine_profile.quota import quota_of, share_of

    if arguments.threads < 1:
        raise VgoError(f"--threads {arguments.threads} runs nothing: choose 1 or more.")
    if arguments.quota:
        return quota_of(share_of(arguments.quota) * arguments.threads, arguments.period)
    found = calibration_of(arguments.like)
    _warn_elsewhere(found, arguments)
    return quota_of(found.quota.cpus * arguments.threads, arguments.period or found.quota.period_us)


def calibration_of(path: Path) -> Calibration:
    """Read a calibration, from a file or from its run folder."""
    from ...tools.machine_profile.form import Calibration, read
    from ..calibration import QUOTA

    return read(path / QUOTA if path.is_dir() else path, Calibration)


def _warn_elsewhere(found: Calibration, arguments: argparse.Namespace) -> None:
    import os

    from ...tools.subject import Subject
    from ...tools.survey import survey

    here = survey(Subject(command=("true",), argv=("true",), directory=os.getcwd()), ())
    if (found.here.kernel, found.here.cpu) != (here.kernel, here.cpu):
        say(
            f"The calibration was made on {found.here.name} ({found.here.cpu}, Linux {found.here.kernel}), and this is "
            f"{here.cpu}, Linux {here.kernel}: calibrate again here.",
            arguments,
        )


def _told(ended: LimitedRunResult, quota: Quota) -> str:
    from ..report.machine import quota_words

    share = f"{ended.cpu_s / ended.wall_s:.3g} CPUs used over {ended.wall_s:.3g} s" if ended.wall_s else "no time"
    proof = f"stopped in {ended.throttled} of {ended.periods} periods"
    if not ended.throttled:
        proof += ", so it never asked for more"
    return f"vgo-agent: {quota_words(quota)}: {proof}; {share}."
