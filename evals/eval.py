"""eval: how right the agent is, on recorded cases whose cause is known, or live on workloads whose cause is."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ..agent.commands.options import add_cluster, add_manners
from ..agent.terminal import answer, columns, printable
from .record_command import add_record
from .refusals import GATED, folder_of, refuse, refuse_strangers, refuse_unknown

if TYPE_CHECKING:
    from .run import EvaluationPace
    from .scores.difference import Difference
    from .scores.evaluate import Tell
    from .scores.results import Results, ScoredAnswer

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
  vgo-agent eval record page-faults

Nothing is run but what the agent computes: runs come from recorded tables. With --live the workloads are run, one
after another, each diagnosed as `vgo-agent demo NAME` does it, and what is said is scored. --live goes with --steady,
--budget, --allow, --layer, --limit, --on, --mixed, --save and --markdown; the other options are of recorded cases, and
refused there. With --on each live diagnosis runs on the hosts of a cluster; recorded cases are only computed, here.
Ctrl-C keeps what was answered before it: tables and files are written, and the exit code is 130.
"""
SEEDS = 3
LIMIT_S = 600.0
INTERRUPTED = 130
"""Exit code after Ctrl-C, as a shell gives it."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.usage = f"{parser.prog} [OPTIONS]\n       {parser.prog} record NAME [OPTIONS] [-- COMMAND [ARGS...]]"
    modes = parser.add_subparsers(dest="mode", metavar="MODE", title="modes", prog=parser.prog)
    add_record(modes.add_parser("record", help="record a case on this machine", description="Record a case."))
    parser.add_argument(
        "--planner",
        action="append",
        default=[],
        metavar="P",
        help="who answers (default all that come along); llama:MODEL is one of yours; repeatable",
    )
    parser.add_argument("--cases", metavar="GLOB", help="which cases, by name (default all)")
    parser.add_argument("--split", choices=("train", "held-out"), help="only the cases of this split")
    parser.add_argument("--seeds", type=int, metavar="N", help=f"seeds from 1 on (default {SEEDS})")
    parser.add_argument(
        "--folder", type=Path, metavar="DIR", help="where the cases are (default those that come along)"
    )
    parser.add_argument("--jobs", type=int, metavar="N", help="answers at a time (default one a CPU)")
    parser.add_argument(
        "--limit",
        type=float,
        metavar="S",
        help=f"seconds for one answer, by the clock (default {LIMIT_S:g}; of a live one 3600)",
    )
    parser.add_argument(
        "--twice",
        action="store_true",
        help="answer each case again in another process, with its first seed, and compare",
    )
    _add_given(parser)
    _add_outputs(parser)
    _add_live(parser)
    add_cluster(parser)
    add_manners(parser)


def _add_given(parser: argparse.ArgumentParser) -> None:
    """Declare what a diagnosis may see and change, recorded or live."""
    parser.add_argument(
        "--layer",
        dest="layers",
        action="append",
        default=argparse.SUPPRESS,
        metavar="SPEC",
        help="metric layer that a diagnosis is given, repeatable (default as there); of recorded cases those that were "
        "recorded, `auto` for all",
    )
    parser.add_argument(
        "--allow",
        choices=("process", "system"),
        help="what a diagnosis may change (default system, which recorded runs cannot harm; with --live process)",
    )


def _add_outputs(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("what becomes of it")
    group.add_argument("--html", type=Path, metavar="FILE", help="write one page with pictures")
    group.add_argument("--markdown", type=Path, metavar="FILE", help="write the tables as Markdown")
    group.add_argument("--save", type=Path, metavar="FILE", help="write the results, for a later --against")
    group.add_argument("--against", type=Path, metavar="FILE", help="tell what is different from saved results")
    group.add_argument(
        "--gate",
        action="store_true",
        help=f"exit with 1 where {GATED} misses a number that it has to reach, or where an answer is another than in "
        "the file of --against; --twice is judged too, if asked for",
    )


def _add_live(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("live")
    group.add_argument("--live", nargs="*", metavar="NAME", help="run workloads for real (default all)")
    group.add_argument("--steady", action="store_true", help="their steady twins too: nothing is to be found there")
    group.add_argument("--budget", type=float, metavar="S", help="seconds by the clock for each (default as in demo)")


def run(arguments: argparse.Namespace) -> int:
    """Record, run live, or evaluate."""
    if arguments.mode == "record":
        from .record_command import run_record

        return run_record(arguments)
    refuse_strangers(arguments)
    if arguments.live is not None:
        refuse(arguments)
        from .live import run_live

        return run_live(arguments)
    return _evaluate(arguments)


def _evaluate(arguments: argparse.Namespace) -> int:
    refuse(arguments)
    refuse_unknown(arguments)
    from .recorded.recorded_case import given
    from .run import registry
    from .scores.difference import difference
    from .scores.evaluate import choose, evaluate, missed
    from .scores.results import read, write

    everyone = given(tuple(getattr(arguments, "layers", ())), arguments.allow)
    before = read(arguments.against) if arguments.against else None
    names = tuple(dict.fromkeys(arguments.planner or ([GATED] if arguments.gate else registry())))
    chosen = choose(folder_of(arguments), arguments.cases or "*", arguments.split)
    seeds = range(1, (arguments.seeds or SEEDS) + 1)
    results = evaluate(chosen, names, seeds, _pace(arguments), _tell(arguments), given=everyone)
    found = difference(before, results) if before else None
    if arguments.save:
        write(results.model_dump_json(indent=1) + "\n", arguments.save, "--save")
    _write_pages(arguments, results, found)
    misses = [miss for name in results.contestants if name == GATED for miss in missed(results, name)]
    _answer(arguments, results, found, misses)
    if results.stopped:
        return INTERRUPTED
    others = _others(arguments, found)
    for miss in (failures := [*_nobody(results), *((*misses, *others) if arguments.gate else ())]):
        print(f"vgo-agent: {miss}", file=sys.stderr)
    return 1 if failures else 0


def _others(arguments: argparse.Namespace, found: Difference | None) -> list[str]:
    if found is None or not found.answers:
        return []
    return [f"other answers than in {arguments.against}: {len(found.answers)}, see above."]


def _nobody(results: Results) -> list[str]:
    if results.rows:
        return []
    if not results.cases:
        return ["no case could be asked: mend what is said of each above."]
    return ["nobody could answer: the table says why."]


def _pace(arguments: argparse.Namespace) -> EvaluationPace:
    import os

    from .run import EvaluationPace

    return EvaluationPace(arguments.jobs or len(os.sched_getaffinity(0)), arguments.limit or LIMIT_S, arguments.twice)


def _tell(arguments: argparse.Namespace) -> Tell:
    """Count the answers on standard error: in one line on a terminal, else only now and then."""
    quiet, one_line = getattr(arguments, "quiet", False), sys.stderr.isatty()

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


def _write_pages(arguments: argparse.Namespace, results: Results, found: Difference | None) -> None:
    from .scores.results import write

    if arguments.html:
        from .scores.page import page

        write(page(results, found), arguments.html, "--html")
    if arguments.markdown:
        from .scores.page import markdown

        write(markdown(results, found), arguments.markdown, "--markdown")


def _answer(arguments: argparse.Namespace, results: Results, found: Difference | None, misses: list[str]) -> None:
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
    answer(values, words(results, found, arguments.planner, columns()), arguments.json)
