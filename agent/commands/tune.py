"""tune: search a parameter of a mitigation, drop what is clearly worse, confirm the best."""

from __future__ import annotations

import argparse
import re

from .options import add_asking, add_cluster, add_manners, add_out, add_program, add_settings

EPILOG = """\
examples:
  vgo-agent tune --mitigation reserve_cores --param cores=1..n -- ./solver
  vgo-agent tune --mitigation omp_threads --param threads=1,2,4,8 --minimise mean -- ./solver
  vgo-agent tune --mitigation cap_frequency --param percent=50..100:10 --allow system -- ./bench.sh
  vgo-agent tune --mitigation omp_threads --param threads -- ./solver
  vgo-agent tune --mitigation omp_threads --param threads=1,2,4 --on tcp://10.0.0.1:8786 -- ./solver

--param NAME alone tries the levels that the mitigation lists; a..b:step is a range, and n stands for the CPUs that may
be used, or for the most that the parameter may be where that is less. Baseline and levels run in rounds, in random
order. After 20, 40, 80, ... rounds a level is dropped when another is clearly better: by the paired test of `vgo-agent
compare`, with --alpha shared by all pairs of levels and all looks, so that a level goes for no reason in at most that
share of searches. What is left with the least spread is confirmed in an independent batch against the baseline, which
is the only claim made.
"""
SETTINGS = (
    *("allow", "accept", "budget", "timeout", "on-failure", "min-runs", "max-runs", "target-ratio", "alpha", "layer"),
    *("launcher", "root", "seed"),
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.usage = f"{parser.prog} --mitigation M --param NAME[=LEVELS] [OPTIONS] [--] COMMAND [ARGS...]"
    add_program(parser)
    parser.add_argument("--mitigation", metavar="M", required=True, help="its key, as `vgo-agent mitigations` lists it")
    parser.add_argument(
        "--param",
        metavar="NAME[=LEVELS]",
        action="append",
        required=True,
        help="what to search: 1..8, 1..64:4, or 1,2,8; a second --param NAME=VALUE holds another parameter fixed",
    )
    parser.add_argument(
        "--minimise",
        choices=("sd", "mean"),
        default="sd",
        help="what is to be small or, of the mean, better (default sd)",
    )
    parser.add_argument("--pairs", type=int, metavar="N", help="rounds, and pairs of the batch that confirms, at most")
    parser.add_argument("--dry-run", action="store_true", help="print what each level would change, touch nothing")
    add_settings(parser, SETTINGS)
    add_cluster(parser)
    add_out(parser)
    add_manners(parser)
    add_asking(parser)


def run(arguments: argparse.Namespace) -> int:
    """Search."""
    from ...knowledge.errors import VgoError
    from ...tools.plan import LevelSearch, TrialPlan
    from .mitigation_arguments import levels_meant
    from .trial import carry_out, looked_at, refuse

    searched, *fixed = arguments.param
    if arguments.pairs is not None and not 10 <= arguments.pairs <= 10_000:
        raise VgoError(f"--pairs {arguments.pairs} cannot show anything; give 10 to 10000.")
    if arguments.on and re.search(r"\b(n|cpus)\b", searched.partition("=")[2]):
        raise VgoError("n stands for the CPUs of this machine: with --on write the number, such as --param cores=1..8.")
    trial = looked_at(arguments, arguments.mitigation, fixed)
    if trial.mitigation.apply is None:
        raise VgoError(
            f"{trial.mitigation.key} is for a person to do, so nothing can be searched: see `vgo-agent try`."
        )
    name, levels, clipped = levels_meant(searched, trial.plain, trial.machine)
    if name in trial.values:
        raise VgoError(f"--param {name} is searched and held fixed: give it once.")
    if not trial.mitigation.interleavable:
        raise VgoError(
            f"{trial.mitigation.key} cannot be switched between two runs, so its levels cannot be compared in rounds: "
            "try one after the other with `vgo-agent try --param`."
        )
    if arguments.dry_run:
        return _dry_run(arguments, name, levels, fixed, clipped)
    refuse(trial)
    search = LevelSearch(parameter=name, levels=levels, minimise=arguments.minimise)
    plan = TrialPlan(
        mitigation=trial.mitigation.key,
        values=trial.values,
        pairs=arguments.pairs,
        search=search,
        own=trial.own,
        source=trial.source,
    )
    return carry_out(trial, plan, arguments, said=clipped).exit_code


def _dry_run(
    arguments: argparse.Namespace, name: str, levels: tuple[str, ...], fixed: list[str], clipped: tuple[str, ...]
) -> int:
    from ..terminal import answer
    from .trial import looked_at, would_do

    found = {
        level: would_do(looked_at(arguments, arguments.mitigation, [*fixed, f"{name}={level}"])) for level in levels
    }
    lines = [line for level, would in found.items() for line in (f"{name}={level}:", *(f"  {one}" for one in would))]
    lines = [*(f"{one}." for one in clipped), *lines]
    answer({"parameter": name, "levels": found, "clipped": list(clipped)}, "\n".join(lines), arguments.json)
    return 0
