"""machine calibrate: find the CPU quota that brings this machine closest to another."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from ...knowledge.errors import VgoError
from ..terminal import answer
from .machine_profile import add_ahead, opened, restore_first, say, system_here
from .options import add_manners

if TYPE_CHECKING:
    from ...tools.machine_profile.battery import Stressor
    from ...tools.machine_profile.form import Profile, System
    from ...tools.machine_profile.turns import Search

EPILOG = """\
examples:
  vgo-agent machine calibrate --base old.json
  vgo-agent machine calibrate --base old.json --here new.json --ahead --out like-old.json

Every step runs CPU stressors with and without a quota in turns, and moves the quota until the median speed-up over the
base is 1; the last step runs every stressor that the base has. --here gives a profile of this machine made next to the
base's (for a machine that drifts); else this machine's speed is that of the runs without the quota. The quota is for
one thread, in a control group of its own that is gone afterwards; `vgo-agent machine run --like FILE` uses it.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.epilog = EPILOG
    parser.add_argument("--base", type=Path, required=True, metavar="A", help="profile of the machine to be like")
    parser.add_argument("--here", type=Path, metavar="B", help="a profile of this machine, made at the time of A")
    parser.add_argument("--out", type=Path, metavar="FILE", help="where it is kept (default A.calibration.json)")
    parser.add_argument("--seconds", type=float, default=0.5, metavar="S", help="of each run (default 0.5)")
    parser.add_argument("--sample", type=int, default=24, metavar="N", help="CPU stressors of a step (default 24)")
    parser.add_argument("--steps", type=int, default=5, metavar="N", help="at most (default 5)")
    parser.add_argument("--name", metavar="WORD", help="of this machine (default its host name)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of the order (default 1)")
    add_ahead(parser)
    add_manners(parser)


def run(arguments: argparse.Namespace) -> int:
    """Search, keep and answer."""
    from ...tools.machine_profile.calibrate import calibrate
    from ...tools.machine_profile.form import Profile, beside, read, write
    from ..report.machine_calibration import calibrated_text

    base = read(arguments.base, Profile)
    here = read(arguments.here, Profile) if arguments.here else None
    search = _search(arguments)
    restore_first(arguments)
    stressors, system = _here(arguments)
    _refuse_foreign(here, system, arguments)
    found = calibrate(base, here, system, stressors, search, lambda line: say(line, arguments))
    out = arguments.out or beside(arguments.base)
    write(out, found.calibration)
    answer(found.model_dump(mode="json") | {"file": str(out)}, calibrated_text(found, out), arguments.json)
    return 0


def _search(arguments: argparse.Namespace) -> Search:
    from ...tools.machine_profile.turns import Search

    if not 0.1 <= arguments.seconds <= 3600:
        raise VgoError(f"--seconds {arguments.seconds:g} holds too few periods of a quota: choose 0.1 to 3600.")
    if arguments.steps < 2 or arguments.sample < 1:
        raise VgoError("A search needs --steps 2 and --sample 1 at least.")
    return Search(arguments.seconds, arguments.sample, arguments.steps, arguments.seed, arguments.ahead)


def _here(arguments: argparse.Namespace) -> tuple[tuple[Stressor, ...], System]:
    from ...tools.machine_profile.battery import battery
    from ...tools.mitigation.owned_folder import temporary_folder

    with temporary_folder() as folder:
        stress_ng = opened(folder)
        return battery(stress_ng.methods()), system_here(arguments.name, stress_ng)


def _refuse_foreign(here: Profile | None, system: System, arguments: argparse.Namespace) -> None:
    if here is not None and (here.system.cpu, here.system.architecture) != (system.cpu, system.architecture):
        raise VgoError(
            f"--here {arguments.here} is a profile of another machine ({here.system.cpu}); this one is {system.cpu}: "
            "profile this one, or leave --here out."
        )
    if here is not None and here.battery.quota:
        raise VgoError(f"--here {arguments.here} was measured under a quota: give one of the whole machine.")
