"""`vgo-agent eval`: through the front door, on small made cases; who crashes, dies or never stops is a row."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from vgo_agent.agent.cli import main
from vgo_agent.evals.contest.contestants import CONTESTANTS
from vgo_agent.evals.recorded.folders import TABLE, TRUTH
from vgo_agent.evals.refusals import PLANNERS
from vgo_agent.evals.run import Contest, EvaluationPace, EvaluationTask, rows
from vgo_agent.evals.scores.evaluate import choose, evaluate
from vgo_agent.evals.scores.page import markdown, page, words
from vgo_agent.evals.scores.results import Results, ScoredAnswer
from vgo_agent.evals.scores.summary import summarise

from .cases_made import made_case, sealed

Vgo = Callable[..., Any]
FAST = ("--planner", "oracle", "--planner", "constant")
STRANGE = """
import multiprocessing, os, random, signal, sys, time
from pathlib import Path
from vgo_agent.evals.contest.answer import ContestAnswer
from vgo_agent.knowledge.errors import VgoError

class Strange:
    def __init__(self, name, act):
        self.name, self.act = name, act
    def answer(self, case, seed):
        self.act()
        runs = {"fickle": random.randrange(10**9), "hashes": abs(hash("a"))}.get(self.name, 0)
        return ContestAnswer(verdict="cause explained, remedy confirmed", causes=("page_faults",), runs=runs)

def started():
    # Which of the processes this is: each leaves a file.
    folder = Path(os.environ["STARTS"])
    number = len(list(folder.iterdir())) + 1
    (folder / str(number)).touch()
    return number

if os.environ.get("STARTS") and multiprocessing.parent_process():
    {"die": lambda: os._exit(7), "hang": lambda: time.sleep(3600)}.get(
        os.environ["LATER"] if started() > 1 or os.environ["LATER"] == "hang" else "", lambda: None)()

def gone(case=None):
    for path in Path(os.environ["CASE"]).iterdir():
        path.unlink()

def broken():
    raise ValueError("a model that dies in the middle")

def absent(cases):
    raise VgoError("There is no model; install one.")

ACTS = {
    "fine": lambda: None,
    "fickle": lambda: None,
    "hashes": lambda: None,
    "takes the case away": gone,
    "takes it away and dies": lambda: (gone(), os._exit(7)),
    "crashes": broken,
    "exits": lambda: sys.exit(3),
    "dies": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "sleeps": lambda: time.sleep(3600),
}
CONTESTANTS = {name: lambda cases, name=name: Strange(name, ACTS[name]) for name in ACTS} | {"absent": absent}
"""


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cases")
    made_case(folder, "faults", runs=140, pairs=200)
    made_case(folder, "steady", split="held-out", runs=140, pairs=200)
    return folder


@pytest.fixture(scope="module")
def strange(cases: Path, tmp_path_factory: pytest.TempPathFactory) -> Results:
    """An evaluation in which all goes wrong that can."""
    folder = tmp_path_factory.mktemp("modules")
    (folder / "strange_contestants.py").write_text(STRANGE)
    names = ("fine", "fickle", "hashes", "crashes", "exits", "dies", "absent")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        where = "strange_contestants:CONTESTANTS"
        chosen = choose(cases, "made-f*", None)
        heard: list[tuple[int, int]] = []

        def tell(done: int, wanted: int, row: ScoredAnswer) -> None:
            heard.append((done, wanted))

        found = evaluate(chosen, names, (1,), EvaluationPace(jobs=1, twice=True), tell, where)
        assert heard == [(done, 12) for done in range(1, 13)]
        late = evaluate(chosen, ("sleeps",), (1,), EvaluationPace(jobs=1, limit_s=1), tell, where)
        both = {"rows": found.rows + late.rows, "contestants": found.contestants + late.contestants}
        return found.model_copy(update=both)


def ended(results: Results, contestant: str) -> str:
    [row] = [row for row in results.rows if row.contestant == contestant]
    return row.answer.ended


@pytest.mark.slow
def test_whoever_crashes_dies_or_never_stops_is_a_row_and_the_rest_goes_on(strange: Results) -> None:
    assert len(strange.rows) == 7
    assert ended(strange, "fine") == ""
    assert ended(strange, "crashes").startswith("crashed: ValueError: a model that dies in the middle (strange_")
    assert ended(strange, "exits").startswith("crashed: SystemExit: 3")
    assert ended(strange, "dies") == "died: its process was ended by SIGKILL"
    assert ended(strange, "sleeps") == "stopped: no answer within 1 s"
    assert strange.missing == {"absent": "There is no model; install one."}


def test_no_answer_is_scored_as_a_wrong_one(strange: Results) -> None:
    assert summarise(strange, "fine").scores["verdict"].value == 1.0
    for name in ("crashes", "exits", "dies", "sleeps"):
        found = summarise(strange, name)
        assert (found.scores["verdict"].value, found.unfinished) == (0.0, 1)


def test_who_answers_the_same_seed_in_two_ways_is_found_out(strange: Results) -> None:
    [fickle] = [row for row in strange.rows if row.contestant == "fickle"]
    assert fickle.scores["replay"].value == 0.0
    assert "runs was another" in fickle.scores["replay"].reason
    assert summarise(strange, "fine").scores["replay"].value == 1.0


def test_who_depends_on_the_order_of_a_set_is_found_out(strange: Results) -> None:
    assert summarise(strange, "hashes").scores["replay"].value == 0.0


@pytest.fixture
def strange_tasks(cases: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[ScoredAnswer]]:
    """Ask contestants of STRANGE about a copy of a case, one process at a time."""
    (tmp_path / "strange_contestants.py").write_text(STRANGE)
    monkeypatch.syspath_prepend(tmp_path)
    case = tmp_path / "cases" / "made-faults"
    shutil.copytree(cases / "made-faults", case)
    monkeypatch.setenv("CASE", str(case))

    def ask(*names: str, later: str = "", start_s: float = 60.0) -> list[ScoredAnswer]:
        if later:
            (tmp_path / "starts").mkdir()
            monkeypatch.setenv("STARTS", str(tmp_path / "starts"))
            monkeypatch.setenv("LATER", later)
        contest = Contest((case,), "strange_contestants:CONTESTANTS")
        return list(
            rows(contest, [EvaluationTask(name, case, 1) for name in names], EvaluationPace(jobs=1, start_s=start_s))
        )

    return ask


@pytest.mark.slow
def test_what_is_there_is_kept_when_no_process_can_be_started_any_more(
    strange_tasks: Callable[..., list[ScoredAnswer]],
) -> None:
    fine, dies, last = strange_tasks("fine", "dies", "fickle", later="die")
    assert (fine.answer.verdict, fine.scores["verdict"].value) == ("cause explained, remedy confirmed", 1.0)
    assert dies.answer.ended == "died: its process was ended by SIGKILL"
    said = "not asked: no process could be started; the last one died: its process ended with exit code 7"
    assert (last.answer.ended, last.scores["verdict"].value) == (said, 0.0)


def test_a_process_that_never_gets_ready_is_given_up(strange_tasks: Callable[..., list[ScoredAnswer]]) -> None:
    [row] = strange_tasks("fine", later="hang", start_s=1.0)
    said = "not asked: no process could be started; the last one stopped: not ready within 1 s"
    assert row.answer.ended == said


@pytest.mark.parametrize("name", ["takes the case away", "takes it away and dies"])
@pytest.mark.cells(1)
@pytest.mark.slow
def test_a_case_that_is_taken_away_meanwhile_is_a_row_and_the_rest_goes_on(
    strange_tasks: Callable[..., list[ScoredAnswer]], name: str
) -> None:
    fine, taken, crashes = strange_tasks("fine", name, "crashes")
    assert fine.scores["verdict"].value == 1.0
    for row in (taken, crashes):
        assert row.case == "made-faults" and row.scores["verdict"].value is None
        assert row.scores["verdict"].reason.startswith("Not judged: ")


def test_the_pages_tell_of_everyone(strange: Results) -> None:
    for text in (page(strange), markdown(strange)):
        for name in ("fine", "sleeps", "There is no model; install one."):
            assert name in text
    assert "no answer within 1 s" in page(strange)


def test_what_is_there_when_ctrl_c_comes_is_kept(cases: Path) -> None:
    def tell(done: int, wanted: int, row: ScoredAnswer) -> None:
        if done == 2:
            raise KeyboardInterrupt

    found = evaluate(choose(cases, "*", None), ("oracle",), (1, 2), EvaluationPace(jobs=1), tell)
    assert len(found.rows) == 2
    said = "Stopped by Ctrl-C after 2 of 4 answers: what follows is of these alone."
    assert found.stopped == said
    for text in (page(found), markdown(found), words(found, None, (), 100)):
        assert said in text


@pytest.mark.slow
def test_a_table_for_people_and_an_object_for_programs(vgo: Vgo, cases: Path) -> None:
    asked = ("eval", "--folder", str(cases), *FAST, "--seeds", "2")
    shown = vgo(*asked)
    assert shown.returncode == 0, shown.stderr
    assert re.search(r"^oracle +100 % \[34, 100\]", shown.stdout, re.M)
    assert "verdict: only oracle is right in 1 of 2 cases, only constant in 0: p = 1 (McNemar's" in shown.stdout
    assert "constant, made-steady: false alarms: Claimed where there is nothing to find: page_faults" in shown.stdout
    assert "8/8" in shown.stderr
    told = json.loads(vgo(*asked, "--json", "--quiet").stdout)
    assert len(told["results"]["rows"]) == 8
    assert [one["contestant"] for one in told["summaries"]] == ["oracle", "constant"]


@pytest.mark.slow
def test_all_outputs_and_the_difference_to_itself(vgo: Vgo, cases: Path, tmp_path: Path) -> None:
    words = ("eval", "--folder", str(cases), *FAST, "--seeds", "1", "--quiet")
    made = vgo(*words, "--save", "r.json", "--html", "e.html", "--markdown", "e.md")
    assert (made.returncode, made.stderr) == (0, "")
    shown = (tmp_path / "e.html").read_text()
    assert shown.count("<svg") == 2  # nobody used runs
    assert not re.search(r'(src|href)="(?!#)|@import|url\((?!#)', shown)
    page_as_text = (tmp_path / "e.md").read_text()
    assert "| planner | oracle | constant |" in page_as_text
    assert f"Made by `vgo-agent {shlex.join(words)} --save r.json --html e.html --markdown e.md` on " in page_as_text
    again = vgo(*words, "--against", "r.json")
    assert "Against the results before:\nNothing is different." in again.stdout


def test_a_broken_case_is_told_and_the_rest_goes_on(vgo: Vgo, cases: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    shutil.copytree(cases, mine)
    shutil.copytree(cases / "made-faults", mine / "made-without")
    (mine / "made-without" / TRUTH).unlink()
    table = mine / "made-steady" / TABLE
    table.write_bytes(table.read_bytes()[:100])
    shown = vgo("eval", "--folder", str(mine), "--planner", "oracle", "--seeds", "1", "--quiet")
    assert shown.returncode == 0, shown.stderr
    assert re.search(r"made-steady: not asked\. .*runs\.parquet", shown.stdout)
    assert re.search(r"made-without: not asked\. .*truth\.yaml", shown.stdout)
    assert re.search(r"^oracle +100 % \[21, 100\]", shown.stdout, re.M)


@pytest.mark.slow
def test_an_answer_that_is_another_than_in_the_file_fails_the_gate(vgo: Vgo, cases: Path, tmp_path: Path) -> None:
    words = ("eval", "--folder", str(cases), "--gate", "--seeds", "1", "--quiet")
    assert vgo(*words, "--save", "r.json").returncode == 0
    same = vgo(*words, "--against", "r.json")
    assert (same.returncode, same.stderr) == (0, "")
    saved = tmp_path / "r.json"
    saved.write_text(saved.read_text().replace('"verdict": "steady"', '"verdict": "cause not visible, remedy refuted"'))
    other = vgo(*words, "--against", "r.json")
    assert other.returncode == 1
    assert "rules, made-steady (seed 1): cause not visible, remedy refuted -> steady" in other.stdout
    assert other.stderr == "vgo-agent: other answers than in r.json: 1, see above.\n"


@pytest.mark.slow
def test_the_gate_passes_and_fails_with_a_sentence_a_miss(vgo: Vgo, cases: Path, tmp_path: Path) -> None:
    words = ("--gate", "--seeds", "1", "--jobs", "1", "--quiet")
    passed = vgo("eval", "--folder", str(cases), *words)
    assert (passed.returncode, passed.stderr) == (0, "")
    mine = tmp_path / "mine"
    shutil.copytree(cases / "made-steady", mine / "made-steady")
    truth = mine / "made-steady" / TRUTH
    truth.write_text(truth.read_text().replace("steady", "cause not visible"))
    sealed(mine / "made-steady")
    failed = vgo("eval", "--folder", str(mine), *words)
    assert failed.returncode == 1
    *others, last = failed.stderr.splitlines()
    assert (
        last == "vgo-agent: rules, held-out: verdict right: 0 % of 1 cases, at least 90 % is required; see made-steady."
    )
    assert others and all(line.endswith("choose more cases.") for line in others)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--planner", "rulse"), "There is no planner 'rulse'; choose among rules,"),
        (("--cases", "nothing-*"), "is called nothing-*; there are: made-faults, made-steady."),
        (("--cases", "made-f*", "--split", "held-out"), "No case called made-f* is in the split held-out"),
        (("--seeds", "0"), "--seeds 0 asks nothing; choose 1 or more."),
        (("--jobs", "0"), "--jobs 0 lets nobody answer; choose 1 or more."),
        (("--limit", "0"), "--limit 0 leaves no time"),
        (("--gate", "--planner", "paper"), "--gate judges rules"),
        (("--against", "no.json"), "Cannot read no.json"),
        (("--against", "old.json"), "old.json is no result of this version"),
        (("--folder", "empty"), "There is no case in empty; record one with `vgo-agent eval record NAME`."),
        (("--html", "no/where.html"), "--html no/where.html: there is no folder"),
        (("--html", "empty"), "--html empty: that is a folder; name a file in it."),
        (("--save", "/proc/results.json"), "--save /proc/results.json cannot be written (No such file or directory)"),
        (("--cases", ""), "--cases '' names no case; leave it out for all."),
        (("--folder", "over"), "over holds no cases itself: give the folder in which they lie, over/cases."),
        (("--folder", "over/cases/made-steady"), "is one case: give the folder in which it lies, and --cases made-st"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_sentence(
    cases: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any, words: tuple[str, ...], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "old.json").write_text('{"format": 0}')
    (tmp_path / "empty").mkdir()
    (tmp_path / "over").mkdir()
    (tmp_path / "over" / "cases").symlink_to(cases)
    status = main(["eval", "--folder", str(cases), *words])
    told = capsys.readouterr()
    assert (status, told.out) == (1, "")
    assert said in told.err
    assert told.err.count("\n") == 1


@pytest.mark.parametrize("words", [("--planner", "rulse"), ("--cases", "nothing-*"), ("--folder", "no-such-folder")])
def test_a_wrong_name_is_refused_before_anything_heavy_is_imported(words: tuple[str, ...]) -> None:
    script = (
        "import sys; from vgo_agent.agent.cli import main; "
        "print(main(['eval', *sys.argv[1:]]), *{'numpy', 'pydantic'} & set(sys.modules))"
    )
    shown = subprocess.run([sys.executable, "-c", script, *words], capture_output=True, text=True)
    assert (shown.stdout, shown.stderr.count("\n")) == ("1\n", 1)


def test_every_planner_can_be_named() -> None:
    assert tuple(CONTESTANTS) == PLANNERS


def test_a_diagnosis_without_time_is_refused(capsys: Any) -> None:
    assert main(["eval", "--live", "noise", "--budget", "0"]) == 1
    assert "--budget 0 leaves no time for the program; choose more than 0." in capsys.readouterr().err


def test_a_word_that_is_no_mode_is_told(capsys: Any) -> None:
    with pytest.raises(SystemExit):
        main(["eval", "foo", "bar"])
    assert "unrecognized arguments: foo bar" in capsys.readouterr().err


def test_it_fails_where_nobody_was_asked(cases: Path, tmp_path: Path, capsys: Any) -> None:
    shutil.copytree(cases / "made-steady", tmp_path / "mine" / "made-steady")
    (tmp_path / "mine" / "made-steady" / TRUTH).unlink()
    assert main(["eval", "--folder", str(tmp_path / "mine"), "--planner", "oracle"]) == 1
    told = capsys.readouterr()
    assert "made-steady: not asked. " in told.out and "write it, then seal it with" in told.out
    assert told.err == "vgo-agent: no case could be asked: mend what is said of each above.\n"
    shutil.rmtree(tmp_path / "mine")
    shutil.copytree(cases / "made-steady", tmp_path / "mine" / "made-steady")
    assert main(["eval", "--folder", str(tmp_path / "mine"), "--planner", "constant"]) == 1
    said = capsys.readouterr()
    assert "nobody could answer" in said.err
    assert "Nothing failed" not in said.out
