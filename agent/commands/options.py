"""Options that several commands share; light, because every `--help` loads it."""

from __future__ import annotations

import argparse
from collections.abc import Collection
from pathlib import Path
from typing import Any

from ...tools.statistics.stopping.rules import DEFAULT, RULES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...tools.recorded.mapping import Meanings

RUN_HELP = "the folder of a run, a file in it, or its name under --out"


def add_manners(parser: argparse.ArgumentParser) -> None:
    """Add what every command that answers takes."""
    parser.add_argument("--json", action="store_true", help="print one JSON object on standard output")
    add_voice(parser)


def add_asking(parser: argparse.ArgumentParser) -> None:
    """Add how a program answers what a user is asked at a terminal."""
    parser.add_argument(
        "--json-lines",
        dest="json",
        action="store_const",
        const="lines",
        help='as --json, on one line, after a line for each change that needs a yes: {"question": ...}; it is answered '
        'on standard input by a line {"answer": KEY}, once, process, no-system or no, or asked about by '
        '{"ask": WORDS}; the end of input means no',
    )


def add_voice(parser: argparse.ArgumentParser) -> None:
    """Add how much is told on standard error."""
    voice = parser.add_mutually_exclusive_group()
    # Absent unless given, so that the settings file and the environment can say it too.
    voice.add_argument(
        "-q", "--quiet", action="store_true", default=argparse.SUPPRESS, help="tell no progress, only the answer"
    )
    voice.add_argument("-v", "--verbose", action="store_true", help="tell more, and where an error came from")


def add_out(parser: argparse.ArgumentParser) -> None:
    """Add where run folders are."""
    parser.add_argument(
        "--out", metavar="DIR", default=argparse.SUPPRESS, help="the parent of run folders (default vgo-runs)"
    )


def add_chances(parser: argparse.ArgumentParser | argparse._ArgumentGroup) -> None:
    """Add what every analysis of recorded runs takes; `check_chances` refuses what is none."""
    parser.add_argument("--alpha", type=float, default=0.05, metavar="P", help="chance of a wrong claim (default 0.05)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="seed of all that is drawn (default 1)")


def check_chances(arguments: argparse.Namespace) -> None:
    """Refuse a chance of a wrong claim that is none, and a seed below 0."""
    from ...knowledge.errors import VgoError

    if not 0 < arguments.alpha < 0.5:
        raise VgoError(f"--alpha {arguments.alpha:g} is no chance of a wrong claim; choose it between 0 and 0.5.")
    if arguments.seed < 0:
        raise VgoError(f"--seed {arguments.seed} is below 0; choose any number from 0.")


def add_mapping(parser: argparse.ArgumentParser) -> None:
    """Add what says what the columns of a recorded table mean."""
    parser.add_argument(
        "--mapping",
        type=Path,
        metavar="FILE.yaml",
        help="what the columns are called and mean: see `vgo-agent import --help`",
    )


def mapping_of(arguments: argparse.Namespace) -> Meanings | None:
    """Read the mapping that was given."""
    if arguments.mapping is None:
        return None
    from ...tools.recorded.mapping import read_mapping

    return read_mapping(arguments.mapping)


def add_run(parser: argparse.ArgumentParser) -> None:
    """Add the run that is meant."""
    parser.add_argument("run", metavar="RUN", help=RUN_HELP)
    add_out(parser)


def add_program(
    parser: argparse.ArgumentParser,
    command: str = "the program and its arguments",
    also: str | None = None,
    samples: bool = True,
) -> None:
    """Add what is run and what it is judged by; `also`: where else that may be said."""
    parser.usage = parser.usage or f"{parser.prog} [OPTIONS] [--] COMMAND [ARGS...]"
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="COMMAND", help=command)
    program = parser.add_argument_group("the program", also)
    program.add_argument("--shell", action="store_true", help="COMMAND is one line for /bin/sh")
    program.add_argument(
        "--metric", metavar="REGEX", help="judge by a number that the program prints: the first group, its last match"
    )
    if samples:
        program.add_argument(
            "--per-iteration",
            metavar="FORMAT",
            help="each line that the program prints is one sample: csv (with a header), json (objects), or a regex "
            "with named groups; --metric then names the field to judge by, and the other fields may explain it",
        )
    program.add_argument("--unit", help="unit of that number, for the report")
    program.add_argument("--higher-is-better", action="store_true", help="a larger number is a better one")
    program.add_argument(
        "--input", metavar="FILE", action="append", default=[], help="a file the program reads; repeatable"
    )


class _NotEmpty(argparse.Action):
    """A variable of the shell that is not set would mean: run here."""

    def __call__(self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, *_: Any) -> None:
        if not values.strip():
            raise argparse.ArgumentError(self, "it is empty: give the address of a scheduler, or a file")
        setattr(namespace, self.dest, values)


def add_cluster(parser: argparse.ArgumentParser) -> None:
    """Add where else to run."""
    cluster = parser.add_argument_group("many machines", "see `vgo-agent cluster --help`")
    add_on(cluster)
    cluster.add_argument("--mixed", action="store_true", help="take the hosts that can be used, though they differ")


def add_on(parser: argparse.ArgumentParser | argparse._ArgumentGroup) -> None:
    """Add which hosts run it."""
    parser.add_argument(
        "--on",
        metavar="ADDRESS|FILE",
        action=_NotEmpty,
        default="",
        help="run on the hosts of a Dask cluster: a scheduler's address, or a YAML file that names a cluster",
    )


def add_experiment(parser: argparse.ArgumentParser, settings: Collection[str]) -> None:
    """Add what every command takes that runs a program under several conditions, with these of the settings."""
    add_settings(parser, settings)
    add_cluster(parser)
    add_out(parser)
    add_manners(parser)
    add_asking(parser)
    parser.set_defaults(parser=parser)


def add_settings(parser: argparse.ArgumentParser, only: Collection[str] = ()) -> None:
    """Add every setting that changes a diagnosis, or only those flags (without their dashes).

    What is not given comes from environment, file or default.
    """
    group = parser.add_argument_group("settings", "also in the settings file and the environment: `vgo-agent config`")

    def add(flag: str, words: str, **more: object) -> None:
        if only and flag.removeprefix("--") not in only:
            return
        group.add_argument(flag, default=argparse.SUPPRESS, help=words, **more)  # type: ignore[arg-type]

    add(
        "--allow",
        "mitigations that may be applied without asking: none at all, those that touch only the program, "
        "or also those that change the system (default process)",
        choices=("none", "process", "system"),
    )
    add(
        "--accept",
        "apply this mitigation although it changes what the program promises, as that data are safe; repeatable",
        action="append",
        metavar="MITIGATION",
    )
    add(
        "--budget",
        "seconds by the clock, from the start of the command to its answer (default 600)",
        type=float,
        metavar="S",
    )
    add("--timeout", "end a run after so many seconds, and count it as failed", type=float, metavar="S")
    add(
        "--on-failure",
        "what a failed run of the program as it is given does: it is counted and told, or it ends all (default count)",
        choices=("count", "stop"),
    )
    add("--min-runs", "runs of one condition at least (default 30)", type=int, metavar="N")
    add("--max-runs", "runs of one condition at most (default 500)", type=int, metavar="N")
    add(
        "--stop",
        "which rule says that the baseline has enough runs: `vgo-agent config --help` tells what each looks at; "
        f"--max-runs and --budget hold beside it (default {DEFAULT.name})",
        choices=tuple(RULES),
    )
    add(
        "--stop-at",
        "target of that rule, in its own unit: see `vgo-agent config --help`",
        type=float,
        metavar="X",
    )
    add("--target-ratio", "stop when the spread is proved below this share (default 0.66)", type=float, metavar="R")
    add("--steady-cv", "spread over mean that needs no reduction (default 0.01)", type=float, metavar="CV")
    add("--alpha", "chance of a wrong claim (default 0.05)", type=float, metavar="P")
    add("--max-mitigations", "mitigations tried at most (default 12)", type=int, metavar="N")
    add(
        "--layer",
        "metric layer to profile with: NAME, NAME:parameter=value,..., or ./FILE.yaml; all: every one that is there; "
        "auto: the light ones, then the heavy ones if those show nothing; repeatable (default process)",
        action="append",
        dest="layers",
        metavar="NAME",
    )
    add(
        "--launcher",
        "what starts the program: NAME or NAME:parameter=value,... (see `vgo-agent layers`; default local)",
        metavar="SPEC",
    )
    add(
        "--root",
        "where the /proc and /sys of the machine are, as /host in a container; counters of the machine and the survey "
        "are read there (default /)",
        metavar="DIR",
    )
    add("--seed", "seed of all that is drawn at random (default 1)", type=int, metavar="N")
    add(
        "--planner",
        "who chooses the next step: the rule policy, or a language model; without it, a model where one is named",
        choices=("rules", "llama"),
    )
    add(
        "--model",
        "the language model: a GGUF file, a name in the folder of models, the address of a server, shipped, or none",
        metavar="SPEC",
    )
    add("--decision-timeout", "seconds for a model to decide; then the rules do (default 60)", type=float, metavar="S")
    add("--think", "let the model write freely before it chooses", action="store_true")
    if not only:
        add_out(parser)


def words(text: str | None) -> tuple[str, ...]:
    """Split a list of names."""
    return tuple(dict.fromkeys(word.strip() for word in (text or "").split(",") if word.strip()))
