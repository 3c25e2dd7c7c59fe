"""eval record: make a recorded case of a workload, or of a program of one's own."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..agent.commands.options import Answering
from ..knowledge.errors import VgoError
from .recorded.options import OfRecording

if TYPE_CHECKING:
    from .recorded.workshop import Workshop

BUT = ", but by a truth that was not recorded:"
MEND = "Mend truth.yaml and seal it again, or record more."


@dataclass(frozen=True, kw_only=True)
class RecordCommand(OfRecording):
    """Make a recorded case of a workload, or of a program of one's own."""

    EPILOG = """\
examples:
  vgo-agent eval record page-faults
  vgo-agent eval record page-faults --steady
  vgo-agent eval record sync-writes --allow system --mitigation dirty_background
  vgo-agent eval record my-solver --metric 'time: ([0-9.]+) ms' --unit ms -- ./solver --size 10
  vgo-agent eval record --seal my-solver

It measures the baseline, profiles with every light layer that is there, finds what goes with slow runs, and records
pairs with each mitigation of those factors and of the known causes, applied and proved as in a diagnosis. What is cut
off goes on with --resume. Of your own program, write what is right into truth.yaml afterwards, then --seal it.
"""
    USAGE = "NAME [OPTIONS] [-- COMMAND [ARGS...]]"
    SETTINGS = ("layer", "launcher", "timeout", "on-failure")
    PLACES = None
    REQUIRES = {"command": "shell metric per_iteration unit higher_is_better input launcher"}

    def run(self) -> int:
        """Record, or seal, and say whether the case can be scored."""
        where = ["--out", str(self.out)] if self.out else []
        key = _key(self)
        again = shlex.join(["vgo-agent", "eval", "record", "--resume", *where, key])
        if self.seal:
            from .recorded.truth import reseal

            reseal(folder := self.parent / key)
            return _ready(folder, f"{folder} is sealed and can be scored", _judged(folder), self)
        from ..agent.ending import goes_on_with
        from ..knowledge.loader import load
        from .recorded.asking import truth_so_far
        from .recorded.draft import finish
        from .recorded.record import Minutely, Recorder, record

        workshop = _workshop(self, key)
        asked = workshop.asked()
        lines = Minutely(asked.subject.unit, self.quiet, self.verbose)
        lines.say(f"{' '.join(asked.subject.command)}: recorded in {workshop.path}; cut off, it goes on with --resume")
        recorder = Recorder(asked, workshop, truth_so_far(self.parent / key, asked, lines), lines, load())
        with goes_on_with(lambda: again):
            record(recorder)
        return _tell_left(finish(recorder, self.parent), self)


def _key(command: OfRecording) -> str:
    """Name the case: of a workload, by it and its twin."""
    from pydantic import TypeAdapter, ValidationError

    from .recorded.schema import Key

    name = command.name if command.command else command.name.replace("_", "-")
    key = f"{name}-steady" if command.steady and not name.endswith("-steady") else name
    try:
        checked: str = TypeAdapter(Key).validate_python(key)
        return checked
    except ValidationError as error:
        raise VgoError(f"{key!r} cannot name a case: use small letters and digits, with - between them.") from error


def _workshop(command: OfRecording, key: str) -> Workshop:
    """Begin, or go on; raise VgoError where something would be overwritten that was not meant."""
    from .recorded.asking import asked_for
    from .recorded.workshop import Workshop

    if command.resume:
        return Workshop.reopen(command.parent, key)
    asked = asked_for(command, key)
    if (command.parent / key).exists() and not command.force:
        raise VgoError(
            f"{command.parent / key} is there already: record it again with --force, or choose another name."
        )
    return Workshop.begin(command.parent, asked, command.force)


def _judged(folder: Path) -> tuple[str, ...]:
    """Name what makes the truth of a case doubtful; raise VgoError where it cannot be scored."""
    from .recorded.gate import admitted
    from .recorded.truth import read_truth
    from .scores.effects import doubts

    return doubts(admitted(folder), read_truth(folder))


def _tell_left(folder: Path, command: Answering) -> int:
    """Say where the case stands, and what is left to do."""
    from .recorded.truth import sealing

    try:
        found = _judged(folder)
    except VgoError as error:
        text = f"{folder} is recorded. Before it can be scored:\n  {error}\n  Then `{sealing(folder)}`."
        return command.answer({"case": str(folder), "ready": False, "reason": str(error), "doubts": ()}, text)
    return _ready(folder, f"{folder} can be scored", found, command)


def _ready(folder: Path, words: str, doubts: Sequence[str], command: Answering) -> int:
    """Say that a case can be scored, and where its truth and its pairs do not agree."""
    lines = [f"{words}{BUT}", *(f"  {doubt}" for doubt in doubts), MEND] if doubts else [f"{words}."]
    return command.answer({"case": str(folder), "ready": True, "reason": "", "doubts": doubts}, "\n".join(lines))
