"""`vgo-agent sweep openmp` on real programs, through the front door."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from vgo_agent.agent.cli import main
from vgo_agent.evals.workloads.build import build, openmp
from vgo_agent.tools.execution.row_log import rows_in
from vgo_agent.tools.study.design import StudyDesign
from vgo_agent.tools.study.setting import StudySetting

COMMAND = Path(sys.executable).with_name("vgo-agent")
FEW = ("--rounds", "10", "--factors", "binding,threads")
SMALL = "#pragma omp parallel reduction(+ : sum)\n for (int i = 0; i < 100000; i++) sum += i * 1e-9;"
needs_openmp = pytest.mark.skipif(not openmp(), reason="no C compiler that knows OpenMP")


@pytest.fixture
def program(tmp_path: Path) -> Callable[[str, str], Path]:
    """Build an OpenMP program around a body."""

    def make(name: str, body: str = SMALL) -> Path:
        source = tmp_path / f"{name}.c"
        source.write_text(
            "#include <omp.h>\n#include <stdio.h>\n#include <stdlib.h>\nint main(void) {\n double sum = 0;\n"
            f'{body}\n printf("sum: %g\\n", sum);\n return 0;\n}}\n'
        )
        target = tmp_path / name
        subprocess.run(["cc", "-O1", "-fopenmp", "-o", target, source], check=True)
        return target

    return make


class Said(NamedTuple):
    """What a command answered."""

    returncode: int
    stdout: str
    stderr: str


Run = Callable[..., Said]


@pytest.fixture
def here(monkeypatch, tmp_path, capsys) -> Run:
    """Run a command in this process, in an empty folder and with no settings file: imports are paid once."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))

    def run(*words: str) -> Said:
        capsys.readouterr()
        status = main(words)
        said = capsys.readouterr()
        return Said(status, said.out, said.err)

    return run


def study(here: Run, *words: str) -> Said:
    return here("sweep", "openmp", *words)


def test_openmp_behind_the_options_is_refused_with_the_line(here) -> None:
    said = here("sweep", "--dry-run", "openmp", "--", "true")
    assert said.returncode == 1 and "write `vgo-agent sweep openmp [OPTIONS] -- COMMAND`" in said.stderr


@needs_openmp
def test_a_study_leaves_a_report_a_table_and_what_was_asked(here, program, tmp_path) -> None:
    done = study(here, *FEW, "--json", "--", str(program("small")))
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    folder = tmp_path / answer["folder"]
    assert {"report.md", "report.html", "runs.csv", "experiment.json", "answer.json"} <= {
        path.name for path in folder.iterdir()
    }
    with (folder / "runs.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {row["condition"] for row in rows} >= {"baseline"}
    for row in rows:
        assert row["binding"] == ("as given" if row["condition"] == "baseline" else row["condition"].split("/")[0])
    rounds = [[row["condition"] for row in rows if row["pair"] == str(number)] for number in range(10)]
    assert all(sorted(one) == sorted(rounds[0]) for one in rounds)
    assert len({tuple(one) for one in rounds}) > 1
    assert all(one["cv"] is not None and one["minimum"] <= 1 <= one["maximum"] for one in answer["spreads"])
    page = (folder / "report.md").read_text()
    assert "| setting | runs | mean |" in page and "## Left out" in page
    assert "<svg" in (folder / "report.html").read_text()
    read_by_the_other_commands(here, answer, folder / "runs.csv")


def read_by_the_other_commands(here: Run, answer, path: Path) -> None:
    table = str(path)
    names = [one["setting"] for one in answer["spreads"]]
    compared = here("compare", table, "--condition", f"condition={names[0]},{names[1]}", "--pair", "pair", "--json")
    assert compared.returncode == 0, compared.stderr
    understood = here("analyze", "--read-only", table, "--json")
    assert understood.returncode == 0, understood.stderr
    roles = {column["name"]: column["role"] for column in json.loads(understood.stdout)["columns"]}
    assert (roles["binding"], roles["outcome"]) == ("setting", "outcome")
    (one,) = json.loads(here("runs", "--json").stdout)["runs"]
    assert one["when"] and one["verdict"] == f"study: {answer['headline']}"
    assert here("verify", one["folder"]).stdout.startswith("As it was written: 3 events")
    assert " rows of the log gave runs.csv, answer.json again." in here("verify", "--recompute", one["folder"]).stdout


@needs_openmp
def test_settings_that_are_the_same_here_are_told_and_run_once(here, program) -> None:
    fixed = SMALL.replace("reduction", "num_threads(2) reduction")
    done = study(here, *FEW, "--json", "--", str(program("fixed", fixed)))
    answer = json.loads(done.stdout)
    if len(os.sched_getaffinity(0)) > 1:
        assert any("ignores OMP_NUM_THREADS: its teams have 2 threads" in note for note in answer["notes"])
        assert {one["alike"] for one in answer["tried"]} - {""}
    run = {one["setting"] for one in answer["spreads"]}
    assert not run & {one["setting"] for one in answer["tried"] if one["alike"]}


@needs_openmp
def test_a_setting_under_which_the_program_fails_is_kept_with_the_reason(here, program) -> None:
    body = 'if (getenv("OMP_WAIT_POLICY")) { fprintf(stderr, "error: no waiting\\n"); return 3; }\n' + SMALL
    done = study(here, "--rounds", "10", "--factors", "wait", "--json", "--", str(program("picky", body)))
    assert done.returncode == 0, done.stderr
    failures = {one["setting"]: one["failure"] for one in json.loads(done.stdout)["tried"] if one["failure"]}
    assert set(failures) == {"active", "passive"}
    assert "exited with 3 and said: error: no waiting" in failures["active"]
    assert "active is left out" in done.stderr


@needs_openmp
def test_a_study_that_was_killed_goes_on(here, program, tmp_path) -> None:
    slow = program("slow", SMALL.replace("100000;", "5000000;"))
    words = [COMMAND, "sweep", "openmp", *FEW, "--", slow]
    with subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as begun:
        deadline = time.monotonic() + 60
        while not (kept := _kept(tmp_path)) and begun.poll() is None:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        begun.send_signal(signal.SIGKILL)
    (log,) = tmp_path.glob("vgo-runs/*/partial/rounds.jsonl")
    before = rows_in(log)
    folder = log.parents[1]
    done = here("resume", str(folder))
    assert done.returncode == 0, done.stderr
    after, torn = rows_in(log), before[-1]["pair"]
    whole = [row for row in before if row["pair"] < torn]
    assert after[: len(whole)] == whole
    assert len(set(Counter(row["pair"] for row in after).values())) == 1
    assert kept
    settings = json.loads((folder / "experiment.json").read_text())["tried"]
    run = [one for one in settings if not one["failure"] and not one["alike"]]
    assert len(log.read_bytes().splitlines()) == 10 * len(run)


@needs_openmp
def test_where_another_setting_is_chosen_after_more_rounds_it_is_confirmed_anew(
    here: Run, program: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def choosing(place: int | None) -> None:
        def chosen(found: object, design: StudyDesign, *_: object) -> StudySetting | None:
            return None if place is None else design.settings[place]

        monkeypatch.setattr("vgo_agent.agent.study.choose", chosen)

    choosing(1)
    answer = json.loads(study(here, *FEW, "--json", "--", str(program("small"))).stdout)
    log = tmp_path / answer["folder"] / "partial/confirm.jsonl"
    assert Counter(row["condition"] for row in rows_in(log)).keys() == {"baseline", setting(log, 1)}
    choosing(2)
    assert here("resume", answer["folder"]).returncode == 0
    assert Counter(row["condition"] for row in rows_in(log)) == {"baseline": 10, setting(log, 2): 10}
    choosing(None)
    assert here("resume", answer["folder"]).returncode == 0
    assert not rows_in(log)


def setting(log: Path, place: int) -> str:
    """Name one of the settings of the study that a log is of."""
    asked = json.loads((log.parents[1] / "experiment.json").read_text())
    return str(asked["design"]["settings"][place]["name"])


def _kept(folder: Path) -> bool:
    return any(path.stat().st_size for path in folder.glob("vgo-runs/*/partial/rounds.jsonl"))


@needs_openmp
@pytest.mark.skipif(not shutil.which("clang"), reason="no clang")
def test_another_build_and_another_runtime_are_levels(here, tmp_path) -> None:
    source = Path(__file__).parents[3] / "evals/workloads/openmp/schedule.c"
    own, other = build(source, shutil.which("gcc")), build(source, shutil.which("clang"))
    words = ("--rounds", "10", "--factors", "runtime,schedule", "--binary", f"clang={other}", "--json")
    done = study(here, *words, "--", str(own), "200")
    assert done.returncode == 0, done.stderr
    runtimes = {one["setting"]: one["spoken"]["runtime"] for one in json.loads(done.stdout)["tried"]}
    assert (runtimes["centre"], runtimes["clang"]) == ("libgomp", "libomp")
    assert {"static", "dynamic", "guided"} <= runtimes.keys()
    if "libomp" in runtimes:
        assert runtimes["libomp"] == "libomp"


@needs_openmp
def test_a_job_beside_the_program_is_there_and_gone_afterwards(here, program) -> None:
    before = _children()
    done = study(here, "--rounds", "10", "--factors", "neighbour", "--json", "--", str(program("small")))
    assert {"centre", "compute", "memory", "itself"} <= {one["setting"] for one in json.loads(done.stdout)["spreads"]}
    assert _children() == before


def _children() -> list[str]:
    """Name our children but for the watchdog, which may begin at any time."""
    pids = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    return [pid for pid in pids if "outlives-its-parent" not in Path(f"/proc/{pid}/cmdline").read_text()]


@needs_openmp
def test_the_clock_of_each_cpu_is_logged_where_the_machine_shows_it(here, program, tmp_path) -> None:
    root = tmp_path / "root"
    for cpu in sorted(os.sched_getaffinity(0)):
        folder = root / f"sys/devices/system/cpu/cpu{cpu}/cpufreq"
        folder.mkdir(parents=True)
        (folder / "scaling_cur_freq").write_text(f"{2_000_000 + 1000 * cpu}\n")
    (root / "proc").mkdir()
    words = ("--rounds", "10", "--factors", "wait", "--root", "root", "--json", "--", str(program("small")))
    done = study(here, *words)
    assert done.returncode == 0, done.stderr
    folder = tmp_path / json.loads(done.stdout)["folder"]
    with (folder / "runs.csv").open() as file:
        rows = list(csv.DictReader(file))
    first = min(os.sched_getaffinity(0))
    assert all(float(row[f"freq.cpu{first}.mhz"]) == 2000 + first for row in rows)
    assert "## Clock of the CPUs" in (folder / "report.md").read_text()


@needs_openmp
def test_a_budget_that_is_too_small_for_the_first_run_ends_in_one_sentence(here, program) -> None:
    done = study(here, "--rounds", "10", "--budget", "0.001", "--factors", "wait", "--", str(program("small")))
    assert done.returncode == 1
    assert re.search("^vgo-agent: .* the budget of 0.001 s.*: raise --budget", done.stderr, re.MULTILINE)


def test_a_dry_run_shows_settings_and_what_is_skipped(here) -> None:
    done = study(here, "--dry-run", "--", "true")
    assert done.returncode == 0, done.stderr
    assert "Nothing was run" in done.stdout
    assert "baseline" in done.stdout and "OMP_NUM_THREADS=" in done.stdout
    assert "Skipped runtime libomp: the program does not link libgomp itself" in done.stdout
    assert "beside the program itself anywhere" in done.stdout


def test_a_machine_without_a_clock_to_read_is_told_before_any_run(here, tmp_path) -> None:
    for cpu in range(2):
        (tmp_path / f"root/sys/devices/system/cpu/cpu{cpu}").mkdir(parents=True)
    (tmp_path / "root/proc").mkdir()
    done = study(here, "--dry-run", "--root", "root", "--", "true")
    assert "Skipped clock of the CPUs: there is no CPU frequency control" in done.stdout


def test_a_dry_run_lays_out_the_study_of_another_machine(here, tmp_path) -> None:
    for cpu in range(4):
        folder = tmp_path / f"root/sys/devices/system/cpu/cpu{cpu}/topology"
        folder.mkdir(parents=True)
        (folder / "thread_siblings_list").write_text(f"{cpu % 2},{cpu % 2 + 2}\n")
    (tmp_path / "root/sys/devices/system/cpu/online").write_text("0-3\n")
    (tmp_path / "root/proc").mkdir()
    done = study(here, "--dry-run", "--json", "--root", "root", "--", "true")
    answer = json.loads(done.stdout)
    assert answer["machine"].startswith("2 cores, two hardware threads a core")
    places = {one["name"]: one["environment"].get("OMP_PLACES") for one in answer["settings"]}
    assert places["close/2c/MT/default"] == "{0},{2},{1},{3}"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--", "true"), "The program showed no OpenMP runtime"),
        (("--", "false"), "A trial run failed: the program exited with 1"),
        (("--", "./gone"), "There is no program ./gone"),
        (("--rounds", "1", "--", "true"), "--rounds 1 cannot show a spread"),
        (("--factors", "colour", "--", "true"), "--factors colour: there is no such factor"),
        (("--binary", "clang", "--", "true"), "--binary clang is not NAME=PATH"),
        (("--per-iteration", "csv", "--metric", "x", "--", "true"), "A study judges whole runs"),
        (("--design", "gone.yaml", "--", "true"), "gone.yaml: cannot be read"),
        ((), "No command was given"),
    ],
)
def test_what_cannot_be_studied_is_one_sentence(here, words, said) -> None:
    done = study(here, *words)
    assert (done.returncode, done.stdout) == (1, "")
    assert said in done.stderr
    assert "Traceback" not in done.stderr
