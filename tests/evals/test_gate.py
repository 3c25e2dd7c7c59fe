"""A case that is not whole is told apart before any scoring, in one sentence, and the rest goes on."""

from __future__ import annotations

import math
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from vgo_agent.agent.cli import main
from vgo_agent.evals.recorded.gate import UnsoundCase, admitted, load_cases
from vgo_agent.evals.recorded.recorded_case import TRIAL, RecordedCase
from vgo_agent.evals.recorded.truth import read_truth, reseal, seal
from vgo_agent.knowledge.errors import VgoError

PROGRAM = "import random; print('time_ms', 20 + random.random())"
TRUTH = "verdicts: [cause not visible]\nmust_not_help: [pin_to_cpu]\nwhy: It draws its time.\n"
Broke = Callable[[Path], None]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A real case of a program that draws its time, with 12 runs and 6 pairs."""
    folder = tmp_path_factory.mktemp("recorded")
    words = ("--runs", "12", "--pairs", "6", "--layer", "process", "--mitigation", "pin_to_cpu", "--out", str(folder))
    metric = ("--metric", "time_ms ([0-9.]+)")
    assert main(["eval", "record", "draws", *words, *metric, "--", sys.executable, "-ISc", PROGRAM]) == 0
    case = folder / "draws"
    (case / "truth.yaml").write_text(TRUTH)
    reseal(case)
    return case


@pytest.fixture
def case(recorded: Path, tmp_path: Path) -> Path:
    """A copy that may be broken."""
    copy = tmp_path / "cases" / recorded.name
    shutil.copytree(recorded, copy)
    return copy


def change_table(case: Path, change: Callable[[pl.DataFrame], pl.DataFrame]) -> None:
    change(pl.read_parquet(case / "runs.parquet")).write_parquet(case / "runs.parquet")


def change_text(case: Path, name: str, old: str, new: str) -> None:
    text = (case / name).read_text()
    assert old in text
    (case / name).write_text(text.replace(old, new))


def test_a_recorded_case_passes_every_gate(case: Path) -> None:
    assert admitted(case).recording.trials["pin_to_cpu"].pairs == 6
    assert read_truth(case).must_not_help == ("pin_to_cpu",)


def test_sha256sum_reads_the_manifest(case: Path) -> None:
    subprocess.run(["sha256sum", "--check", "--strict", "MANIFEST.sha256"], cwd=case, check=True, capture_output=True)


def truncated(case: Path) -> None:
    table = (case / "runs.parquet").read_bytes()
    (case / "runs.parquet").write_bytes(table[: len(table) // 2])


def table(changed: Callable[[pl.DataFrame], pl.DataFrame]) -> Broke:
    """Another table."""
    return lambda case: change_table(case, changed)


def text(name: str, old: str, new: str) -> Broke:
    """Other words in a file."""
    return lambda case: change_text(case, name, old, new)


def fifth(column: str, value: float | None) -> Broke:
    """One run has this value there."""
    there = pl.when(pl.col("order") == 5).then(pl.lit(value)).otherwise(pl.col(column))
    return table(lambda frame: frame.with_columns(there.alias(column)))


def pairs_missing(case: Path) -> None:
    gone = (pl.col(TRIAL) == "pin_to_cpu") & (pl.col("pair") == 3)
    change_table(case, lambda table: table.filter(gone.not_().fill_null(True)))


def another_condition(case: Path) -> None:
    changed = pl.when(pl.col("condition") == "pin_to_cpu").then(pl.lit("thp_never")).otherwise(pl.col("condition"))
    change_table(case, lambda table: table.with_columns(changed.alias("condition")))


def truth_of(*lines: str) -> Broke:
    """Another truth."""

    def write(case: Path) -> None:
        (case / "truth.yaml").write_text("\n".join((*lines, "why: I know it.", "")))

    return write


def no_recording(case: Path) -> None:
    (case / "recording.json").write_text("{}")


def no_layers(case: Path) -> None:
    (case / "layers.json").write_text('{"process": {}}')


@pytest.mark.parametrize(
    ("broke", "words"),
    [
        (truncated, "is not a whole parquet file"),
        (table(lambda frame: frame.drop("outcome")), "has no column outcome"),
        (table(lambda frame: frame.with_columns(never_heard_of=1.0)), "No layer describes the column never_heard_of"),
        (
            table(lambda frame: frame.with_columns(pl.col("order").cast(pl.String))),
            "the column order is String, and not a whole number",
        ),
        (
            table(lambda frame: frame.with_columns(pl.col("outcome").cast(pl.String))),
            "the column outcome is String, and not a number",
        ),
        (
            table(lambda frame: frame.with_columns(pl.col("minor_faults").cast(pl.String))),
            "the column minor_faults is String, and not a number",
        ),
        (table(lambda frame: frame.with_columns(layers=pl.lit(1))), "the column layers is Int32, and not text"),
        (
            table(lambda frame: frame.with_columns(pl.col("pair").cast(pl.Float64))),
            "the column pair is Float64, and not a whole number",
        ),
        (table(lambda frame: frame.with_columns(condition=pl.lit(None))), "the column condition is empty in some runs"),
        (fifth("ok", None), "the column ok is empty in some runs"),
        (fifth("outcome", None), "the column outcome is not a number in some runs that count"),
        (fifth("outcome", math.nan), "the column outcome is not a number in some runs that count"),
        (fifth("wall_s", math.inf), "the column wall_s is not a number in some runs that count"),
        (table(lambda frame: frame.reverse()), "does not rise from run to run"),
        (pairs_missing, "it has 5 pairs of pin_to_cpu, and recording.json says 6"),
        (another_condition, "pairs of pin_to_cpu have the condition thp_never"),
        (text("case.yaml", "max_runs: 3", "max_runs: 300"), "12 baseline runs, and limits.max_runs 300 needs 400"),
        (text("case.yaml", "key: draws", "key: drawn"), "its key is drawn. Give folder and key the same name."),
        (
            text("case.yaml", "min_runs: 3", "layers: [perf], min_runs: 3"),
            "says limits.layers, which all cases are given alike by an option",
        ),
        (
            text("truth.yaml", "must_not", "also_true: [page_fault]\nmust_not"),
            "also_true: there is no factor page_fault; did you mean page_faults?",
        ),
        (
            text("truth.yaml", "pin_to_cpu", "pin_cpu"),
            "must_not_help: there is no mitigation pin_cpu; did you mean pin_to_cpu?",
        ),
        (
            text("truth.yaml", "must_not", "control: true\ncauses: [page_faults]\nmust_not"),
            "a control has neither causes nor accepted mitigations",
        ),
        (
            text("truth.yaml", "[cause not visible]", "[]"),
            "truth.yaml, line 1: verdicts: has too few entries; give at least 1.",
        ),
        (
            truth_of("verdicts: [remedy confirmed]", "causes:"),
            "line 2: causes: is no list; write one, such as [a, b].",
        ),
        (
            truth_of("verdicts: [remedy confirmed]", "accepted: jemalloc"),
            "line 2: accepted: is no list; write one, such as [a, b].",
        ),
        (
            truth_of("verdicts: [remedy undecided]", "control: yes, sir"),
            "line 2: control: is neither true nor false; write one of them.",
        ),
        (
            truth_of("verdicts: [cause not visible]", "accepted: [pin_to_cpu]"),
            "pin_to_cpu is accepted, but remedy confirmed is no right verdict. Add it, or empty accepted.",
        ),
        (
            truth_of("verdicts: [remedy confirmed]"),
            "only remedy confirmed is right, but nothing is accepted.",
        ),
        (truth_of("verdicts: [remedy confirmed]", "control: true"), "a control cannot have remedy confirmed."),
        (no_recording, "recording.json, line 1: recorded: is missing; add it."),
        (no_layers, "layers.json has another form"),
    ],
    ids=lambda value: value[:40] if isinstance(value, str) else "",
)
def test_what_is_wrong_is_said_although_the_hashes_match(case: Path, broke: Broke, words: str) -> None:
    broke(case)
    seal(case)
    with pytest.raises(VgoError) as refused:
        admitted(case)
    assert words in str(refused.value)
    assert str(case) in str(refused.value) or "layers.json" in str(refused.value)


@pytest.mark.parametrize("name", ["case.yaml", "layers.json", "recording.json", "runs.parquet", "truth.yaml"])
def test_a_file_that_was_changed_or_is_missing_is_told(case: Path, name: str) -> None:
    (case / name).write_bytes((case / name).read_bytes() + b"\n")
    with pytest.raises(VgoError, match=f"{name} does not have the hash that MANIFEST.sha256 says"):
        admitted(case)
    (case / name).unlink()
    with pytest.raises(VgoError, match=f"{name} is missing"):
        admitted(case)


def test_what_no_sealing_mends_is_said_first_and_where_to_seal_after_it(case: Path) -> None:
    (case / "truth.yaml").write_text(TRUTH + "also_true: [page_faults]\n")
    with pytest.raises(VgoError, match=f"seal it with `vgo-agent eval record --seal draws --out {case.parent}`"):
        admitted(case)
    (case / "truth.yaml").unlink()
    (case / "runs.parquet").unlink()
    with pytest.raises(VgoError, match=r"runs\.parquet is missing: restore it"):
        admitted(case)
    with pytest.raises(VgoError, match=r"runs\.parquet is missing: restore it"):
        reseal(case)


def test_a_missing_manifest_is_told_once(case: Path) -> None:
    (case / "MANIFEST.sha256").unlink()
    with pytest.raises(VgoError) as refused:
        admitted(case)
    assert str(refused.value).count("MANIFEST") == 1


@pytest.mark.parametrize("name", ["layers.json", "recording.json", "runs.parquet"])
def test_only_what_a_person_writes_can_be_sealed_again(case: Path, name: str) -> None:
    (case / "truth.yaml").write_text(TRUTH + "also_true: [page_faults]\n")
    reseal(case)
    admitted(case)
    (case / name).write_bytes((case / name).read_bytes() + b"\n")
    with pytest.raises(VgoError, match=f"{name} does not have the hash .* restore it, or record the case again"):
        reseal(case)


@pytest.mark.parametrize("text", ["", "no hash  case.yaml\n", "\N{SNOWMAN}"])
def test_a_broken_manifest_is_told(case: Path, text: str) -> None:
    (case / "MANIFEST.sha256").write_text(text, encoding="utf-8")
    with pytest.raises(VgoError, match=r"MANIFEST\.sha256"):
        admitted(case)


def test_a_broken_case_does_not_keep_the_others(case: Path) -> None:
    for name in ("a-broken", "b-broken"):
        shutil.copytree(case, case.parent / name)
    truncated(case.parent / "a-broken")
    (case.parent / ".draws.recording").mkdir()
    first, second, sound = load_cases(case.parent)
    assert isinstance(first, UnsoundCase) and first.key == "a-broken" and "hash" in first.reason
    assert isinstance(second, UnsoundCase) and "its key is draws" in second.reason
    assert isinstance(sound, RecordedCase)


def test_what_no_gate_foresaw_is_a_broken_case_with_its_words(case: Path) -> None:
    broken = case.parent / "a-broken"
    shutil.copytree(case, broken)
    change_text(broken, "case.yaml", "key: draws", "key: a-broken")
    (broken / "layers.json").write_text("[" * 100_000)
    seal(broken)
    told, sound = load_cases(case.parent)
    assert isinstance(told, UnsoundCase) and "cannot be read (RecursionError: maximum recursion depth" in told.reason
    assert isinstance(sound, RecordedCase)


@pytest.mark.parametrize("value", ["2026-13-45", "9" * 5000])
def test_a_date_or_a_number_that_cannot_be_is_told_with_the_file(case: Path, value: str) -> None:
    change_text(case, "case.yaml", "max_runs: 3", f"max_runs: {value}")
    seal(case)
    with pytest.raises(VgoError, match=r"case\.yaml: not YAML \(a date or a number in it cannot be read: "):
        admitted(case)
