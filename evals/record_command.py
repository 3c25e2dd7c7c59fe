"""eval record: make a recorded case of a workload, or of a program of one's own."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..agent.commands.options import add_manners, add_program, add_settings
from ..agent.terminal import answer
from ..knowledge.errors import VgoError

if TYPE_CHECKING:
    from .recorded.workshop import Workshop

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
SETTINGS = ("layer", "timeout", "on-failure")
BUT = ", but by a truth that was not recorded:"
MEND = "Mend truth.yaml and seal it again, or record more."


def add_record(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.usage = f"{parser.prog} NAME [OPTIONS] [-- COMMAND [ARGS...]]"
    parser.epilog = EPILOG
    parser.add_argument("name", metavar="NAME", help="a workload, a case to record again, or a new name for COMMAND")
    add_program(parser)
    _add_what(parser)
    _add_where(parser)
    add_settings(parser, SETTINGS)
    add_manners(parser)
    parser.set_defaults(parser=parser)


def _add_what(parser: argparse.ArgumentParser) -> None:
    what = parser.add_argument_group("what is recorded")
    what.add_argument("--steady", action="store_true", help="the workload's steady twin, without its cause")
    what.add_argument("--runs", type=int, metavar="N", help="of the baseline, and profiled ones (default 400)")
    what.add_argument("--pairs", type=int, metavar="N", help="with each mitigation (default 400)")
    what.add_argument(
        "--minutes", type=float, metavar="M", help="scale runs and pairs down until it takes about M minutes"
    )
    what.add_argument("--mitigation", action="append", default=[], metavar="M", help="record this one too; repeatable")
    what.add_argument(
        "--cause",
        action="append",
        default=[],
        metavar="FACTOR",
        help="record the mitigations of this factor, found or not; repeatable",
    )
    what.add_argument(
        "--placebo",
        action="append",
        default=[],
        metavar="M",
        help="record pairs under the name of this mitigation with nothing applied (A/A): a claim of it is a false "
        "alarm; repeatable",
    )
    what.add_argument("--all", action="store_true", help="record every mitigation that the tool can apply")
    what.add_argument(
        "--allow",
        dest="allowed",
        choices=("none", "process", "system"),
        help="which mitigations may be applied: none, those that touch only the program, or also those that change "
        "the system (default process, and for a workload what its cures change)",
    )


def _add_where(parser: argparse.ArgumentParser) -> None:
    where = parser.add_argument_group("where")
    where.add_argument("--out", dest="parent", type=Path, metavar="FOLDER", help="the parent of cases (evals/cases)")
    where.add_argument(
        "--force",
        action="store_true",
        help="record again what is there; a person's words in its yaml files are kept",
    )
    where.add_argument("--resume", action="store_true", help="go on with a recording that was cut off, as it began")
    where.add_argument("--seal", action="store_true", help="only hash the files again, after a yaml file was edited")


def run_record(arguments: argparse.Namespace) -> int:
    """Record, or seal, and say whether the case can be scored."""
    _options_after(arguments)
    from .recorded.folders import CASES

    where = [] if arguments.parent is None else ["--out", str(arguments.parent)]
    arguments.parent = arguments.parent or CASES
    key = _key(arguments)
    again = shlex.join(["vgo-agent", "eval", "record", "--resume", *where, key])
    if arguments.seal:
        return _seal(arguments.parent / key, arguments.json)
    from ..agent.ending import goes_on_with
    from .recorded.asking import truth_so_far
    from .recorded.finish import finish
    from .recorded.record import Minutely, record, recorder_of

    workshop = _workshop(arguments, key)
    asked = workshop.asked()
    lines = Minutely(asked.subject.unit, getattr(arguments, "quiet", False), arguments.verbose)
    lines.say(f"{' '.join(asked.subject.command)}: recorded in {workshop.path}; cut off, it goes on with --resume")
    recorder = recorder_of(workshop, truth_so_far(arguments.parent / key, asked, lines), lines)
    with goes_on_with(lambda: again):
        record(recorder)
    return _told(finish(recorder, arguments.parent), arguments.json)


def _options_after(arguments: argparse.Namespace) -> None:
    """Read the options between NAME and COMMAND, which argparse takes for the beginning of COMMAND."""
    words, name = arguments.command, arguments.name
    if not words or not words[0].startswith("-"):
        return
    end = words.index("--") if "--" in words else len(words)
    arguments.command = []
    arguments.parser.parse_args([*words[:end], name], namespace=arguments)
    if arguments.name != name or arguments.command:
        arguments.parser.error("put -- before the command")
    arguments.command = words[end + 1 :]


def _key(arguments: argparse.Namespace) -> str:
    """Name the case: of a workload, by it and its twin."""
    from pydantic import TypeAdapter, ValidationError

    from .recorded.schema import Key

    name = arguments.name if arguments.command else arguments.name.replace("_", "-")
    key = f"{name}-steady" if arguments.steady and not name.endswith("-steady") else name
    try:
        checked: str = TypeAdapter(Key).validate_python(key)
        return checked
    except ValidationError as error:
        raise VgoError(f"{key!r} cannot name a case: use small letters and digits, with - between them.") from error


def _workshop(arguments: argparse.Namespace, key: str) -> Workshop:
    """Begin, or go on; raise VgoError where something would be overwritten that was not meant."""
    from .recorded.asking import asked_for
    from .recorded.workshop import Workshop

    if arguments.resume:
        return Workshop.reopen(arguments.parent, key)
    asked = asked_for(arguments, key)
    if (arguments.parent / key).exists() and not arguments.force:
        raise VgoError(
            f"{arguments.parent / key} is there already: record it again with --force, or choose another name."
        )
    return Workshop.begin(arguments.parent, asked, arguments.force)


def _judged(folder: Path) -> tuple[str, ...]:
    """Name what makes the truth of a case doubtful; raise VgoError where it cannot be scored."""
    from .recorded.gate import admitted
    from .recorded.truth import read_truth
    from .scores.effects import doubts

    return doubts(admitted(folder), read_truth(folder))


def _seal(folder: Path, as_json: bool) -> int:
    from .recorded.manifest import reseal

    reseal(folder)
    return _ready(folder, f"{folder} is sealed and can be scored", _judged(folder), as_json)


def _told(folder: Path, as_json: bool) -> int:
    """Say where the case stands, and what is left to do."""
    from .recorded.manifest import sealing

    try:
        found = _judged(folder)
    except VgoError as error:
        text = f"{folder} is recorded. Before it can be scored:\n  {error}\n  Then `{sealing(folder)}`."
        answer({"case": str(folder), "ready": False, "reason": str(error), "doubts": ()}, text, as_json)
        return 0
    return _ready(folder, f"{folder} can be scored", found, as_json)


def _ready(folder: Path, words: str, doubts: Sequence[str], as_json: bool) -> int:
    """Say that a case can be scored, and where its truth and its pairs do not agree."""
    lines = [f"{words}{BUT}", *(f"  {doubt}" for doubt in doubts), MEND] if doubts else [f"{words}."]
    answer({"case": str(folder), "ready": True, "reason": "", "doubts": doubts}, "\n".join(lines), as_json)
    return 0
