"""try: one mitigation on one program; applied, proved, compared in pairs, confirmed, put back."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ..terminal import answer
from .options import add_experiment, add_program

if TYPE_CHECKING:
    from ...knowledge.schema import Mitigation
    from ...tools.plan import TrialPlan
    from .trial import TrialRequest

EPILOG = """\
examples:
  vgo-agent try sched_fifo -- ./bench.sh
  vgo-agent try thp_always --dry-run -- ./bench.sh
  vgo-agent try reserve_cores --param cores=2 --pairs 100 --json -- ./solver --threads 8
  vgo-agent try ./mine.yaml -- ./bench.sh
  vgo-agent try isolate_cores --after vgo-runs/20250314-092653-bench.sh -- ./bench.sh

Preconditions, danger and consent come first; then the baseline, a proof that the mitigation is in force in the running
program, pairs in random order, an independent batch that confirms what looks good, and the proof that all was put back.
What a person has to do (a boot parameter, a change of code) is asked for at a terminal; --after RUN compares with a run
made before it was done. `vgo-agent mitigations` lists what there is. A mitigation of your own is a YAML file of the
same form as `vgo-agent mitigations NAME` tells of; one that runs commands or sets variables is trusted first.
"""
SETTINGS = (
    *("allow", "accept", "budget", "timeout", "on-failure", "min-runs", "max-runs", "target-ratio", "alpha", "layer"),
    *("launcher", "root", "seed"),
)
NO_COMMAND = "\0"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.usage = f"{parser.prog} MITIGATION [OPTIONS] [--] COMMAND [ARGS...]"
    parser.add_argument(
        "mitigation", metavar="MITIGATION", help="key or name (see `vgo-agent mitigations`), or FILE.yaml"
    )
    add_program(parser)
    parser.add_argument(
        "--param",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="a parameter of the mitigation; repeatable (default: its own defaults)",
    )
    parser.add_argument(
        "--pairs", type=int, metavar="N", help="pairs of a batch (default: what shows the target on this spread)"
    )
    parser.add_argument("--dry-run", action="store_true", help="print everything that it would change, touch nothing")
    parser.add_argument(
        "--after", metavar="RUN", help="compare with the baseline of this run, made before a person applied it"
    )
    add_experiment(parser, SETTINGS)


def run(arguments: argparse.Namespace) -> int:
    """Try."""
    options_after(arguments)
    from .trial import carry_out, looked_at

    trial = looked_at(arguments, arguments.mitigation, arguments.param)
    if arguments.pairs is not None and not 10 <= arguments.pairs <= 10_000:
        _refuse_pairs(arguments.pairs)
    if arguments.dry_run:
        return dry_run(trial, arguments)
    plan = _plan(trial, arguments)
    if plan is None:
        return _steps_only(trial.mitigation, arguments)
    return carry_out(trial, plan, arguments, arguments.after).exit_code


def options_after(arguments: argparse.Namespace, name: str = "mitigation") -> None:
    """Read the options between the first word, `name`, and COMMAND, which argparse takes for COMMAND's beginning."""
    words = arguments.command
    if not words or words[0] == "--" or not words[0].startswith("-"):
        return
    first, arguments.command = getattr(arguments, name), []
    # The parser takes the first word that is no option for MITIGATION, as `name` may be: it is the program.
    arguments.parser.parse_args([*words, NO_COMMAND], namespace=arguments)
    arguments.command = [word for word in (getattr(arguments, name), *arguments.command) if word != NO_COMMAND]
    if "--" not in words:
        arguments.parser.refuse_own(arguments.command[1:])
    setattr(arguments, name, first)


def _refuse_pairs(pairs: int) -> None:
    from ...knowledge.errors import VgoError

    raise VgoError(f"--pairs {pairs} cannot show anything; give 10 to 10000 (40 and more give an interval for p95).")


def _plan(trial: TrialRequest, arguments: argparse.Namespace) -> TrialPlan | None:
    """What to do; None where a person has to do it and nobody is there."""
    from ...tools.plan import TrialPlan
    from .trial import for_a_person, refuse

    by_hand = for_a_person(trial.mitigation) or bool(arguments.after)
    if by_hand and not arguments.after and not trial.asks:
        return None
    if not by_hand:
        refuse(trial)
    name = arguments.after.rstrip("/").rpartition("/")[2] if arguments.after else ""
    return TrialPlan(
        mitigation=trial.mitigation.key,
        values=trial.values,
        pairs=arguments.pairs,
        by_hand=by_hand,
        after=name,
        own=trial.own,
        source=trial.source,
    )


def dry_run(trial: TrialRequest, arguments: argparse.Namespace) -> int:
    """Print what would be changed, and what stands in the way."""
    from ...knowledge.errors import VgoError
    from ...tools.mitigation.by_hand import command_line
    from .trial import for_a_person, obstacles, would_do

    mitigation, by_hand = trial.mitigation, for_a_person(trial.mitigation)
    why_not = list(obstacles(trial, trial.settings))
    would, command = list(mitigation.steps), ""
    try:
        would = would if by_hand else list(would_do(trial))
        command = "" if mitigation.apply is None else command_line(mitigation, trial.subject, trial.machine)
    except VgoError as missing:
        would, why_not = [], why_not or [str(missing)]
    lines = [f"{mitigation.name} ({mitigation.key}, scope {mitigation.scope}). Nothing was touched."]
    lines += ["For you to do:" if by_hand else "It would, and would put back what outlives a run:"]
    lines += [f"  {line}" for line in would] or ["  change nothing"]
    lines += ["In the way:", *(f"  {reason}" for reason in why_not)] if why_not else []
    lines += ["By hand:", f"  {command}"] if command else []
    values = {"mitigation": mitigation.key, "scope": mitigation.scope, "values": trial.values, "by_hand": by_hand}
    found = {**values, "would": would, "in_the_way": why_not, "command": command or None}
    answer(found, "\n".join(lines), arguments.json)
    return 0


def _steps_only(mitigation: Mitigation, arguments: argparse.Namespace) -> int:
    """List what a person has to do; with no terminal nobody can say that it is done."""
    from ...knowledge.errors import VgoError

    steps = [f"  {number}. {step}" for number, step in enumerate(mitigation.steps, 1)]
    if not arguments.json:
        answer({}, "\n".join([f"{mitigation.name} is for you to do (scope {mitigation.scope}):", *steps]), False)
    raise VgoError(
        f"{mitigation.key} is for a person to do, and nobody sits at a terminal: run this at one, or make a run "
        "before it, do it, and give that run with --after."
    )
