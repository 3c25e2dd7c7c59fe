"""try: one mitigation on one program; applied, proved, compared in pairs, confirmed, put back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..terminal import answer
from .options import option, place
from .trial import TrialCommand

if TYPE_CHECKING:
    from ...knowledge.schema import Mitigation
    from ...tools.plan import TrialPlan
    from .trial import TrialRequest


@dataclass(frozen=True, kw_only=True)
class TryCommand(TrialCommand):
    """One mitigation on one program; applied, proved, compared in pairs, confirmed, put back."""

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
    USAGE = "MITIGATION [OPTIONS] [--] COMMAND [ARGS...]"
    PLACES = 1

    mitigation: str = place("MITIGATION", "key or name (see `vgo-agent mitigations`), or FILE.yaml")
    param: tuple[str, ...] = option(
        "a parameter of the mitigation; repeatable (default: its own defaults)", (), metavar="NAME=VALUE"
    )
    after: str | None = option("compare with the baseline of this run, made before a person applied it", metavar="RUN")

    def run(self) -> int:
        """Try."""
        from .trial import carry_out, looked_at

        trial = looked_at(self, self.mitigation, self.param)
        if self.dry_run:
            return dry_run(trial, self)
        plan = _plan(trial, self)
        if plan is None:
            return _steps_only(trial.mitigation, self)
        return carry_out(trial, plan, self, self.after).exit_code


def _plan(trial: TrialRequest, command: TryCommand) -> TrialPlan | None:
    """What to do; None where a person has to do it and nobody is there."""
    from ...tools.plan import TrialPlan
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
        by_hand=by_hand,
        after=name,
        own=trial.own,
        source=trial.source,
    )


def dry_run(trial: TrialRequest, command: TryCommand) -> int:
    """Print what would be changed, and what stands in the way."""
    from ...knowledge.errors import VgoError
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
    lines = [f"{mitigation.name} ({mitigation.key}, scope {mitigation.scope}). Nothing was touched."]
    lines += ["For you to do:" if by_hand else "It would, and would put back what outlives a run:"]
    lines += [f"  {change}" for change in would] or ["  change nothing"]
    lines += ["In the way:", *(f"  {reason}" for reason in why_not)] if why_not else []
    lines += ["By hand:", f"  {line}"] if line else []
    values = {"mitigation": mitigation.key, "scope": mitigation.scope, "values": trial.values, "by_hand": by_hand}
    found = {**values, "would": would, "in_the_way": why_not, "command": line or None}
    return command.answer(found, "\n".join(lines))


def _steps_only(mitigation: Mitigation, command: TryCommand) -> int:
    """List what a person has to do; with no terminal nobody can say that it is done."""
    from ...knowledge.errors import VgoError

    steps = [f"  {number}. {step}" for number, step in enumerate(mitigation.steps, 1)]
    if not command.json:
        answer({}, "\n".join([f"{mitigation.name} is for you to do (scope {mitigation.scope}):", *steps]), False)
    raise VgoError(
        f"{mitigation.key} is for a person to do, and nobody sits at a terminal: run this at one, or make a run "
        "before it, do it, and give that run with --after."
    )
