"""eval: how right the agent is, on recorded cases, live on workloads, or on programs that are made at random."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..agent.terminal import columns, printable
from .refusals import GATED, LIMIT_S, SEEDS, OfEvaluation, folder_of, refuse, refuse_strangers, refuse_unknown

if TYPE_CHECKING:
    from .scores.difference import Difference
    from .scores.evaluate import Tell
    from .scores.results import Results, ScoredAnswer

INTERRUPTED = 130
"""Exit code after Ctrl-C, as a shell gives it."""


@dataclass(frozen=True, kw_only=True)
class EvalCommand(OfEvaluation):
    """How right the agent is, on recorded cases, live on workloads, or on programs that are made at random."""

    EPILOG = """\
examples:
  vgo-agent eval
  vgo-agent eval --planner rules --planner paper --cases 'page-*' --seeds 5
  vgo-agent eval --split held-out --html eval.html --save eval.json --against before.json
  vgo-agent eval --planner rules --planner llama:./mine.gguf --split held-out
  vgo-agent eval --gate --split held-out
  vgo-agent eval --live cpu-hops page-faults
  vgo-agent eval --live --allow system --steady --save live.json --markdown live.md
  vgo-agent eval --live cpu-hops short-sleeps --on tcp://10.0.0.1:8786
  vgo-agent eval --random 40 --seed commit --allow system --budget 90
  vgo-agent eval record page-faults

Nothing is run but what the agent computes: runs come from recorded tables. With --live the workloads are run, one
after another, each diagnosed as `vgo-agent demo NAME` does it, and what is said is scored. --live goes with --steady,
--budget, --allow, --layer, --limit, --on, --mixed, --save and --markdown; the other options are of recorded cases, and
refused there. With --on each live diagnosis runs on the hosts of a cluster; recorded cases are only computed, here.
With --random programs are composed that nobody has seen, more than half of them with a mechanism that makes runs slow;
what that costs is measured, then comes the diagnosis, and only then the truth is opened. All is kept in
vgo-runs/random-SEED. --random goes with --seed, --dry-run, --budget, --allow, --layer, --limit, --save, --markdown.
Ctrl-C keeps what was answered before it: tables and files are written, and the exit code is 130.
"""
    USAGE = "[OPTIONS]"

    def run(self) -> int:
        """Run live, or evaluate."""
        refuse_strangers(self)
        if self.random is not None:
            refuse(self)
            from .random_programs import run_random

            return run_random(self)
        if self.live is not None:
            refuse(self)
            from .live import run_live

            return run_live(self)
        return _evaluate(self)


def _evaluate(command: OfEvaluation) -> int:
    refuse(command)
    refuse_unknown(command)
    from .recorded.recorded_case import given
    from .run import EvaluationPace, registry
    from .scores.difference import difference
    from .scores.evaluate import choose, evaluate, missed
    from .scores.results import read, write

    everyone = given(tuple(command.layer), command.allow)
    before = read(command.against) if command.against else None
    names = tuple(dict.fromkeys(command.planner or ([GATED] if command.gate else registry())))
    chosen = choose(folder_of(command), command.cases or "*", command.split)
    seeds = range(1, (command.seeds or SEEDS) + 1)
    pace = EvaluationPace(command.jobs or len(os.sched_getaffinity(0)), command.limit or LIMIT_S, command.twice)
    results = evaluate(chosen, names, seeds, pace, _tell(command), given=everyone)
    found = difference(before, results) if before else None
    if command.save:
        write(results.model_dump_json(indent=1) + "\n", command.save, "--save")
    _write_pages(command, results, found)
    misses = [miss for name in results.contestants if name == GATED for miss in missed(results, name)]
    _answer(command, results, found, misses)
    if results.stopped:
        return INTERRUPTED
    differ = found is not None and found.answers
    others = [f"other answers than in {command.against}: {len(differ)}, see above."] if differ else []
    nobody = "nobody could answer: the table says why."
    if not results.cases:
        nobody = "no case could be asked: mend what is said of each above."
    for miss in (failures := [*(() if results.rows else (nobody,)), *((*misses, *others) if command.gate else ())]):
        print(f"vgo-agent: {miss}", file=sys.stderr)
    return 1 if failures else 0


def _tell(command: OfEvaluation) -> Tell:
    """Count the answers on standard error: in one line on a terminal, else only now and then."""
    quiet, one_line = command.quiet, sys.stderr.isatty()

    def tell(done: int, wanted: int, row: ScoredAnswer) -> None:
        if quiet:
            return
        words = (
            f"{done}/{wanted}  {row.contestant}, {row.case}, seed {row.seed}: {row.answer.verdict or row.unfinished}"
        )
        if one_line:
            print(f"\r\x1b[2K{printable(words)[: columns() - 1]}", end="" if done < wanted else "\n", file=sys.stderr)
        elif done == wanted or done % max(1, wanted // 10) == 0 or row.unfinished:
            print(printable(words), file=sys.stderr)

    return tell


def _write_pages(command: OfEvaluation, results: Results, found: Difference | None) -> None:
    from .scores.results import write

    if command.html:
        from .scores.page import page

        write(page(results, found), command.html, "--html")
    if command.markdown:
        from .scores.page import markdown

        write(markdown(results, found), command.markdown, "--markdown")


def _answer(command: OfEvaluation, results: Results, found: Difference | None, misses: list[str]) -> None:
    from .scores.page import words
    from .scores.summary import summarise
    from .scores.tables import duels

    values = {
        "results": results.model_dump(mode="json"),
        "summaries": [summarise(results, name).model_dump(mode="json") for name in results.contestants],
        "duels": [duel.model_dump(mode="json") for duel in duels(results)],
        "difference": found.model_dump(mode="json") if found else None,
        "missed": misses,
    }
    command.answer(values, words(results, found, command.planner, columns()))
