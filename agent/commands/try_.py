"""try: one mitigation on one program: as it is, or the best level of a parameter of it."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ...knowledge.errors import VgoError
from ..terminal import answer
from .options import Asking, OfProgram, OnHosts, option, place

if TYPE_CHECKING:
    from ...knowledge.schema import Mitigation
    from ...tools.document import Block
    from ...tools.subject import TrialPlan
    from .mitigation_arguments import SearchLevels
    from .trial import TrialRequest


@dataclass(frozen=True, kw_only=True)
class TryCommand(OfProgram, OnHosts, Asking):
    """One mitigation on one program; applied, proved, compared in pairs, confirmed, put back."""

    EPILOG = """\
examples:
  vgo-agent try sched_fifo -- ./bench.sh
  vgo-agent try thp_always --dry-run -- ./bench.sh
  vgo-agent try reserve_cores --param cores=2 --pairs 100 --json -- ./solver --threads 8
  vgo-agent try ./mine.yaml -- ./bench.sh
  vgo-agent try isolate_cores --after vgo-runs/20250314-092653-bench.sh -- ./bench.sh
  vgo-agent try reserve_cores --search cores=1..n -- ./solver
  vgo-agent try omp_threads --search threads=1,2,4,8 --minimise mean -- ./solver
  vgo-agent try cap_frequency --search percent=50..100:10 --allow system -- ./bench.sh
  vgo-agent try omp_threads --search threads --on tcp://10.0.0.1:8786 -- ./solver

Preconditions, danger and consent come first; then the baseline, a proof that the mitigation is in force in the running
program, pairs in random order, an independent batch that confirms what looks good, and the proof that all was put back.
What a person has to do (a boot parameter, a change of code) is asked for at a terminal; --after RUN compares with a run
made before it was done. `vgo-agent mitigations` lists what there is. A mitigation of your own is a YAML file of the
same form as `vgo-agent mitigations NAME` tells of; one that runs commands or sets variables is trusted first.
The layer ledger splits the time of the runs of both arms, and tells whether the gain lies where it was meant to be.

--search NAME alone tries the levels that the mitigation lists; a..b:step is a range, and n stands for the CPUs that may
be used, or for the most that the parameter may be where that is less. Baseline and levels run in rounds, in random
order. After 20, 40, 80, ... rounds a level is dropped when another is clearly better: by the paired test of `vgo-agent
compare`, with --alpha shared by all pairs of levels and all looks, so that a level goes for no reason in at most that
share of searches. What is left with the least spread is confirmed in an independent batch against the baseline, which
is the only claim made.
"""
    USAGE = "MITIGATION [OPTIONS] [--] COMMAND [ARGS...]"
    PLACES = 1
    SETTINGS = (
        *("allow", "accept", "budget", "timeout", "on-failure", "min-runs", "max-runs", "target-ratio", "alpha"),
        *("layer", "launcher", "root", "seed", "out"),
    )
    REQUIRES = {**OnHosts.REQUIRES, "search": "minimise"}
    CONFLICTS = {"search": "after"}

    mitigation: str = place("MITIGATION", "key or name (see `vgo-agent mitigations`), or FILE.yaml")
    param: tuple[str, ...] = option(
        "a parameter of the mitigation; repeatable (default: its own defaults)", (), metavar="NAME=VALUE"
    )
    after: str | None = option("compare with the baseline of this run, made before a person applied it", metavar="RUN")

    search: str | None = option("find the best level of a parameter: 1..8, 1..64:4, or 1,2,8", metavar="NAME[=LEVELS]")
    minimise: str = option(
        "with --search: what is to be small or, of the mean, better (default sd)", "sd", choices=("sd", "mean")
    )
    pairs: int | None = option(
        "pairs of a batch, or rounds of a search at most (default: what shows the target on this spread)",
        metavar="N",
        allowed=lambda pairs: 10 <= pairs <= 10_000,
        refused="cannot show anything; give 10 to 10000 (40 and more give an interval for p95)",
    )
    dry_run: bool = option("print everything that it would change, touch nothing", False)

    def run(self) -> int:
        """Try."""
        from .trial import carry_out, looked_at

        trial = looked_at(self, self.mitigation, self.param)
        searched = _searched(self.search, trial) if self.search is not None else None
        if self.dry_run:
            return _dry_search(trial, searched, self) if searched else dry_run(trial, self)
        plan = _plan(trial, self, searched)
        if plan is None:
            return _steps_only(trial.mitigation, self)
        return carry_out(trial, plan, self, self.after, searched.clipped if searched else ()).exit_code


def _searched(asked: str, trial: TrialRequest) -> SearchLevels:
    """Read the levels to search; refuse those that cannot be compared in rounds."""
    from .mitigation_arguments import levels_meant

    mitigation = trial.mitigation
    if trial.subject.on and re.search(r"\b(n|cpus)\b", asked.partition("=")[2]):
        raise VgoError(
            "n stands for the CPUs of this machine: with --on write the number, such as --search cores=1..8."
        )
    if mitigation.apply is None:
        raise VgoError(f"{mitigation.key} is for a person to do, so nothing can be searched: leave out --search.")
    found = levels_meant(asked, trial.plain, trial.machine)
    if found.name in trial.values:
        raise VgoError(f"{found.name} is searched, and --param holds it fixed: name it in one of them.")
    if not mitigation.interleavable:
        raise VgoError(
            f"{mitigation.key} cannot be switched between two runs, so its levels cannot be compared in rounds: try "
            "one after the other with --param."
        )
    return found


def _plan(trial: TrialRequest, command: TryCommand, searched: SearchLevels | None) -> TrialPlan | None:
    """What to do; None where a person has to do it and nobody is there."""
    from ...tools.subject import LevelSearch, TrialPlan
    from .trial import for_a_person, refuse

    by_hand = for_a_person(trial.mitigation) or bool(command.after)
    if by_hand and not command.after and not trial.asks:
        return None
    if not by_hand:
        refuse(trial)
    name = command.after.rstrip("/").rpartition("/")[2] if command.after else ""
    return TrialPlan(
        mitigation=trial.mitigation.key,
        values=trial.values,
        pairs=command.pairs,
        search=LevelSearch(parameter=searched.name, levels=searched.levels, minimise=command.minimise)
        if searched
        else None,
        by_hand=by_hand,
        after=name,
        own=trial.own,
        source=trial.source,
    )


def dry_run(trial: TrialRequest, command: TryCommand) -> int:
    """Print what would be changed, and what stands in the way."""
    from ...tools.document import Command, Listing, Section
    from ...tools.mitigation.by_hand import command_line
    from .trial import for_a_person, obstacles, would_do

    mitigation, by_hand = trial.mitigation, for_a_person(trial.mitigation)
    why_not = list(obstacles(trial, trial.settings))
    would, line = list(mitigation.steps), ""
    try:
        would = would if by_hand else list(would_do(trial))
        line = "" if mitigation.apply is None else command_line(mitigation, trial.subject, trial.machine)
    except VgoError as missing:
        would, why_not = [], why_not or [str(missing)]
    title = "For you to do" if by_hand else "It would, and would put back what outlives a run"
    blocks: list[Block] = [
        f"{mitigation.name} ({mitigation.key}, scope {mitigation.scope}). Nothing was touched.",
        Section(title, (Listing(tuple(would) or ("change nothing",)),)),
        Section("In the way", (Listing(tuple(why_not)),)),
        Command(line, "By hand"),
    ]
    values = {"mitigation": mitigation.key, "scope": mitigation.scope, "values": trial.values, "by_hand": by_hand}
    found = {**values, "would": would, "in_the_way": why_not, "command": line or None}
    return command.answer(found, blocks)


def _dry_search(trial: TrialRequest, searched: SearchLevels, command: TryCommand) -> int:
    """Print what each level would change."""
    from ...tools.document import Listing, Section
    from ...tools.mitigation.parameters import with_values
    from .trial import would_do

    name = searched.name
    tried = {level: with_values(trial.plain, {**trial.values, name: level}, trial.machine) for level in searched.levels}
    found = {level: would_do(replace(trial, mitigation=mitigation)) for level, mitigation in tried.items()}
    blocks: list[Block] = [
        *(f"{one}." for one in searched.clipped),
        *(Section(f"{name}={level}", (Listing(would),)) for level, would in found.items()),
    ]
    return command.answer({"parameter": name, "levels": found, "clipped": list(searched.clipped)}, blocks)


def _steps_only(mitigation: Mitigation, command: TryCommand) -> int:
    """List what a person has to do; with no terminal nobody can say that it is done."""
    steps = [f"  {number}. {step}" for number, step in enumerate(mitigation.steps, 1)]
    if not command.json:
        answer({}, "\n".join([f"{mitigation.name} is for you to do (scope {mitigation.scope}):", *steps]), False)
    raise VgoError(
        f"{mitigation.key} is for a person to do, and nobody sits at a terminal: run this at one, or make a run "
        "before it, do it, and give that run with --after."
    )
