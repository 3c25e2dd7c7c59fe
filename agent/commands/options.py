"""Options that several commands share; light, because every `--help` loads it."""

from __future__ import annotations

import argparse

RUN_HELP = "the folder of a run, a file in it, or its name under --out"


def add_manners(parser: argparse.ArgumentParser) -> None:
    """Add what every command that answers takes."""
    parser.add_argument("--json", action="store_true", help="print one JSON object on standard output")
    add_voice(parser)


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


def add_run(parser: argparse.ArgumentParser) -> None:
    """Add the run that is meant."""
    parser.add_argument("run", metavar="RUN", help=RUN_HELP)
    add_out(parser)


def add_settings(parser: argparse.ArgumentParser) -> None:
    """Add every setting that changes a diagnosis; what is not given comes from environment, file or default."""
    group = parser.add_argument_group("settings", "also in the settings file and the environment: `vgo-agent config`")

    def add(flag: str, words: str, **more: object) -> None:
        group.add_argument(flag, default=argparse.SUPPRESS, help=words, **more)  # type: ignore[arg-type]

    add(
        "--allow",
        "mitigations that may be applied without asking: none at all, those that touch only the program, "
        "or also those that change the system (default process)",
        choices=("none", "process", "system"),
    )
    add("--budget", "seconds of the program's own time to spend (default 600)", type=float, metavar="S")
    add("--timeout", "end a run after so many seconds, and count it as failed", type=float, metavar="S")
    add("--on-failure", "what a failed run does to the diagnosis (default stop)", choices=("stop", "drop"))
    add("--min-runs", "runs of one condition at least (default 30)", type=int, metavar="N")
    add("--max-runs", "runs of one condition at most (default 500)", type=int, metavar="N")
    add(
        "--stop",
        "when the baseline has enough runs: its SD is known (spread), a fixed number or time (count, duration), the "
        "mean is known (se, ci, hdi, bayesian-bootstrap), its halves agree (ks, mixture); --max-runs and --budget "
        "hold beside it (default spread)",
        choices=("spread", "count", "se", "ci", "hdi", "ks", "bayesian-bootstrap", "mixture", "duration"),
    )
    add(
        "--stop-at",
        "target of that rule, in its own unit: see `vgo-agent config --help`",
        type=float,
        metavar="X",
    )
    add("--target-ratio", "stop when the SD is proved below this share (default 0.66)", type=float, metavar="R")
    add("--steady-cv", "spread over mean that needs no reduction (default 0.01)", type=float, metavar="CV")
    add("--alpha", "chance of a wrong claim (default 0.05)", type=float, metavar="P")
    add("--max-mitigations", "mitigations tried at most (default 8)", type=int, metavar="N")
    add(
        "--layer",
        "metric layer to profile with; repeatable (default process)",
        action="append",
        dest="layers",
        metavar="NAME",
    )
    add("--seed", "seed of all that is drawn at random (default 1)", type=int, metavar="N")
    add("--planner", "who chooses the next step (default rules)", choices=("rules",))
    add_out(parser)
