"""measure: run a command until its spread is known, or with metric layers on, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ...knowledge.errors import VgoError
from .options import Answering, OfProgram, OnHosts, option

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..settings import UserSettings
    from ..step import StepRequest

RUNS, LEDGER_RUNS = 100, 30
LEDGER_S = 5.0
"""Of the runs of a ledger, so that its answer is there in ten seconds, unless the least number of runs takes longer."""


@dataclass(frozen=True, kw_only=True)
class MeasureCommand(OfProgram, OnHosts, Answering):
    """Run a command until its spread is known, or with metric layers on, and nothing else."""

    EPILOG = """\
examples:
  vgo-agent measure ./bench.sh
  vgo-agent measure --stop count --stop-at 100 --save runs.csv ./bench.sh
  vgo-agent measure --metric 'time: ([0-9.]+) ms' --unit ms --json -- python bench.py
  vgo-agent measure --ledger ./bench.sh
  vgo-agent measure --layer process --save t.csv ./bench.sh && vgo-agent analyze t.csv
  vgo-agent measure --layer process --layer strace --runs 60 ./bench.sh
  vgo-agent measure --layer all --json -- python bench.py

--ledger tells where the milliseconds went that slow runs take more: on a CPU and in which function, behind whom in its
queue, waiting in which call for whom. With --metric it splits the part of the run that the metric measures: found by
the program's readings of the clock or of CPU time, or by its output. Surest are marks that the program writes to
/proc/thread-self/comm where it starts and stops its clock: vgo:begin and vgo:end, of which the last pair counts
  C       prctl(PR_SET_NAME, "vgo:begin");
  Python  with open("/proc/thread-self/comm", "w") as file: file.write("vgo:begin")
  shell   echo vgo:begin > /proc/self/comm

Without --layer nothing reads counters; nothing is ever changed. With it light layers are on in every profiled run,
heavy ones in turn, two at most; bare runs between them, in random order, show what the layers themselves do to the
program. `vgo-agent layers` lists what there is. Ctrl-C ends it with the runs so far. Every run is kept in a run folder
below --out, which `vgo-agent resume` goes on with; --save FILE.csv, FILE.parquet or FOLDER keeps a table where you want
it, with a page that describes it. analyze and compare read both.
"""
    WORDS = {"layer": "read the counters of this layer: see `vgo-agent layers`; all or auto; repeatable (default none)"}
    SETTINGS = (
        *("budget", "timeout", "on-failure", "min-runs", "max-runs", "stop", "stop-at", "layer", "launcher", "root"),
        *("seed", "out"),
    )
    CONFLICTS = {"layers": "stop stop_at min_runs max_runs", "ledger": "stop stop_at min_runs max_runs"}

    runs: int = option(
        f"with --layer or --ledger: runs with each set of layers (default {RUNS}; of a ledger {LEDGER_RUNS}, or those "
        f"that fit in {LEDGER_S:g} s)",
        RUNS,
        metavar="N",
        allowed=lambda runs: runs >= 2,
        refused="shows no spread; give at least 2",
    )
    ledger: bool = option("tell where the milliseconds of slow runs went (less without root)", False)
    save: str | None = option("keep every run: FILE.csv, FILE.parquet or a folder", metavar="PATH")

    def run(self) -> int:
        """Measure, save and answer; what was cut short is saved and told too before it ends as it was."""
        from ..save import refuse, save
        from ..step import begin
        from .subject import short_name

        settings = self.in_force()
        request = self._request(settings)
        place = place_of(self.save) if self.save else None
        if place:
            refuse(place)
        subject = request.subject
        name = short_name(subject.command, subject.shell)
        stepped = self.watched(
            settings, subject.unit, lambda interface, clock: begin(request, settings.out, name, interface, clock)
        )
        saved: tuple[Path, ...] = ()
        if place:
            saved = save(stepped, place)
        return self.answer(*stepped.shown(saved))

    def _request(self, settings: UserSettings) -> StepRequest:
        from ...tools.layers_here import named
        from ..step import StepRequest
        from .subject import subject_of

        subject, limits = subject_of(self, settings), settings.limits()
        arguments = {"max_seconds": settings.budget_s}
        if "layers" not in self.flags and not self.ledger:
            if "runs" in self.typed:
                raise VgoError("--runs counts only with --layer or --ledger: give that, or leave --runs out.")
            arguments |= {"max_runs": settings.max_runs}
            why = "run until it is enough"
            return StepRequest(subject=subject, limits=limits, kind="measurement", arguments=arguments, why=why)
        asked = settings.layers if "layers" in self.flags else ()
        runs = LEDGER_RUNS if self.ledger and "runs" not in self.typed else self.runs
        layers = (*asked, *(self._of_ledger(asked, runs, settings) if self.ledger else ()))
        named(layers)  # a layer that does not exist is told before the first run
        limits, profiled = limits.model_copy(update={"layers": layers}), {"layers": layers, "runs": runs, **arguments}
        why = "read counters around each run"
        within_s = LEDGER_S if self.ledger and "runs" not in self.typed else None
        return StepRequest(
            subject=subject, limits=limits, kind="profile", arguments=profiled, why=why, within_s=within_s
        )

    def _of_ledger(self, asked: Sequence[str], runs: int, settings: UserSettings) -> tuple[str, ...]:
        """Give the layer to add for a ledger: where stacks cannot be kept, the one that tells less."""
        from ...layers.loader import find_layer
        from ...tools.layers_here import here
        from ...tools.ledger.split import LEDGER, STACKS
        from ...tools.statistics.ratio_test import FEWEST

        if runs < FEWEST:
            raise VgoError(f"--runs {runs} is too few for a ledger: give at least {FEWEST}.")
        named = {spec.partition(":")[0] for spec in asked}
        if STACKS in named:
            return ()
        kept = self.on or here(find_layer(STACKS), Path(settings.root), None).state != "no"
        return tuple({STACKS if kept else LEDGER} - named)


def place_of(words: str) -> Path:
    """Read where to save; a path drops the slash by which its user means a folder."""
    path = Path(words)
    if words.endswith("/") and path.suffix and not path.is_dir():
        raise VgoError(f"--save {words} ends as a folder and is named as a file: leave out the slash or the ending.")
    return path
