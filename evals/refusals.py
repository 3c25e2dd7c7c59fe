"""What `eval` is asked, and what it refuses before its first answer: nonsense, what is not there or not writable."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from ..agent.commands.options import Answering, OnHosts, option
from ..knowledge.errors import VgoError
from .contest import OWN

OUTPUTS, LIVE, RANDOM = "what becomes of it", "live", "made at random"
SEEDS = 3
LIMIT_S = 600.0
Change = Literal["process", "system"]
GATED = "rules"
PLANNERS = (GATED, "llama", "greedy", "random-legal", "constant", "paper", "paper-raw", "oracle")
"""The names in `contest`, said here so that a wrong one is refused without an import of them."""
OF_RECORDED = {
    "planner": "leave it out, the built-in policy answers",
    "cases": "leave it out, and name workloads after --live, or how many with --random",
    "split": "leave it out, and name workloads after --live, or how many with --random",
    "seeds": "leave it out, each program is diagnosed once",
    "folder": "leave it out, and name workloads after --live, or how many with --random",
    "jobs": "leave it out, programs run one after another so that none disturbs another",
    "twice": "leave it out, no run can be had again",
    "html": "leave it out, and take --markdown",
    "against": "leave it out, and compare files of --save by hand",
    "gate": "leave it out, and read the last lines of the answer",
}
OF_RANDOM = dict.fromkeys(("seed", "dry_run"), "add --random N, or leave it out")
ELSEWHERE = {
    "steady": "leave it out, many of the programs have no cause",
    **dict.fromkeys(("on", "mixed"), "leave it out, programs are made for this machine"),
}
OF_LIVE = {
    "steady": "add --live, or leave it out",
    "budget": "add --live or --random, or leave it out",
    **dict.fromkeys(("on", "mixed"), "leave it out, recorded cases are computed on this machine"),
}
STRANGERS = {
    "--random": (("recorded cases", OF_RECORDED), ("--live", ELSEWHERE)),
    "--live": (("recorded cases", OF_RECORDED), ("--random", OF_RANDOM)),
    "recorded cases": (("--live", OF_LIVE), ("--random", OF_RANDOM)),
}
"""Per kind of evaluation, the options of the others, and what to do instead."""


def above(least: int, words: str, refused: str, **more: Any) -> Any:
    """Ask for a number of at least 1, or for seconds above 0."""
    if least:
        return option(words, allowed=lambda said: said >= least, refused=f"{refused}; choose {least} or more", **more)
    return option(words, metavar="S", allowed=lambda said: said > 0, refused=f"{refused}; choose more than 0", **more)


@dataclass(frozen=True, kw_only=True)
class OfEvaluation(OnHosts, Answering):
    """What `eval` is asked."""

    planner: tuple[str, ...] = option(
        "who answers (default all that come along); llama:MODEL is one of yours; repeatable", (), metavar="P"
    )
    cases: str | None = option("which cases, by name (default all)", metavar="GLOB")
    split: str | None = option("only the cases of this split", choices=("train", "held-out"))
    seeds: int | None = above(1, f"seeds from 1 on (default {SEEDS})", "asks nothing", metavar="N")
    folder: Path | None = option("where the cases are (default those that come along)", metavar="DIR")
    jobs: int | None = above(1, "answers at a time (default one a CPU)", "lets nobody answer", metavar="N")
    limit: float | None = above(
        0, f"seconds for one answer, by the clock (default {LIMIT_S:g}; of a live one 3600)", "leaves no time to answer"
    )
    twice: bool = option("answer each case again in another process, with its first seed, and compare", False)
    layer: tuple[str, ...] = option(
        "metric layer that a diagnosis is given, repeatable (default as there); of recorded cases those that were "
        "recorded, `auto` for all",
        (),
        metavar="SPEC",
    )
    allow: Change | None = option(
        "what a diagnosis may change (default system, which recorded runs cannot harm; with --live process)",
        choices=get_args(Change),
    )
    html: Path | None = option("write one page with pictures", metavar="FILE", group=OUTPUTS)
    markdown: Path | None = option("write the tables as Markdown", metavar="FILE", group=OUTPUTS)
    save: Path | None = option("write the results, for a later --against", metavar="FILE", group=OUTPUTS)
    against: Path | None = option("tell what is different from saved results", metavar="FILE", group=OUTPUTS)
    gate: bool = option(
        f"exit with 1 where {GATED} misses a number that it has to reach, or where an answer is another than in "
        "the file of --against; --twice is judged too, if asked for",
        False,
        group=OUTPUTS,
    )
    live: tuple[str, ...] | None = option("run workloads for real (default all)", nargs="*", metavar="NAME", group=LIVE)
    steady: bool = option("their steady twins too: nothing is to be found there", False, group=LIVE)
    random: int | None = above(
        *(1, "compose so many programs, diagnose each, and open its truth after that", "makes nothing"),
        metavar="N",
        group=RANDOM,
    )
    seed: str | None = option(
        "what they are drawn by (default 1); `commit`: the hash of what is judged", metavar="S", group=RANDOM
    )
    dry_run: bool = option("list what would be made, without the truth about it", False, group=RANDOM)
    budget: float | None = above(
        0, "seconds by the clock for each (default as in demo)", "leaves no time for the program", group=LIVE
    )


def refuse_strangers(command: OfEvaluation) -> None:
    """Refuse an option of one of the three kinds of evaluation with another: it would do nothing."""
    if command.random is not None and command.live is not None:
        raise VgoError("--live runs workloads and --random makes programs: leave one of them out.")
    kind = "--random" if command.random is not None else "--live" if command.live is not None else "recorded cases"
    for owner, cures in STRANGERS[kind]:
        for name, cure in cures.items():
            value = getattr(command, name)
            if not (value is None or value in (False, (), "")):
                raise VgoError(f"--{name.replace('_', '-')} is an option of {owner}, not of {kind}: {cure}.")


def refuse(command: OfEvaluation) -> None:
    """Refuse before the first answer what makes no sense, or could not be written after the last."""
    if command.gate and command.planner and GATED not in command.planner:
        raise VgoError(f"--gate judges {GATED}; name it with --planner, or leave --planner out.")
    for name in ("html", "markdown", "save"):
        if (path := getattr(command, name)) is not None:
            _refuse_unwritable(name, path)


def _refuse_unwritable(option: str, path: Path) -> None:
    if not path.absolute().parent.is_dir():
        raise VgoError(f"--{option} {path}: there is no folder {path.absolute().parent}; make it first.")
    if path.is_dir():
        raise VgoError(f"--{option} {path}: that is a folder; name a file in it.")
    if path.exists() and not path.is_file():
        return  # a pipe or a terminal, whose reader would take the trial for the end
    there = path.exists()
    try:
        path.open("ab").close()
    except OSError as error:
        raise VgoError(f"--{option} {path} cannot be written ({error.strerror}); choose another file.") from error
    if not there:
        path.unlink()


def refuse_unknown(command: OfEvaluation) -> None:
    """Refuse a planner or a case that is not there, before the tables are read and all that judges is imported."""
    from fnmatch import fnmatchcase

    from .recorded.folders import case_folders, refuse_no_cases

    for name in command.planner:
        if name not in PLANNERS and not name.startswith(OWN):
            raise VgoError(f"There is no planner {name!r}; choose among {', '.join(PLANNERS)}, {OWN}MODEL.")
    if command.cases == "":
        raise VgoError("--cases '' names no case; leave it out for all.")
    folder = folder_of(command)
    refuse_no_cases(folder)
    names = [path.name for path in case_folders(folder)]
    if command.cases and not any(fnmatchcase(name, command.cases) for name in names):
        raise VgoError(f"No case in {folder} is called {command.cases}; there are: {', '.join(names)}.")


def folder_of(command: OfEvaluation) -> Path:
    """Say where the cases are."""
    from .recorded.folders import CASES

    folder: Path = command.folder or CASES
    return folder
