"""sweep: run a command over a space of settings, in random rounds, each cell until its spread is known."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ...knowledge.errors import VgoError
from ..sweep.options import OfSweep

_PARAMETER = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*=")


@dataclass(frozen=True, kw_only=True)
class SweepCommand(OfSweep):
    """Run a command over a space of settings, in random rounds, each cell until its spread is known."""

    EPILOG = """\
examples:
  vgo-agent sweep fio
  vgo-agent sweep fio --dry-run
  vgo-agent sweep threads -- ./solver --size 10
  vgo-agent sweep 'size=1000,2000,4000 affinity=0,0+1 OMP_WAIT_POLICY=active,passive' -- ./solver --size '{size}'
  vgo-agent sweep space.yaml --design lhs --cells 40 --budget 3600 -- ./bench.sh --block '{block}' --jobs '{jobs}'
  vgo-agent sweep threads --on tcp://10.0.0.1:8786 -- ./solver --size 10
  vgo-agent sweep space.yaml --design adaptive --response cv --json -- ./bench.sh '{block}'

SPACE is a YAML file, or the name of one that ships (cpu, fio, threads): parameters with levels or a range, and where
each goes; also, where the command line does not say them, command, shell, metric, unit and higher_is_better. `{name}`
in COMMAND stands for a level; a parameter may also go to a variable, CPUs, threads, clock, disk scheduler, a quota or
memory limit of a control group, or a mitigation. SPACE may also be the levels themselves, as in the fourth example, in
one word or several: names that stand in COMMAND, or threads, affinity, frequency, scheduler, cpu_quota, memory, a
VARIABLE, or a parameter of a mitigation (omp_threads.threads=1,2). A cell is a combination of levels. All cells run in
rounds, in another random order each time, until the SD of each is known well enough; what is impossible here is kept as
failed, with the reason. Where one was stopped or killed, the same command or `vgo-agent resume` on its folder goes on;
with the command, its limits may be others. `vgo-agent sweep openmp --help` tells of thread settings that are laid out
from this machine.
runs.csv in the folder is a run table, in which parameters are settings: analyze and compare read it. With --on
each round is made on one host, and rounds are dealt to all in random order, so that cells are compared within hosts.
"""
    USAGE = "SPACE [OPTIONS] [--] [COMMAND [ARGS...]]"
    WORDS = {"command": "the program and its arguments (default: the one of SPACE)"}
    SETTINGS = ("allow", "budget", "timeout", "min-runs", "max-runs", "layer", "launcher", "root", "seed", "out")

    @classmethod
    def begins_program(cls, places: Sequence[str], word: str) -> bool:
        """Every NAME=LEVELS before the program is a part of SPACE."""
        from ...tools.sweep.inline import is_inline

        return bool(places) and not (is_inline(" ".join(places)) and _PARAMETER.match(word))

    def run(self) -> int:
        """Sweep."""
        if self.space == ("openmp",):
            raise VgoError("openmp stands before the options: write `vgo-agent sweep openmp [OPTIONS] -- COMMAND`.")
        from ..settings import effective
        from ..sweep.request import sweep_request

        settings, origins = effective(self.flags)
        request, folder = sweep_request(self, settings, origins)
        if self.dry_run:
            from ..sweep.request import preview, words

            shown = preview(request, folder)
            return self.answer(shown, words(shown))
        from ..sweep.conduct import begin

        unit = request.subject.unit
        ended = self.watched(settings, unit, lambda interface, clock: begin(request, folder, interface, clock))
        return self.answer(*ended.shown())
