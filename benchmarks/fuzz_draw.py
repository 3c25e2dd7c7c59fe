"""Draw a command line for `fuzz.py` from what the parser of a command declares, so that a new option is drawn too."""

from __future__ import annotations

import argparse
import random
from collections.abc import Sequence
from pathlib import Path

from fuzz_files import COLUMNS

from vgo_agent.agent.commands import COMMANDS
from vgo_agent.agent.parser import Parser, parser_of

NUMBERS = (
    *("0", "-1", "1", "2", "3.5", "40", "2147483647", "99999999999999999999", "-99999999999999999999", "1e400"),
    *("-1e400", "nan", "inf", "1e308", "1e-320", "0.05", "0.5", "", " ", "x", "1_0", "0x10", "½", "１２", "१", "1,5"),
    *("1e5", "--", "-"),
)
WORDS = (
    *("", " ", "-", "--", "x", "none", "0", "all", "auto", "a=b", "=", "a=", "=b", "a=1,2", "a=1..5", "a=1..1e99"),
    *("time_s", "thp_always", "huge_pages", "page_faults", "process", "perf", "memory", "mpirun:ranks=0", "cpu", "fio"),
    *("ssh:host=", "process:x=1", "tcp://127.0.0.1:1", "http://127.0.0.1:1/v1", "../../etc/passwd", "/", ".", "~", "*"),
    *(
        "(",
        "[a-z",
        "(?P<x>.*)",
        "time (.*)",
        "a\nb",
        "a\tb",
        "\udcff",
        "🙂",
        "Größe",
        "\u202ex",
        "\x1b[2J",
        "%s",
        "{x}",
    ),
    *("{", "{0.__class__}", "'", '"', "$(true)", "why is it slow?", "pin_to_cpu", "omp_threads", "a" * 300, "b" * 5000),
    *("threads=1", "quota=50%", "60%", "-5%", "1e99%", "cores=1..n-1", "size=1,2 size=3", "n=1,2", "count", "None"),
)
USUAL: dict[object, tuple[str, ...]] = {int: ("40", "2", "1"), float: ("0.5", "0.05", "2")}
"""Values with which a command goes further."""
COLUMN_PLACES = ("COL", "COLS", "COL=VALUE", "COL[=A,B]", "COL=A,B", "SETTINGS", "A[,B]", "SETTING=VALUE")
USUAL_COLUMNS = ("time_s", "time_s", "time_s", "arm", "host", "run", "count", "note", "host,note")
GOOD = ("good.csv", "two_modes.csv", "outlier.csv", "some_infinite.csv", "hyperfine.json", "semicolons.csv", "bom.csv")
COLUMN_WORDS: tuple[str, ...] = (
    *(
        *COLUMNS,
        "time_s",
        "time_s",
        "time_s",
        "arm",
        "host,run",
        "host,time_s",
        "*",
        "time_s,time_s",
        "arm=before,after",
    ),
    *(
        "run,host",
        "outcome",
        "condition",
        "pair",
        "order",
        "ok",
        "host=h1",
        "arm=before",
        "time_s=nan",
        "nowhere",
        ",",
        "",
    ),
)
PROGRAMS = (("/bin/true",), ("/bin/false",), ("/nowhere",), ("../files/program.sh",), ("../files/folder.csv",), ())
SANE = (0.3, 0.6, 0.9, 1.0)
LEFT_OUT = frozenset({"--help", "--force", "--web", "--all", "--verbose"})
"""`--force` is for what other agents hold, `--web` serves until it is ended, `--all` records every mitigation, and
`--verbose` shows where an error came from."""
BOUNDS = {
    **{"--budget": "1", "--max-runs": "12", "--pairs": "10", "--cases": "nowhere*", "--limit": "1", "--cells": "2"},
    **{"--stressor": "nowhere", "--seconds": "0.05", "--repetitions": "1"},
}
"""Keep a command short whose line is understood; given last, and so in force, but where the option itself is drawn."""


def command_line(draw: random.Random, command: str, files: Sequence[str], runs: Sequence[str]) -> list[str]:
    """Draw the words after `vgo-agent`."""
    parser = parser_of(COMMANDS[command])
    return [*command.split(), *_words(draw, parser, Named(files, runs, draw.choice(SANE)))]


class Named:
    """What can be named: files and run folders."""

    def __init__(self, files: Sequence[str], runs: Sequence[str], sane: float) -> None:
        """Keep both; `sane` is the share of values that are no mistake."""
        self.files, self.runs, self.sane = files, runs, sane


def _words(draw: random.Random, parser: Parser, named: Named) -> list[str]:
    actions = [action for action in parser.declared if not LEFT_OUT & set(action.option_strings)]
    options = [action for action in actions if action.option_strings]
    places = [action for action in actions if not action.option_strings]
    needed = [action for action in options if action.required and draw.random() < 0.97]
    drawn = needed + draw.choices(options, k=draw.choice((0, 0, 1, 1, 1, 2, 4))) if options else []
    drawn += [
        action
        for action in options
        if "--outcome" in action.option_strings or "--metric" in action.option_strings
        if draw.random() < 0.7
    ]
    given = [word for action in drawn for word in _option(draw, action, named)]
    bounds = [word for action in options for word in _bound(action, drawn)]
    placed: list[str] = []
    program: list[str] | None = None
    for action in places:
        if action.metavar == "COMMAND":
            program = list(draw.choice(PROGRAMS)) + ([draw.choice(WORDS)] if draw.random() < 0.2 else [])
        else:
            placed += [_value(draw, action, named) for _ in range(_times(draw, action))]
    if any(action.option_strings[0] in BOUNDS for action in drawn) and program is not None:
        program = ["/bin/false"]  # a large budget is no mistake: nothing may run long
    order = [placed, [*given, *bounds]] if draw.random() < 0.5 else [[*given, *bounds], placed]
    words = [word for part in order for word in part]
    return words if program is None else [*words, *(["--"] if draw.random() < 0.9 else []), *program]


def _times(draw: random.Random, action: argparse.Action) -> int:
    if action.nargs is None:
        return 1 if draw.random() < 0.95 else draw.choice((0, 2))
    return draw.choice({"?": (0, 1, 1), "*": (0, 1, 1, 2), "+": (1, 1, 2)}.get(str(action.nargs), (1,)))


def _bound(action: argparse.Action, drawn: Sequence[argparse.Action]) -> list[str]:
    name = next((name for name in action.option_strings if name in BOUNDS), None)
    return [] if name is None or action in drawn else [name, BOUNDS[name]]


def _option(draw: random.Random, action: argparse.Action, named: Named) -> list[str]:
    name = draw.choice(list(action.option_strings))
    if action.nargs == 0:
        return [name]
    value = _value(draw, action, named)
    return [f"{name}={value}"] if name.startswith("--") and draw.random() < 0.7 else [name, value]


def _value(draw: random.Random, action: argparse.Action, named: Named) -> str:
    """Draw what stands for it, a mistake more often than not."""
    if action.choices and draw.random() < 0.85:
        return _allowed(draw, action)
    usual = draw.random() < named.sane
    if not usual and draw.random() < 0.2:
        return draw.choice((*WORDS, *NUMBERS))
    if action.type in USUAL:
        return draw.choice(USUAL[action.type] if usual else NUMBERS)
    metavar = str(action.metavar or action.dest).upper()
    if metavar in COLUMN_PLACES:
        return draw.choice(USUAL_COLUMNS if usual else COLUMN_WORDS)
    return _path(draw, action, metavar, named, usual)


def _path(draw: random.Random, action: argparse.Action, metavar: str, named: Named, usual: bool) -> str:
    """Draw a file, a folder or a word."""
    if metavar == "RUN":
        whole = usual and draw.random() < 0.3
        return (
            "../runs/whole" if whole else draw.choice((*(f"../runs/{name}" for name in named.runs), _file(draw, named)))
        )
    if action.type is Path and action.option_strings and "FILE.YAML" not in metavar:
        return draw.choice((f"out/{draw.randrange(9)}.svg", "out", "out/a/b.html", _file(draw, named), "x.md"))
    if any(word in metavar for word in ("FILE", "DIR", "SOURCE", "SPACE", "ADDRESS", "SPEC")):
        return _file(draw, named, "yaml" if "YAML" in metavar or metavar in ("SPACE", "ADDRESS|FILE") else "")
    return draw.choice((*WORDS, _file(draw, named)))


def _allowed(draw: random.Random, action: argparse.Action) -> str:
    # What changes the system is not for a fuzz.
    return str(draw.choice([one for one in action.choices or () if one != "system"]))


def _file(draw: random.Random, named: Named, ending: str = "") -> str:
    if not ending and draw.random() < named.sane / 2:
        return f"../files/{draw.choice(GOOD)}"
    fitting = [name for name in named.files if name.endswith(ending)]
    return f"../files/{draw.choice(fitting if draw.random() < 0.85 else named.files)}"
