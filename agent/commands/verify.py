"""verify: the folder of a run is as it was written, and its measurements lead to the same events again."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from .options import OfRun, option


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
