"""Past runs: what a list says of each, two side by side, and taking one away."""

from __future__ import annotations

import fcntl
import json
import shutil
from pathlib import Path

import pytest

from vgo_agent.agent.desk.duties import recorded
from vgo_agent.agent.history import ListedRun, delete, history, is_held
from vgo_agent.agent.run_folder import RunFolder
from vgo_agent.agent.session import held
from vgo_agent.knowledge.errors import VgoError

from ..answers.run_made import written
from ..report.conftest import MAKERS


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(MAKERS["confirmed"](), tmp_path_factory.mktemp("finished") / "made")


@pytest.fixture
def run(finished: Path, tmp_path: Path) -> Path:
    """A copy that may be changed."""
    return Path(shutil.copytree(finished, tmp_path / "vgo-runs" / "made"))


def only(run: Path) -> ListedRun:
    (one,) = history(run.parent)
    return one


def changed(run: Path, **more: object) -> None:
    """Make the first line of a transcript say something else."""
    first, _, rest = (run / "transcript.jsonl").read_text().partition("\n")
    event = json.loads(first)
    event["body"].update(more)
    (run / "transcript.jsonl").write_text(f"{json.dumps(event)}\n{rest}")


def test_a_finished_run_can_be_opened_and_not_resumed(run: Path) -> None:
    one = only(run)
    assert (one.state, one.note, one.can_open, one.can_resume) == ("finished", "", True, False)
    assert one.verdict == "cause explained, remedy confirmed" and one.ratio


def test_a_run_that_was_cut_off_says_that_it_can_be_resumed(run: Path) -> None:
    lines = (run / "transcript.jsonl").read_text().splitlines(keepends=True)
    (run / "transcript.jsonl").write_text("".join(lines[:-1]))
    (run / "request.json").write_text("{}")
    one = only(run)
    assert one.state == "unfinished" and one.can_resume and "can be resumed" in one.note


def test_a_folder_of_a_newer_version_is_named_so(run: Path) -> None:
    changed(run, format=99, colour="green")
    one = only(run)
    assert (one.state, one.verdict, one.can_open) == ("newer", "(newer)", False)
    assert "format 99" in one.note and "newer vgo-agent" in one.note


def test_a_damaged_folder_says_how_to_learn_more(run: Path) -> None:
    changed(run, colour="green")
    one = only(run)
    assert one.state == "broken" and f"vgo-agent verify {run}" in one.note


@pytest.mark.parametrize("file", ["transcript.jsonl", "experiment.json"])
@pytest.mark.parametrize("text", ["[" * 100_000, '{"kind": ["sweep"], "body": []}', "\0", '"'], ids=str.__len__)
@pytest.mark.cells(3)
def test_whatever_stands_in_a_folder_the_others_are_listed(run: Path, file: str, text: str) -> None:
    odd = run.parent / "odd"
    odd.mkdir()
    (odd / file).write_text(text)
    states = {Path(one.folder).name: one.state for one in history(run.parent)}
    assert states == {run.name: "finished", "odd": "broken" if file == "transcript.jsonl" else "experiment"}


def test_a_folder_that_is_no_run_and_one_that_never_began(tmp_path: Path) -> None:
    (tmp_path / "vgo-runs" / "other").mkdir(parents=True)
    (tmp_path / "vgo-runs" / "early").mkdir()
    (tmp_path / "vgo-runs" / "early" / "request.json").write_text("{}")
    states = {Path(one.folder).name: (one.state, one.can_resume) for one in history(tmp_path / "vgo-runs")}
    assert states == {"other": ("broken", False), "early": ("empty", True)}


def test_a_run_that_another_works_on_is_going_on_and_stays(run: Path) -> None:
    assert not is_held(run)
    with held(RunFolder(run)):
        assert only(run).state == "going on"
        with pytest.raises(VgoError, match="in use by another"):
            delete(run)
    assert only(run).state == "finished"


def test_what_a_killed_process_was_about_to_start_is_waited_for(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (run / ".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        monkeypatch.setattr("vgo_agent.agent.session.time.sleep", lambda _: fcntl.flock(file, fcntl.LOCK_UN))
        with held(RunFolder(run)):
            assert only(run).state == "going on"


def test_deleting_takes_the_folder_and_leaves_the_rest(run: Path) -> None:
    beside = Path(shutil.copytree(run, run.parent / "beside"))
    assert delete(run) > 0
    assert [Path(one.folder) for one in history(run.parent)] == [beside]
    assert list(run.parent.iterdir()) == [beside]


def test_what_is_no_run_is_not_deleted(tmp_path: Path, run: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "thesis.txt").write_text("x")
    link = run.parent / "link"
    link.symlink_to(run)
    for folder, words in ((mine, "not the folder of a run"), (tmp_path / "gone", "gone already"), (link, "is a link")):
        with pytest.raises(VgoError, match=words):
            delete(folder)
    assert (mine / "thesis.txt").exists() and run.exists()


def test_a_folder_without_runs_lists_none(tmp_path: Path) -> None:
    assert history(tmp_path / "nothing") == []


def table(path: Path, values: list[float]) -> str:
    path.write_text("time_s\n" + "".join(f"{value}\n" for value in values))
    return str(path)


def test_files_are_held_side_by_side_the_first_one_the_baseline(tmp_path: Path) -> None:
    wide = table(tmp_path / "wide.csv", [1 + (k * 7 % 40) / 40 for k in range(120)])
    tight = table(tmp_path / "tight.csv", [1 + (k * 7 % 40) / 400 for k in range(120)])
    compared = recorded([wide, tight])
    assert compared["headline"].startswith("STEADIER: tight.csv against wide.csv")
    assert list(compared["arms"]) == ["wide.csv", "tight.csv"]
    assert [row[-1] for row in compared["rows"]] == ["baseline", "steadier"]
    assert "SPREAD RATIO" in compared["header"]
    three = recorded([wide, tight, table(tmp_path / "third.csv", [1.0 + k % 3 / 10 for k in range(120)])])
    assert len(three["rows"]) == 3


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    for names in (["a.csv"], ["a.csv", "b.csv"]):
        with pytest.raises(VgoError, match="a.csv"):
            recorded([str(tmp_path / name) for name in names])
