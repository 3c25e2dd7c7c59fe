"""What `eval record` is asked; light, because its `--help` loads it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ...agent.commands.options import Answering, OfProgram, option, place

WHERE = "where"


@dataclass(frozen=True, kw_only=True)
class OfRecording(OfProgram, Answering):
    """What is recorded, and where it is kept."""

    GROUP = "what is recorded"

    name: str = place("NAME", "a workload, a case to record again, or a new name for COMMAND")
    steady: bool = option("the workload's steady twin, without its cause", False)
    runs: int | None = option("of the baseline, and profiled ones (default 400)", metavar="N")
    pairs: int | None = option("with each mitigation (default 400)", metavar="N")
    minutes: float | None = option("scale runs and pairs down until it takes about M minutes", metavar="M")
    mitigation: tuple[str, ...] = option("record this one too; repeatable", (), metavar="M")
    cause: tuple[str, ...] = option(
        "record the mitigations of this factor, found or not; repeatable", (), metavar="FACTOR"
    )
    placebo: tuple[str, ...] = option(
        "record pairs under the name of this mitigation with nothing applied (A/A): a claim of it is a false "
        "alarm; repeatable",
        (),
        metavar="M",
    )
    all: bool = option("record every mitigation that the tool can apply", False)
    allow: str | None = option(
        "which mitigations may be applied: none, those that touch only the program, or also those that change "
        "the system (default process, and for a workload what its cures change)",
        choices=("none", "process", "system"),
    )
    out: Path | None = option("the parent of cases (evals/cases)", metavar="FOLDER", group=WHERE)
    force: bool = option("record again what is there; a person's words in its yaml files are kept", False, group=WHERE)
    resume: bool = option("go on with a recording that was cut off, as it began", False, group=WHERE)
    seal: bool = option("only hash the files again, after a yaml file was edited", False, group=WHERE)

    @property
    def parent(self) -> Path:
        """The folder of cases."""
        from .folders import CASES

        return self.out or CASES
