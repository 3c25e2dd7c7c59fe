"""Make programs at random, diagnose each through the front door, and open its truth after that."""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Iterator
from pathlib import Path

from ..agent.commands.mitigation_arguments import nobody, surveyed
from ..agent.settings import effective
from ..knowledge.errors import VgoError
from .contest.answer import ContestAnswer
from .live import GRACE_S, answered, collected, found_in, give, passed_on
from .programs.compose import MadeProgram, compose
from .programs.maker import METRIC, BuiltProgram, lacking, limited_group, made, neighbour
from .programs.program_truth import TRUTH, read_program_truth
from .recorded.draft import machine_words
from .refusals import OfEvaluation
from .scores.random_page import random_document
from .scores.random_scores import RandomResults, RandomRow, judged_program
from .scores.results import commit, origin

BUDGET_S = 90.0
BY_COMMIT = "commit"


def run_random(command: OfEvaluation) -> int:
    """Make, diagnose and score each; Ctrl-C keeps those before it."""
    seed = _seed(command.seed or "1")
    lacks = lacking()
    programs = (compose(seed, place, lacks) for place in range(1, (command.random or 0) + 1))
    if command.dry_run:
        return _listed(programs, seed, command)
    folder = Path("vgo-runs", f"random-{seed}").resolve()
    if folder.exists():
        raise VgoError(f"{folder} is there: its programs are made already. Move it away, or choose another --seed.")
    typed = {"allow": command.allow, "budget": command.budget or BUDGET_S, "layers": command.layer or None}
    settings, _ = effective({name: value for name, value in typed.items() if value is not None})
    origin_, machine = origin(), surveyed(nobody(), ())
    diagnosed = (_row(program, folder, settings.budget_s, command) for program in programs)
    rows, stopped = collected(diagnosed, command.random or 0, "programs", command)
    results = RandomResults(
        **origin_, machine=machine_words(machine), stopped=stopped, rows=rows, seed=seed, budget_s=settings.budget_s
    )
    return give(results, random_document(results), command)


def _seed(seed: str) -> str:
    """The seed itself, or the hash of the commit that is judged: nobody can have tuned on that."""
    if not re.fullmatch(r"\w[\w.-]*", seed, re.ASCII):
        raise VgoError(f"--seed {seed}: a seed names a folder; take letters, digits, dots, - and _.")
    if seed != BY_COMMIT:
        return seed
    judged = commit()
    if not judged or judged.endswith("-dirty"):
        raise VgoError("--seed commit is the hash of what is judged: run a working copy in which all is committed.")
    return judged


def _listed(programs: Iterator[MadeProgram], seed: str, command: OfEvaluation) -> int:
    listed = [
        {
            "number": program.number,
            "language": program.language,
            "lines": program.text.count("\n"),
            "sha256": hashlib.sha256(program.text.encode()).hexdigest(),
        }
        for program in programs
    ]
    lines = [
        f"{one['number']:03}  {one['language']}, {one['lines']} lines, {str(one['sha256'])[:16]}" for one in listed
    ]
    return command.answer({"seed": seed, "programs": listed}, "\n".join(lines))


def _row(program: MadeProgram, folder: Path, budget_s: float, command: OfEvaluation) -> RandomRow:
    """Make one, diagnose it, and only then open the truth about it; one that cannot be made is a row."""
    name = f"{program.number:03}"
    sealed = folder / "sealed" / name
    try:
        built = made(program, folder / "programs" / name, sealed)
    except VgoError as error:
        answer = ContestAnswer(verdict="", ended=str(error))
        return RandomRow(case=name, answer=answer, scores={}, why=str(error), skipped=True, truth=program.truth)
    limit_s = command.limit or 2 * budget_s + GRACE_S
    with limited_group(built.group), neighbour(built):
        began = time.monotonic()
        said = answered([*_words(built, folder, command, budget_s)], limit_s, built.folder)
        wall_s = time.monotonic() - began
    ranking = found_in(Path(said["run_dir"])).ranking if said.get("run_dir") else None
    truth = read_program_truth(sealed / TRUTH)
    return judged_program(truth, said, wall_s, budget_s, built.neighbour is not None, ranking)


def _words(built: BuiltProgram, folder: Path, command: OfEvaluation, budget_s: float) -> Iterator[str]:
    yield from ("diagnose", *passed_on(command))
    yield from () if command.budget else ("--budget", f"{budget_s:g}")
    yield from ("--out", str(folder / "runs"))
    yield from ("--metric", METRIC, "--unit", "ms") if built.timed else ()
    yield from ("--", *built.command)
