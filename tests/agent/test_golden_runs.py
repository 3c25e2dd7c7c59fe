"""Commands end to end, against what they gave before: verdict, numbers, exit code, and the order of the runs.

The program prints its metric, a function of a count and of what is in force, so no answer depends on the machine: it
counts only where somebody reads what it prints, since a busy machine has to start it more often until a proof is seen.
`python -m tests.agent.test_golden_runs` writes the answers of today.
"""

from __future__ import annotations

import csv
import hashlib
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from vgo_agent.agent.cli import main
from vgo_agent.layers.reading import trust
from vgo_agent.tools.verdict import from_json, title

from .asked_files import LAYER, adaptive, grid

GOLDEN = Path(__file__).parents[1] / "golden/runs.json"
PROGRAM = """\
#!/bin/sh
read n < count
[ /proc/self/fd/1 -ef /dev/null ] || n=$((n + 1))
echo $n > count
r=$(((n * n * 31 + n * 7919) % 101))
slow=$((r > 50))
v=$r
[ "$MALLOC_TOP_PAD_" ] && v=$((r / 9))
case "$GLIBC_TUNABLES" in *=1) v=$((r * 4)) ;; *=2) v=$((r / 9)) ;; *=3) v=$((r * 3)) ;; *=4) v=$((r * 9 / 10)) ;; esac
case "$OMP_WAIT_POLICY" in [Aa]*) v=$((r / 6)) ;; [Pp]*) v=$((r * 5)) ;; esac
[ "$OMP_DISPLAY_ENV" ] && echo "  GOMP_SPINCOUNT = '$OMP_WAIT_POLICY'" >&2
[ "$BREAKS" ] && exit 3
i=0
while [ $i -lt 3000 ]; do i=$((i + 1)); done
echo "waits=$((slow * 50 + n % 7))"
echo "value $((1000 + v * ${1:-1}))"
"""
MITIGATION = """\
key: {key}
name: A variable
description: Sets a variable that the program obeys.
scope: process
when: In this test.
hurts: Nothing.
interleavable: {interleavable}
apply: {{environment: {{{variable}: "1"}}}}
"""
JUDGED = ("--metric", "value ([0-9.]+)", "--unit", "ms", "--budget", "900", "--json", "-q")
SEED = ("--seed", "3")
SHORT = (*JUDGED, *SEED, "--max-runs", "40")
SAID = ("--layer", "./said.yaml")


class Case(NamedTuple):
    """A command, and which parts of its answer are kept."""

    words: tuple[str, ...]
    kept: tuple[str, ...]


TRIED = ("verdict", "mitigation", "values", "runs", "in_force", "broke")
"""Without numbers: how often a proof runs the program depends on how fast it is, and so where the count stands then."""
SWEPT = ("cells", "runs", "failed", "ended", "best")
CASES = {
    "measure": Case(("measure", *JUDGED, *SEED, "--max-runs", "300"), ("summary", "runs", "stopped_by", "outcome")),
    "measure to a cap": Case(("measure", *SHORT), ("summary", "runs", "stopped_by", "sd_interval")),
    "measure by count": Case(
        ("measure", *SHORT, "--min-runs", "10", "--stop", "count", "--stop-at", "25"), ("summary", "stop_reason")
    ),
    "profile": Case(("measure", *JUDGED, *SEED, *SAID, "--runs", "60"), ("summary", "runs", "outcome", "distortions")),
    "try, helps": Case(("try", "glibc_malloc_thresholds", *SHORT, "--pairs", "30"), TRIED),
    "try, undecided": Case(("try", "ld_bind_now", *SHORT, "--pairs", "12"), TRIED),
    "try, no difference": Case(("try", "glibc_tcache", "--param", "blocks=4", *SHORT, "--pairs", "80"), TRIED),
    "try, in blocks": Case(("try", "./in_blocks.yaml", *SHORT, "--pairs", "50"), TRIED),
    "try, breaks": Case(("try", "./breaks.yaml", *SHORT, "--pairs", "20"), TRIED),
    "tune": Case(("try", "glibc_tcache", "--search", "blocks=1..3", *SHORT), TRIED),
    "diagnose": Case(("diagnose", *SHORT, *SAID), TRIED),
    "diagnose, too few runs": Case(("diagnose", *JUDGED, *SEED, "--max-runs", "12"), TRIED),
    "study": Case(
        ("sweep", "openmp", *JUDGED, *SEED, "--factors", "wait", "--rounds", "25"),
        ("verdict", "chosen", "confirmed", "rounds"),
    ),
    "sweep, grid": Case(("sweep", "grid.yaml", *SEED, "--json", "-q"), SWEPT),
    "sweep, adaptive": Case(("sweep", "adaptive.yaml", *SEED, "--json", "-q"), SWEPT),
    "compare": Case(("compare", "recorded.csv", "--condition", "mode=a,b", "--metric", "t", "--json", "-q"), ("arms",)),
    "analyze": Case(("analyze", "recorded.csv", "--outcome", "t", "--json", "-q"), ("verdict", "columns", "runs")),
}
RECORDED = ("compare", "analyze")


def files(folder: Path) -> None:
    """Write what the commands read, the count at its beginning."""
    for name, text in {
        "program.sh": PROGRAM,
        "count": "0\n",
        "said.yaml": LAYER,
        "in_blocks.yaml": MITIGATION.format(key="in_blocks", interleavable="false", variable="MALLOC_TOP_PAD_"),
        "breaks.yaml": MITIGATION.format(key="breaks", interleavable="true", variable="BREAKS"),
        "grid.yaml": grid(most=12),
        "adaptive.yaml": adaptive(most=12, cells=7),
        "recorded.csv": "\n".join(recorded()),
    }.items():
        (folder / name).write_text(text)
    (folder / "program.sh").chmod(0o755)
    for name in ("said.yaml", "in_blocks.yaml", "breaks.yaml"):
        trust([folder / name])


def recorded() -> Iterator[str]:
    """A table of two modes, one of which scatters less."""
    yield "run,mode,t,waits"
    for n in range(1, 121):
        drawn = (n * n * 31 + n * 7919) % 101
        mode = "ab"[n * 7919 % 3 % 2]
        yield f"{n},{mode},{1000 + drawn / (1 if mode == 'a' else 4)},{50 * (drawn > 80) + n % 7}"


def answer(name: str, folder: Path, said: Callable[[], str]) -> dict[str, Any]:
    """Run a command in this process, in the folder that it is in; give what is kept of its answer."""
    case = CASES[name]
    files(folder)
    before = set(folder.glob("vgo-runs/*"))
    command = () if name.startswith("sweep") or name in RECORDED else ("--", "./program.sh")
    code = main([*case.words, *command])
    text = said()
    told = json.loads(text) if text else {}
    if case.kept is TRIED:
        told["verdict"] = title(from_json(told["verdict"]))
    made = sorted(set(folder.glob("vgo-runs/*")) - before)
    rows = told.get("rows") or [row for path in made for row in table(path / "runs.csv")]
    kept = {key: rounded(told[key]) for key in case.kept if key in told}
    return {"exit code": code, **kept, **({"order": order(rows, case.kept is not TRIED)} if rows else {})}


def table(path: Path) -> list[dict[str, str]]:
    """Read a table."""
    with path.open() as file:
        return list(csv.DictReader(file))


def order(rows: Sequence[Mapping[str, Any]], numbers: bool) -> dict[str, Any]:
    """Every run in order, as a hash, with its number where that is asked for; how many each condition has."""
    seen = [f"{row.get('call', '')} {row['condition']} {row.get('pair', row.get('round'))}" for row in rows]
    outcomes = [str(row["outcome"] and float(row["outcome"])) for row in rows] if numbers else [""] * len(rows)
    digest = hashlib.sha256("\n".join(map(" ".join, zip(seen, outcomes, strict=True))).encode()).hexdigest()
    conditions = [str(row["condition"]) for row in rows]
    return {"sha256": digest[:16], "runs": {one: conditions.count(one) for one in dict.fromkeys(conditions)}}


def rounded(value: Any) -> Any:
    """Numbers to six digits, and nothing that is a time or a command line."""
    match value:
        case float():
            return float(f"{value:.6g}")
        case dict():
            return {key: rounded(one) for key, one in value.items() if key not in ("spent_s", "command", "run_dir")}
        case list():
            return [rounded(one) for one in value]
    return value


LONG = ("try, undecided", "measure to a cap", "tune", "try, no difference", "try, in blocks")
"""Others show the same in the check."""


@pytest.mark.parametrize("name", [pytest.param(one, marks=pytest.mark.slow if one in LONG else ()) for one in CASES])
def test_a_command_gives_what_it_gave(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert answer(name, tmp_path, lambda: capsys.readouterr().out) == json.loads(GOLDEN.read_text())[name]


def write_all() -> None:
    """Write the answers of today."""
    import contextlib
    import io
    import os
    import tempfile

    answers = {}
    for name in [one for one in CASES if one in sys.argv[1:] or not sys.argv[1:]]:
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), io.StringIO() as out:
            os.environ.update(XDG_CONFIG_HOME=f"{folder}/config", XDG_STATE_HOME=f"{folder}/state")
            with contextlib.redirect_stdout(out):
                answers[name] = answer(name, Path(folder), out.getvalue)
        print(name, answers[name]["exit code"], file=sys.stderr)
    before = json.loads(GOLDEN.read_text()) if GOLDEN.exists() else {}
    GOLDEN.write_text(json.dumps({**before, **answers}, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    write_all()
