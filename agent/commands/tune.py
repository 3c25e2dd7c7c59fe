"""tune: search a parameter of a mitigation, drop what is clearly worse, confirm the best."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .options import option
from .trial import TrialCommand


@dataclass(frozen=True, kw_only=True)
class TuneCommand(TrialCommand):
    """Search a parameter of a mitigation, drop what is clearly worse, confirm the best."""

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
    USAGE = "--mitigation M --param NAME[=LEVELS] [OPTIONS] [--] COMMAND [ARGS...]"

    mitigation: str = option("its key, as `vgo-agent mitigations` lists it", metavar="M", required=True)
    param: tuple[str, ...] = option(
        "what to search: 1..8, 1..64:4, or 1,2,8; a second --param NAME=VALUE holds another parameter fixed",
        metavar="NAME[=LEVELS]",
        required=True,
    )
    minimise: str = option("what is to be small or, of the mean, better (default sd)", "sd", choices=("sd", "mean"))

    def run(self) -> int:
        """Search."""
        from ...knowledge.errors import VgoError
        from ...tools.plan import LevelSearch, TrialPlan
        from .mitigation_arguments import levels_meant
        from .trial import carry_out, looked_at, refuse

        searched, *fixed = self.param
        if self.on and re.search(r"\b(n|cpus)\b", searched.partition("=")[2]):
            raise VgoError(
                "n stands for the CPUs of this machine: with --on write the number, such as --param cores=1..8."
            )
        trial = looked_at(self, self.mitigation, fixed)
        if trial.mitigation.apply is None:
            raise VgoError(
                f"{trial.mitigation.key} is for a person to do, so nothing can be searched: see `vgo-agent try`."
            )
        name, levels, clipped = levels_meant(searched, trial.plain, trial.machine)
        if name in trial.values:
            raise VgoError(f"--param {name} is searched and held fixed: give it once.")
        if not trial.mitigation.interleavable:
            raise VgoError(
                f"{trial.mitigation.key} cannot be switched between two runs, so its levels cannot be compared in "
                "rounds: try one after the other with `vgo-agent try --param`."
            )
        if self.dry_run:
            return _dry_run(self, name, levels, fixed, clipped)
        refuse(trial)
        search = LevelSearch(parameter=name, levels=levels, minimise=self.minimise)
        plan = TrialPlan(
            mitigation=trial.mitigation.key,
            values=trial.values,
            pairs=self.pairs,
            search=search,
            own=trial.own,
            source=trial.source,
        )
        return carry_out(trial, plan, self, said=clipped).exit_code


def _dry_run(
    command: TuneCommand, name: str, levels: tuple[str, ...], fixed: list[str], clipped: tuple[str, ...]
) -> int:
    from .trial import looked_at, would_do

    found = {level: would_do(looked_at(command, command.mitigation, [*fixed, f"{name}={level}"])) for level in levels}
    lines = [line for level, would in found.items() for line in (f"{name}={level}:", *(f"  {one}" for one in would))]
    lines = [*(f"{one}." for one in clipped), *lines]
    return command.answer({"parameter": name, "levels": found, "clipped": list(clipped)}, "\n".join(lines))
