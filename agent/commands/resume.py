"""resume: go on with what was killed or interrupted: a diagnosis or an experiment."""

from __future__ import annotations

from dataclasses import dataclass

from .options import Asking, OfRun, on_option


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
what its budget had kept it from trying. --accept holds for what has not been asked about yet. What is no diagnosis is
told again where it had ended; all but a measurement and a profile of a program have their whole budget again. --on
says where the hosts of one can be reached now.
"""
    SETTINGS = ("out", "budget", "accept")
    WORDS = {"budget": "seconds to go on for, from now"}

    on: str | None = on_option()

    def run(self) -> int:
        """Go on."""
        from ..run_folder import RunFolder, place_meant
        from ..session import Changes, Request, read_request
        from .mitigation_arguments import accepted
        from .subject import on_of

        settings = self.in_force()
        seconds = settings.budget_s if "budget" in self.flags else None
        changes = Changes(seconds, accepted(tuple(self.flags.get("accept", ()))), on_of(self.on, settings))
        folder = RunFolder.of_any(place_meant(self.run_name, settings.out))
        request = read_request(folder.path, Request)
        ended = self.watched(
            settings,
            request.subject.unit,
            lambda interface, clock: request.resumed(folder, interface, clock, changes),
        )
        return self.answer(*ended.shown())
