"""Thread studies of four OpenMP programs of ours: `python benchmarks/openmp.py [--save]`.

Each is built by gcc and, where it is there, by clang, and studied by `vgo-agent sweep openmp`. --save writes
docs/results/openmp.md with its pictures. Give it a quiet machine: another load is what such a study measures then.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

from vgo_agent.agent.report.numbers import number, p_value, percent, ratio
from vgo_agent.evals.workloads.build import build

HERE = Path(__file__).parents[1]
SOURCES = HERE / "evals/workloads/openmp"
PROGRAMS = {
    "synchronise": "barriers, critical sections and reductions (EPCC syncbench)",
    "schedule": "loops under schedule(runtime) (EPCC schedbench)",
    "stream": "memory bandwidth (STREAM)",
    "hydro": "a shallow-water stencil with a reduction in each step (hydrodynamics)",
}
PAGE = HERE / "docs/results/openmp.md"
PICTURES = ("settings", "effects")
COMMAND = Path(sys.executable).with_name("vgo-agent")
MOST_EFFECTS = 6
QUIET, PATIENCE_S = 0.3, 240
"""Load of a CPU below which a study begins, and how long that is waited for: what ran before is in it for a minute."""
BESIDE_PAPER = (
    ("threads pinned", "baseline", "close/2c/default", "-87.8 % (lulesh, AlderLake, 8 threads; section 4.1.1)"),
    (
        "active for passive waiting",
        "close/2c/passive",
        "close/2c/active",
        "-86.5 %, at most -95.3 % (syncbench critical, Graviton3; section 4.3)",
    ),
)
"""What is compared, both settings, and by how much the SD changed in the OpenMP paper."""


class Ended(NamedTuple):
    """A study of one program."""

    name: str
    command: str
    answer: Mapping[str, Any]


def main() -> None:
    """Study, print and perhaps save."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("programs", nargs="*", choices=[*PROGRAMS, []], help="which of them (default all)")
    parser.add_argument("--rounds", type=int, default=40, help="rounds of each study")
    parser.add_argument("--budget", type=float, default=300.0, help="seconds of the program in each study")
    parser.add_argument("--out", default="vgo-runs", help="the parent of the folders")
    parser.add_argument("--save", action="store_true", help=f"write {PAGE.relative_to(HERE)}")
    asked = parser.parse_args()
    ended = [studied(name, asked) for name in asked.programs or PROGRAMS]
    page = "\n".join(page_lines(ended))
    print(page)
    if asked.save:
        save(ended, page)


def studied(name: str, asked: argparse.Namespace) -> Ended:
    """Study one program, once what ran before has left the load."""
    until = time.monotonic() + PATIENCE_S
    while os.getloadavg()[0] > QUIET * (os.cpu_count() or 1) and time.monotonic() < until:
        time.sleep(5)
    source = SOURCES / f"{name}.c"
    clang = shutil.which("clang")
    binary = ["--binary", f"clang={build(source, clang)}"] if clang else []
    limits = ["--rounds", str(asked.rounds), "--budget", str(asked.budget), "--out", asked.out]
    own = str(build(source, shutil.which("gcc")))
    words = ["sweep", "openmp", *limits, *binary, "--metric", "seconds: ([0-9.]+)", "--unit", "s", "--json", "--", own]
    done = subprocess.run([COMMAND, *words], stdout=subprocess.PIPE, text=True, check=True)
    shown = f"vgo-agent sweep openmp --rounds {asked.rounds} --budget {asked.budget:g}"
    shown += " --binary clang=./" + f"{name}.clang" if clang else ""
    return Ended(name, f"{shown} --metric 'seconds: ([0-9.]+)' --unit s -- ./{name}", json.loads(done.stdout))


def page_lines(ended: Sequence[Ended]) -> Iterator[str]:
    """Write the page."""
    yield "# Thread studies of four programs"
    yield ""
    yield (
        f"Written by `python benchmarks/openmp.py --save` on {date.today().isoformat()}: Linux {platform.release()}, "
        f"{ended[0].answer['design']['machine']}, load {os.getloadavg()[0]:.1f} at the end."
    )
    yield ""
    yield (
        "Every round ran every setting once in random order. Ratios are against the environment as given, in pairs of "
        "the same round; all settings of a study are wrong together at most with the chance .05 (Holm), and bold "
        "intervals leave out 1. The spread is the mean absolute deviation from the median. "
        "The programs lie in `evals/workloads/openmp`."
    )
    yield from _beside_paper(ended)
    for one in ended:
        yield from ("", f"## {one.name}: {PROGRAMS[one.name]}", "")
        yield from _study_lines(one)


def _beside_paper(ended: Sequence[Ended]) -> Iterator[str]:
    """Compare what the paper gives a number for, in pairs of the same round; other machines and programs there."""
    yield from ("", "## Beside the paper", "")
    yield "The SD of the second setting relative to the first, on two cores, each alone at 95 %, and that of the mean."
    yield from ("", "| change | program | SD | mean | SD in the paper |", "|---|---|---|---|---|")
    for change, first, second, theirs in BESIDE_PAPER:
        for one in ended:
            if {first, second} <= {spread["setting"] for spread in one.answer["spreads"]}:
                claims = _claims(one.answer["folder"], first, second)
                yield f"| {change} | {one.name} | {_change(claims['sd'])} | {_change(claims['mean'])} | {theirs} |"


def _claims(folder: str, first: str, second: str) -> Mapping[str, Any]:
    """Give the claims of `vgo-agent compare` on the rounds of a study."""
    words = ["compare", folder, "--condition", f"condition={first},{second}", "--pair", "pair", "--json"]
    done = subprocess.run([COMMAND, *words], stdout=subprocess.PIPE, text=True, check=True)
    claims: Mapping[str, Any] = json.loads(done.stdout)["arms"][0]["claims"]
    return claims


def _change(claim: Mapping[str, Any]) -> str:
    """Write a claim as a change in percent with its interval."""
    if "ratio" not in claim:
        return str(claim["why"])
    value, low, high = (
        f"{100 * (end - 1):+.3g} %" if end else "open" for end in (claim["ratio"], claim["low"], claim["high"])
    )
    return f"{value} [{low}, {high}]"


def _study_lines(one: Ended) -> Iterator[str]:
    answer = one.answer
    yield f"`{one.command}`"
    yield from ("", f"**{answer['verdict']}** {answer['rounds']} rounds, {len(answer['spreads'])} settings.", "")
    yield "| setting | runs | CV | min/mean | max/mean | spread ratio | CV ratio | mean ratio |"
    yield "|---|---:|---:|---:|---:|---|---|---|"
    yield from (_row(spread) for spread in answer["spreads"])
    if answer["effects"]:
        yield from ("", "| effect | spread ratio | mean ratio | p |", "|---|---|---|---|")
    strongest = sorted(answer["effects"], key=lambda effect: effect["p_value"])[:MOST_EFFECTS]
    yield from (_effect(effect) for effect in strongest)
    weaker = len(answer["effects"]) - len(strongest)
    left_out = f"{weaker} weaker effects are left out. " if weaker else ""
    yield from ("", f"{left_out}{answer['reservation']['answer']}", "")
    yield from (f"- {note}" for note in (*answer["notes"], *_left_out(answer)))
    drawn = [name for name in PICTURES if _picture(one, name).exists()]  # without effects there is no picture of them
    yield from (f"\n![{one.name}: {name}](openmp-{one.name}-{name}.svg)" for name in drawn)


def _row(spread: Mapping[str, Any]) -> str:
    against = spread["against"] or {}
    ratios = (_ratio(against[measure]) if against else "" for measure in ("spread", "cv", "mean"))
    cells = (
        *(f"`{spread['setting']}`", str(spread["runs"]), percent(spread["cv"])),
        *(number(spread["minimum"], 3), number(spread["maximum"], 3), *ratios),
    )
    return f"| {' | '.join(cells)} |"


def _ratio(claim: Mapping[str, Any]) -> str:
    """Write a claim's ratio with its interval, bold where that leaves out 1."""
    if "ratio" not in claim:
        return str(claim["why"])
    shown = ratio(claim["ratio"], claim["low"], claim["high"])
    outside = claim["low"] > 1 or (claim["high"] is not None and claim["high"] < 1)
    return f"**{shown}**" if outside else shown


def _effect(effect: Mapping[str, Any]) -> str:
    parts = zip(effect["factors"], effect["levels"], effect["reference"], strict=True)
    name = " x ".join(f"{factor}: {level} for {reference}" for factor, level, reference in parts)
    ratios = [ratio(effect[key]["value"], effect[key]["low"], effect[key]["high"]) for key in ("spread", "mean")]
    return f"| {name} | {' | '.join(ratios)} | {p_value(effect['p_value'])} |"


def _left_out(answer: Mapping[str, Any]) -> Iterator[str]:
    for one in answer["tried"]:
        if one["alike"]:
            yield f"`{one['setting']}` is the same here as `{one['alike']}`, by what the runtime says."
        if one["failure"]:
            yield f"`{one['setting']}` failed: {one['failure']}."


def save(ended: Sequence[Ended], page: str) -> None:
    """Write the page and copy the pictures beside it."""
    PAGE.write_text(page + "\n")
    for one in ended:
        for name in PICTURES:
            beside = PAGE.with_name(f"openmp-{one.name}-{name}.svg")
            beside.unlink(missing_ok=True)
            if _picture(one, name).exists():
                shutil.copyfile(_picture(one, name), beside)


def _picture(one: Ended, name: str) -> Path:
    return Path(one.answer["folder"]) / f"{name}.svg"


if __name__ == "__main__":
    main()
