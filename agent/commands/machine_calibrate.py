"""machine calibrate: find the CPU quota that brings this machine closest to another."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from ...knowledge.errors import VgoError
from .machine_profile import add_ahead, stress_ng_in, system_here
from .options import add_manners, add_out, add_settings

if TYPE_CHECKING:
    from ...tools.machine_profile.form import Profile, System
    from ...tools.machine_profile.quota_pairs import Search
    from ..calibration import CalibrationRequest
    from ..settings import UserSettings

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


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.epilog = EPILOG
    parser.add_argument("--base", type=Path, required=True, metavar="A", help="profile of the machine to be like")
    parser.add_argument("--here", type=Path, metavar="B", help="a profile of this machine, made at the time of A")
    parser.add_argument("--save", type=Path, metavar="FILE", help="keep the quota in this file too")
    parser.add_argument("--seconds", type=float, default=0.5, metavar="S", help="of each run (default 0.5)")
    parser.add_argument("--sample", type=int, default=24, metavar="N", help="CPU stressors of a step (default 24)")
    parser.add_argument("--steps", type=int, default=5, metavar="N", help="at most (default 5)")
    parser.add_argument("--name", metavar="WORD", help="of this machine (default its host name)")
    add_ahead(parser)
    add_settings(parser, ("budget", "seed"))
    add_out(parser)
    add_manners(parser)


def run(arguments: argparse.Namespace) -> int:
    """Search, keep and answer."""
    from ..settings import effective

    settings, _ = effective(vars(arguments))
    request = _request(arguments, settings)
    from ...tools.machine_profile.form import write
    from ..clock import BudgetClock
    from ..experiment import carry_on, opened
    from ..live_view import watching
    from ..run_folder import RunFolder
    from .ending import give_shown

    with watching(settings.quiet, arguments, request.subject.unit) as interface, opened(request, interface) as there:
        folder = RunFolder.create(settings.out, f"calibration-{arguments.base.stem}")
        found = carry_on(request, request.run, folder, there, interface, BudgetClock(arguments.began_s))
    if arguments.save:
        write(arguments.save, found.found.calibration)
    return give_shown(found.shown([arguments.save] if arguments.save else ()), arguments.json)


def _request(arguments: argparse.Namespace, settings: UserSettings) -> CalibrationRequest:
    """Read the profiles and look at this machine; what cannot work is refused before any run."""
    from ...tools.machine_profile.battery import battery
    from ...tools.machine_profile.form import Profile, read
    from ...tools.mitigation.owned_folder import temporary_folder
    from ...tools.subject import Subject
    from ..calibration import CalibrationRequest

    base = read(arguments.base, Profile)
    here = read(arguments.here, Profile) if arguments.here else None
    search = _search(arguments, settings.seed)
    with temporary_folder() as folder:
        stress_ng = stress_ng_in(folder)
        stressors, system = battery(stress_ng.methods()), system_here(arguments.name, stress_ng)
    _refuse_foreign(here, system, arguments)
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


def _search(arguments: argparse.Namespace, seed: int) -> Search:
    from ...tools.machine_profile.quota_pairs import Search

    if not 0.1 <= arguments.seconds <= 3600:
        raise VgoError(f"--seconds {arguments.seconds:g} holds too few periods of a quota: choose 0.1 to 3600.")
    if arguments.steps < 2 or arguments.sample < 1:
        raise VgoError("A search needs --steps 2 and --sample 1 at least.")
    return Search(
        seconds=arguments.seconds,
        sample=arguments.sample,
        steps=arguments.steps,
        seed=seed,
        ahead=arguments.ahead,
    )


def _refuse_foreign(here: Profile | None, system: System, arguments: argparse.Namespace) -> None:
    if here is not None and (here.system.cpu, here.system.architecture) != (system.cpu, system.architecture):
        raise VgoError(
            f"--here {arguments.here} is a profile of another machine ({here.system.cpu}); this one is {system.cpu}: "
            "profile this one, or leave --here out."
        )
    if here is not None and here.battery.quota:
        raise VgoError(f"--here {arguments.here} was measured under a quota: give one of the whole machine.")
