"""What `eval` refuses before its first answer: what makes no sense, is not there, or could not be written after it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..knowledge.errors import VgoError
from .contest import OWN

if TYPE_CHECKING:
    from .eval import EvalCommand

GATED = "rules"
PLANNERS = (GATED, "llama", "greedy", "random-legal", "constant", "paper", "paper-raw", "oracle")
"""The names in `contest`, said here so that a wrong one is refused without an import of them."""
OF_RECORDED = {
    "planner": "leave it out, the built-in policy answers",
    "cases": "leave it out, and name workloads after --live",
    "split": "leave it out, and name workloads after --live",
    "seeds": "leave it out, each workload is diagnosed once",
    "folder": "leave it out, and name workloads after --live",
    "jobs": "leave it out, workloads run one after another so that none disturbs another",
    "twice": "leave it out, no run can be had again",
    "html": "leave it out, and take --markdown",
    "against": "leave it out, and compare files of --save by hand",
    "gate": "leave it out, and read the last lines of the answer",
}
"""Options that do not go with --live, and what to do instead."""
OF_LIVE = {
    **dict.fromkeys(("steady", "budget"), "add --live, or leave it out"),
    **dict.fromkeys(("on", "mixed"), "leave it out, recorded cases are computed on this machine"),
}


def refuse_strangers(command: EvalCommand) -> None:
    """Refuse an option of recorded cases with --live, and one of --live without it: it would do nothing."""
    live = command.live is not None
    for option, cure in (OF_RECORDED if live else OF_LIVE).items():
        value = getattr(command, option)
        absent = value is None or value in (False, (), "")
        if not absent:
            kind = "recorded cases, not of --live" if live else "--live, not of recorded cases"
            raise VgoError(f"--{option} is an option of {kind}: {cure}.")


def refuse(command: EvalCommand) -> None:
    """Refuse before the first answer what makes no sense, or could not be written after the last."""
    if command.gate and command.planner and GATED not in command.planner:
        raise VgoError(f"--gate judges {GATED}; name it with --planner, or leave --planner out.")
    for option in ("html", "markdown", "save"):
        if (path := getattr(command, option)) is not None:
            _refuse_unwritable(option, path)


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


def refuse_unknown(command: EvalCommand) -> None:
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


def folder_of(command: EvalCommand) -> Path:
    """Say where the cases are."""
    from .recorded.folders import CASES

    folder: Path = command.folder or CASES
    return folder
