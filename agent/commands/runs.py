"""runs: a table of the runs so far."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from .options import Answering, Asking, OfRun, on_option, option

if TYPE_CHECKING:
    from ..history import ListedRun

HEADER = ("when", "verdict", "factor", "ratio", "command", "folder")
LONGEST_COMMAND = 40


@dataclass(frozen=True, kw_only=True)
class RunsCommand(Answering):
    """A table of the runs so far."""

    EPILOG = """\
example:
  vgo-agent runs --out vgo-runs

The newest comes first. RATIO is what decided: the spread with the mitigation, as a share of the spread without.
"""
    SETTINGS = ("out",)

    def run(self) -> int:
        """List."""
        from ...tools.document import Table
        from ..history import history

        settings = self.in_force()
        runs = history(settings.out)
        none = f"There are no runs in {settings.out} yet; `vgo-agent demo` makes one."
        shown = Table(HEADER, [_row(one) for one in runs]) if runs else none
        return self.answer({"out": str(settings.out), "runs": [one._asdict() for one in runs]}, [shown])


def _row(one: ListedRun) -> tuple[str, ...]:
    command = one.command if len(one.command) <= LONGEST_COMMAND else f"{one.command[: LONGEST_COMMAND - 3]}..."
    return *one.cells, command, one.folder


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
            settings, request.subject.unit, lambda interface, clock: request.resumed(folder, interface, clock, changes)
        )
        return self.answer(*ended.shown())


@dataclass(frozen=True, kw_only=True)
class VerifyCommand(OfRun):
    """Check that a run folder is as it was written, or compute it again."""

    EPILOG = """\
examples:
  vgo-agent verify vgo-runs/20250314-092653-bench.sh
  vgo-agent verify vgo-runs/20250314-092653-bench.sh --recompute

Checks the hash chain of the transcript, its end, and the hash of every file that belongs to the run. Compare the tip
with one written down elsewhere to be sure that the whole transcript was not replaced.
--recompute drives the loop again with the recorded measurements: every other step is computed anew and must give the
same event. Nothing is run or changed; the first difference is named. A language model that planned the run is asked
again where the same file is at hand, and has to write the same on the same build and kind of CPU. Of what is no
diagnosis, table and answer are made again from the log of its runs.
"""

    REQUIRES = {"recompute": "without_model"}

    recompute: bool = option("compute every step again from the recorded measurements, and compare", False)
    without_model: bool = option("with --recompute: read what a language model wrote from the record, ask none", False)

    def run(self) -> int:
        """Verify; 1 where something differs."""
        from ..run_folder import RunFolder, place_meant

        folder = RunFolder.of_any(place_meant(self.run_name, self.in_force().out))
        if self.recompute:
            from ..replay import replay

            report, same = replay(folder, self.without_model), "The same events again"
        else:
            from ..verify import verify

            report, same = verify(folder), "As it was written"
        counts = f"{report.events} events, {report.artefacts} artefacts, {report.outputs} outputs"
        counts += f"\nTip {report.tip}; before its end record, as the report tells it, {report.reported}"
        words = f"{same}: {counts}" if report.ok else f"Not the same: {report.difference}"
        words += f"\n{report.note[:1].upper()}{report.note[1:]}." if report.note else ""
        self.answer(asdict(report), words)
        return 0 if report.ok else 1


@dataclass(frozen=True, kw_only=True)
class RestoreCommand(Answering):
    """Put back what a killed vgo-agent left."""

    EPILOG = """\
example:
  vgo-agent restore

Puts settings of this machine back to what they were before an agent that is dead changed them, and removes its working
copies and temporary folders. A setting that someone else has changed since is left alone and named. Safe to repeat.
"""

    force: bool = option("also what a living agent has changed", False)

    def run(self) -> int:
        """Restore."""
        from ...tools.mitigation.restore import restore

        told = restore(force=self.force)
        return self.answer({"restored": told}, "\n".join(told) or "Nothing was left to put back.")
