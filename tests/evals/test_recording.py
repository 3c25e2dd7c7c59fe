"""A case is recorded by really measuring, whole or not at all, and everything is put back."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
import yaml

from vgo_agent.agent.commands import COMMANDS
from vgo_agent.agent.parser import parser_of
from vgo_agent.evals.record_command import RecordCommand
from vgo_agent.evals.recorded.asking import asked_for
from vgo_agent.evals.recorded.draft import truth_to_fill
from vgo_agent.evals.recorded.gate import admitted
from vgo_agent.evals.recorded.recorded_case import TRIAL, RecordedCase, read_case
from vgo_agent.evals.recorded.recording_plan import RecordingPlan
from vgo_agent.evals.recorded.schema import SERIES, Truth
from vgo_agent.evals.recorded.truth import read_truth
from vgo_agent.evals.scores.effects import doubts
from vgo_agent.evals.workloads.registry import find, missing

from ..conftest import COMMAND, Vgo
from .cases_made import made_case

SMALL = ("--runs", "12", "--pairs", "6", "--layer", "process")
METRIC = ("--metric", "time_ms ([0-9.]+)", "--unit", "ms")
DRAWS = "import random; print('time_ms', 20 + random.random())"
THP = Path("/sys/kernel/mm/transparent_hugepage/enabled")
Record = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def record(tmp_path: Path, vgo: Vgo) -> Record:
    """Record into a folder of the test, by the command."""

    def run(*words: str, fails: bool = False) -> subprocess.CompletedProcess[str]:
        done = vgo("eval", "record", "--out", str(tmp_path / "cases"), *words)
        assert (done.returncode != 0) == fails, done.stderr
        return done

    return run


@pytest.fixture
def cases(tmp_path: Path) -> Path:
    """Where the test records."""
    return tmp_path / "cases"


def own(*options: str, body: str = DRAWS) -> tuple[str, ...]:
    """The words that record a program of one's own."""
    return (*SMALL, *METRIC, *options, "draws", "--", sys.executable, "-ISc", body)


def counted(case: RecordedCase, series: str) -> int:
    return case.table.filter(pl.col(SERIES) == series).height


def test_a_workload_is_recorded_with_its_truth_and_every_mitigation_that_applies(record: Record, cases: Path) -> None:
    if reason := missing(find("page-faults")):
        pytest.skip(reason)
    said = record("page-faults", *SMALL)
    case, truth = admitted(cases / "page-faults"), read_truth(cases / "page-faults")
    assert "can be scored" in said.stdout
    assert [path.name for path in cases.iterdir()] == ["page-faults"]
    assert (case.file.workload, case.file.limits.max_runs, case.file.limits.min_runs) == ("page-faults", 3, 3)
    assert (truth.verdicts, truth.causes, truth.must_not_help) == (
        ("remedy confirmed",),
        ("page_faults",),
        ("pin_to_cpu",),
    )
    assert counted(case, "baseline") == 12
    assert counted(case, "profile") == 24
    trials = case.recording.trials
    assert {"glibc_malloc_thresholds", "glibc_hugetlb", "pin_to_cpu"} <= {*trials, *case.recording.refused}
    assert all(check.passed for check in trials["glibc_malloc_thresholds"].checks)
    for key, trial in trials.items():
        assert len(case.shown.pairs(key)) == trial.pairs
        orders = [row["order"] for row in case.shown.rows("pairs", key)]
        assert orders == list(range(2 * trial.pairs))
    assert "--allow system" in case.recording.refused["thp_always"]
    left_out = [line.rpartition(": ") for line in said.stderr.splitlines() if line.startswith("left out, ")]
    assert len({reason for reason, _, _ in left_out}) == len(left_out)
    assert any("thp_always" in keys.split(", ") for _, _, keys in left_out)
    begun = re.findall(r"^\w+ \(\d+ of \d+\)$", said.stderr, re.M)
    assert f"pairs with each of {len(begun)} mitigations" in said.stderr


def test_pairs_keep_only_the_columns_that_tell(record: Record, cases: Path) -> None:
    record(*own("--mitigation", "pin_to_cpu"))
    table = pl.read_parquet(cases / "draws" / "runs.parquet").filter(pl.col(TRIAL) == "pin_to_cpu")
    assert table["migrations"].null_count() == 0
    assert table["minor_faults"].null_count() == table.height


@pytest.mark.slow
def test_the_steady_twin_has_nothing_to_find(record: Record, cases: Path) -> None:
    record("hash_seed", "--steady", *SMALL)
    truth = read_truth(cases / "hash-seed-steady")
    case = admitted(cases / "hash-seed-steady")
    assert (truth.control, truth.causes, truth.accepted) == (True, (), ())
    assert case.file.steady and case.recording.subject.command[-1] == "sorted"
    assert {"python_hash_seed", "fixed_layout"} <= {*case.recording.trials, *case.recording.refused}


@pytest.mark.slow
def test_a_program_of_ones_own_is_filled_in_and_sealed(record: Record, cases: Path) -> None:
    said = json.loads(record(*own("--json", "--mitigation", "pin_to_cpu")).stdout)
    case = cases / "draws"
    assert not said["ready"] and "verdicts: has too few entries" in said["reason"]
    written = (case / "truth.yaml").read_text()
    assert "# Keys of the factors that must be named" in written
    assert f"then: vgo-agent eval record --seal draws --out {cases}\n" in written
    (case / "truth.yaml").write_text(written.replace("verdicts: []", "verdicts: [cause not visible]"))
    assert "scored" in record("--seal", "draws").stdout
    assert admitted(case).recording.trials["pin_to_cpu"].pairs == 6
    assert admitted(case).file.made_by.endswith(shlex.join(["--", "python", "-ISc", DRAWS]))
    assert "is there already" in record(*own(), fails=True).stderr
    record("draws", "--force", *SMALL)
    assert read_truth(case).verdicts == ("cause not visible",)
    assert admitted(case).recording.subject.command[-1] == DRAWS


def test_a_placebo_is_proved_and_then_applied_in_no_run(record: Record, cases: Path) -> None:
    body = f"import os; {DRAWS}; print('cpus', len(os.sched_getaffinity(0)))"
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("it needs two CPUs")
    record(*own("--placebo", "pin_to_cpu", "--mitigation", "sched_batch", "--metric", "cpus ([0-9]+)", body=body))
    recording = json.loads((cases / "draws" / "recording.json").read_bytes())
    trials = recording["trials"]
    assert (trials["pin_to_cpu"]["placebo"], trials["sched_batch"]["placebo"]) == (True, False)
    assert trials["pin_to_cpu"]["checks"] and all(check["passed"] for check in trials["pin_to_cpu"]["checks"])
    pairs = pl.read_parquet(cases / "draws" / "runs.parquet").filter(pl.col(TRIAL) == "pin_to_cpu")
    assert set(pairs["condition"]) == {"baseline", "pin_to_cpu"}
    assert set(pairs["outcome"]) == {len(os.sched_getaffinity(0))}
    sealed = (cases / "draws" / "truth.yaml").read_text().replace("verdicts: []", "verdicts: [remedy confirmed]")
    (cases / "draws" / "truth.yaml").write_text(sealed.replace("accepted: []", "accepted: [pin_to_cpu]"))
    assert "pin_to_cpu was recorded as a placebo" in record("--seal", "draws").stdout


def test_mitigations_of_a_cause_that_is_named_are_recorded_found_or_not(record: Record, cases: Path) -> None:
    said = record(*own("--cause", "memory_layout"))
    draft = (cases / "draws" / "truth.yaml").read_text()
    assert "causes: [memory_layout]" in draft
    if "no factor is looked for" in said.stderr:
        assert "# Of this profile no factor could be ranked.\nalso_true: []" in draft
    else:
        assert "no counter ranks memory_layout, the --cause" in said.stderr
        assert "# No counter of this profile ranks memory_layout" in draft
        assert "# This profile ranks as visible: " in draft
    recording = json.loads((cases / "draws" / "recording.json").read_bytes())
    assert "fixed_layout" in {**recording["trials"], **recording["refused"]}


@pytest.mark.slow
def test_what_a_person_wrote_stays_when_a_case_is_recorded_anew(record: Record, cases: Path) -> None:
    record(*own())
    file = cases / "draws" / "case.yaml"
    words = file.read_text().replace("split: train", "split: held-out").replace("tags: [own]", "tags: [mine]")
    file.write_text(words.replace("max_runs: 3", "max_runs: 2"))
    record(*own("--force", "--pairs", "8"))
    case = yaml.safe_load(file.read_text())
    assert (case["split"], case["tags"], case["limits"]["max_runs"]) == ("held-out", ["mine"], 2)
    assert "--pairs 8" in case["made_by"]
    assert len(case["history"]) == 1 and case["history"][0].endswith(": recorded anew.")


def asked(*words: str) -> RecordingPlan:
    """What these words ask for, without a run."""
    told = parser_of(COMMANDS["eval record"]).parse_command([*words, "draws", "--", "true"])
    assert isinstance(told, RecordCommand)
    return asked_for(told, "draws")


def test_only_what_was_typed_records_it_again() -> None:
    typed = asked("--minutes", "8")
    assert (typed.made_by, typed.runs, typed.pairs) == ("vgo-agent eval record draws --minutes 8 -- true", 400, 400)
    assert asked("--pairs", "90").made_by == "vgo-agent eval record draws --pairs 90 -- true"


def test_the_line_that_records_it_again_can_be_typed() -> None:
    words = shlex.split(asked("--launcher", "taskset:cpus=0", "--metric", "([0-9]+)").made_by)
    again = parser_of(COMMANDS["eval record"]).parse_command(words[3:])
    assert again.flags["launcher"] == "taskset:cpus=0"
    assert again.typed == {"name", "command", "launcher", "metric"}


def test_a_draft_says_what_the_profile_ranks_and_which_named_cause_it_does_not() -> None:
    draft = truth_to_fill("seal it", ["page_faults", "hash_seed"], {"page_faults": 0.98, "io_wait": 0.7})
    assert "# No counter of this profile ranks hash_seed: " in draft
    assert "# This profile ranks as visible: page_faults (AUC 0.98), io_wait (AUC 0.70).\nalso_true: []" in draft
    assert "causes: [page_faults, hash_seed]" in draft
    assert "# This profile ranks as visible: none.\n" in truth_to_fill("seal it", [], {})


def test_what_the_pairs_prove_and_the_truth_leaves_out_is_doubted(tmp_path: Path) -> None:
    case = read_case(made_case(tmp_path))
    truth = Truth(verdicts=("cause explained",), causes=("page_faults",), why="It was put in.")
    [said] = doubts(case, truth)
    assert said.startswith(
        "glibc_hugetlb is neither accepted nor in must_not_help, and it helps: its spread ratio is 0."
    )
    assert re.search(r" 0\.\d+ \[0\.\d+, 0\.\d+\]: accept it, or say why not", said)
    [control] = doubts(case, Truth(verdicts=("cause not visible",), control=True, why="A guess."))
    assert control.startswith("glibc_hugetlb is neither") and "this is no control" in control
    assert doubts(case, truth.model_copy(update={"accepted": ("glibc_hugetlb",)})) == ()
    reason = {"must_not_help": ("glibc_hugetlb",), "unproved": {"glibc_hugetlb": "It breaks the program."}}
    assert doubts(case, truth.model_copy(update=reason)) == ()


def test_options_may_stand_after_the_name(record: Record, cases: Path) -> None:
    record("draws", *SMALL, *METRIC, "--mitigation", "pin_to_cpu", "--", sys.executable, "-ISc", DRAWS)
    assert (cases / "draws" / "runs.parquet").exists()


@pytest.mark.slow
def test_a_recording_that_is_cut_off_leaves_no_case_and_goes_on(record: Record, tmp_path: Path, cases: Path) -> None:
    words = ("--out", str(cases), *own("--pairs", "400", "--mitigation", "pin_to_cpu"))
    begun = subprocess.Popen(
        [COMMAND, "eval", "record", *words], cwd=tmp_path, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    half = cases / ".draws.recording"
    pairs = half / "partial" / "pairs-pin_to_cpu.jsonl"
    while not (pairs.exists() and len(pairs.read_bytes().splitlines()) > 5):
        assert begun.poll() is None
        time.sleep(0.05)
    begun.send_signal(signal.SIGINT)
    _, said = begun.communicate(timeout=60)
    told = f"vgo-agent: stopped by Ctrl-C; go on with: vgo-agent eval record --resume --out {cases} draws"
    assert (begun.returncode, said.splitlines()[-1]) == (130, told)
    assert not (cases / "draws").exists()
    baseline = (half / "partial" / "baseline.jsonl").read_bytes()
    assert "cut off: go on with --resume" in record(*own(), fails=True).stderr
    asked = json.loads((half / "asked.json").read_bytes())
    (half / "asked.json").write_text(json.dumps(asked | {"pairs": 6}))  # so that it ends soon
    record("--resume", "draws")
    case = pl.read_parquet(cases / "draws" / "runs.parquet")
    kept = [json.loads(line)["outcome"] for line in baseline.splitlines()]
    assert case.filter(pl.col(SERIES) == "baseline")["outcome"].to_list() == pytest.approx(kept, rel=1e-8)
    assert case.filter((pl.col(SERIES) == "pairs") & (pl.col(TRIAL) == "pin_to_cpu")).height == 12
    assert not half.exists()


def test_a_program_that_fails_under_a_mitigation_is_a_refusal(record: Record, cases: Path) -> None:
    body = f"import os; assert len(os.sched_getaffinity(0)) > 1; {DRAWS}"
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("it needs two CPUs")
    record(*own("--mitigation", "pin_to_cpu", body=body))
    recording = json.loads((cases / "draws" / "recording.json").read_bytes())
    assert "breaks the program: exit 1" in recording["refused"]["pin_to_cpu"]


@pytest.mark.skipif(os.geteuid() != 0 or not os.access(THP, os.W_OK), reason="it changes a setting of the kernel")
def test_a_mitigation_of_the_system_is_put_back(record: Record, cases: Path) -> None:
    before = THP.read_text()
    chosen = "thp_never" if "[never]" not in before else "thp_always"
    record(*own("--allow", "system", "--mitigation", chosen))
    recording = json.loads((cases / "draws" / "recording.json").read_bytes())
    assert recording["trials"][chosen]["pairs"] == 6
    assert any(str(THP) in check["what"] for check in recording["trials"][chosen]["checks"])
    assert THP.read_text() == before
    assert not list(Path("/run/vgo-agent").glob("*.json"))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("page-fault",), "There is no workload 'page-fault'"),
        (("steady", "--steady"), "has no steady twin"),
        (("Draws", "--", "true"), "cannot name a case: use small letters"),
        (("draws", "--runs", "3", "--", "true"), "--runs 3: "),
        (("draws", "--mitigation", "pin_to_cpus", "--", "true"), "There is no mitigation 'pin_to_cpus'"),
        (("draws", "--minutes", "0.1", "--", "sleep", "0.1"), "and fewer show nothing"),
        (("draws", "--minutes", "-1", "--", "true"), "--minutes -1"),
        (("draws", "--cause", "page_fault", "--", "true"), "did you mean page_faults?"),
        (("draws", "--mitigation", "isolate_cores", "--", "true"), "is for a person to do"),
        (("draws", "--layer", "nothing", "--", "true"), "nothing"),
        (("draws", "--resume"), "No recording of draws was cut off"),
        (("draws", "--seal"), "is no case"),
        (("draws", "--", "false"), "A trial run failed"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_cannot_be_recorded_is_refused_before_the_first_run(
    record: Record, cases: Path, words: tuple[str, ...], said: str
) -> None:
    stderr = record(*words, fails=True).stderr.splitlines()
    assert said in stderr[-1]
    assert not cases.exists() or not list(cases.iterdir())
