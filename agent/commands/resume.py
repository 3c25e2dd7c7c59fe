"""resume: go on with what was killed or interrupted: a diagnosis or an experiment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...knowledge.errors import VgoError
from .options import Asking, OfRun, on_option

if TYPE_CHECKING:
    from ..run_folder import RunFolder
    from ..settings import UserSettings


@dataclass(frozen=True, kw_only=True)
class ResumeCommand(OfRun, Asking):
    """Go on with what was killed or interrupted: a diagnosis or an experiment."""

    EPILOG = """\
examples:
  vgo-agent resume vgo-runs/20250314-092653-bench.sh
  vgo-agent resume vgo-runs/20250314-092653-bench.sh --budget 300
  vgo-agent resume vgo-runs/20250314-092653-bench.sh --accept tmpfs_directory

No finished step is lost or repeated; a mitigation that was half applied is put back first. A run that was cut short has
what was left of its budget. With --budget it has so many seconds from now; a run that has ended goes on too then, with
what its budget had kept it from trying. --accept holds for what has not been asked about yet. A measurement, a profile,
a study, a sweep or a calibration is told again where it had ended; the last three have their whole budget again. --on
says where the hosts of one can be reached now.
"""
    SETTINGS = ("out", "budget", "accept")
    WORDS = {"budget": "seconds to go on for, from now"}

    on: str | None = on_option()

    def run(self) -> int:
        """Go on."""
        from ..experiment_folder import experiment_in
        from ..run_folder import RunFolder, place_meant
        from .mitigation_arguments import accepted

        accept = accepted(tuple(self.flags.get("accept", ())))
        settings = self.in_force()
        more_s = settings.budget_s if "budget" in self.flags else None
        folder = place_meant(self.run_name, settings.out)
        if not (kind := experiment_in(folder)):
            return self._diagnosis(RunFolder.find(folder), settings, more_s, accept)
        if "accept" in self.flags:
            raise VgoError(f"--accept is for a diagnosis, and {folder} is a {kind}: leave it out.")
        return self._experiment(RunFolder(folder), settings, more_s)

    def _experiment(self, folder: RunFolder, settings: UserSettings, more_s: float | None) -> int:
        from ..experiment import go_on, read_experiment
        from .subject import on_of

        request = read_experiment(folder.path).reached(on_of(self.on, settings))
        request = request.lasting(more_s, folder) if more_s else request
        unit = request.subject.unit
        ended = self.watched(settings, unit, lambda interface, clock: go_on(request, folder, interface, clock))
        return self.answer(*ended.shown())

    def _diagnosis(
        self, folder: RunFolder, settings: UserSettings, more_s: float | None, accept: tuple[str, ...]
    ) -> int:
        from ..session import read_request, resume

        if self.on:
            raise VgoError(f"{folder.path} is a diagnosis, which goes on where it began: leave --on out.")
        unit = read_request(folder).subject.unit
        return self.give(
            self.watched(settings, unit, lambda interface, clock: resume(folder, interface, clock, more_s, accept))
        )
