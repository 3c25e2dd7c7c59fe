"""The folder of a measurement and a sweep: one record, checked by hashes and made again from its rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from vgo_agent.agent.cli import main
from vgo_agent.agent.clock import BudgetClock
from vgo_agent.agent.run_folder import RunFolder
from vgo_agent.agent.session import append_end
from vgo_agent.agent.transcript import Transcript, line, read

PROGRAM = """\
#!/bin/sh
read n < count
n=$((n + 1))
echo $n > count
echo "value $((1000 + (n * n * 31 + n * 7919) % 101))"
"""
JUDGED = ("--metric", "value ([0-9.]+)", "--unit", "ms", "--max-runs", "12", "--min-runs", "10", "-q", "--json")
COMMANDS = {
    "measurement": ("measure", *JUDGED, "--", "./program.sh"),
    "sweep": ("sweep", "a=1,3", *JUDGED, "--", "./program.sh", "{a}"),
}


@pytest.fixture(params=COMMANDS)
def folder(request: pytest.FixtureRequest, tmp_path: Path, called_here) -> RunFolder:
    (tmp_path / "program.sh").write_text(PROGRAM)
    (tmp_path / "program.sh").chmod(0o755)
    (tmp_path / "count").write_text("0\n")
    status, _, err = called_here(*COMMANDS[request.param])
    assert status == 0, err
    (made,) = tmp_path.glob("vgo-runs/*")
    return RunFolder(made)


def outputs(folder: RunFolder) -> dict[str, str]:
    return read(folder.transcript)[-1].body.outputs  # type: ignore[union-attr]


def said(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    capsys.readouterr()
    return main(words), capsys.readouterr().out


def test_a_changed_byte_in_any_file_is_found(folder, capsys):
    path = str(folder.path)
    assert said(capsys, "verify", path)[0] == said(capsys, "verify", "--recompute", path)[0] == 0
    names = outputs(folder)
    assert {"experiment.json", "runs.csv", "answer.json", "timing.jsonl"} < names.keys()
    assert any(name.endswith(".jsonl") and name != "timing.jsonl" for name in names), "the log has its hash, too"
    for name in names:
        before = (folder.path / name).read_bytes()
        (folder.path / name).write_bytes(before[:-2] + bytes([before[-2] ^ 1]) + before[-1:])
        for command in (("verify",), ("verify", "--recompute")):
            status, words = said(capsys, *command, path)
            assert (status, f"{name} was changed after it was written" in words) == (1, True)
        (folder.path / name).write_bytes(before)
    assert said(capsys, "verify", path)[0] == 0


@pytest.mark.parametrize(
    ("name", "old", "new"), [("runs.csv", ",1", ",2"), ("answer.json", '"failed": 0', '"failed": 1')]
)
def test_what_the_rows_do_not_give_is_found_whatever_the_hashes_say(folder, capsys, name, old, new):
    whole = (folder.path / name).read_text()
    assert old in whole
    (folder.path / name).write_text(whole.replace(old, new, 1))
    events = read(folder.transcript)[:-1]
    folder.transcript.write_bytes(b"".join(map(line, events)))
    append_end(Transcript.open(folder.transcript), folder, BudgetClock())
    assert said(capsys, "verify", str(folder.path))[0] == 0
    status, words = said(capsys, "verify", "--recompute", str(folder.path))
    assert status == 1 and f"{name}" in words and "is not what the log gives" in words


def test_an_ended_one_is_answered_again_and_its_record_goes_on(folder, capsys):
    table = (folder.path / "runs.csv").read_bytes()
    before = folder.transcript.read_bytes()
    assert said(capsys, "resume", str(folder.path))[0] == 0
    assert folder.transcript.read_bytes().startswith(before)
    assert (folder.path / "runs.csv").read_bytes() == table
    assert [event.body.kind for event in read(folder.transcript)] == ["experiment_start", "verdict", "run_end"] * 2
    assert (
        said(capsys, "verify", str(folder.path))[0] == said(capsys, "verify", "--recompute", str(folder.path))[0] == 0
    )


def test_a_damaged_request_is_told_in_a_sentence(folder, capsys):
    (folder.path / "experiment.json").write_text("{")
    assert main(["resume", str(folder.path)]) == 1
    assert "experiment.json is damaged, so it cannot go on: begin a new one." in capsys.readouterr().err


def test_the_chat_shows_its_table(folder, vgo):
    done = vgo("chat", "--plain", str(folder.path))
    assert done.returncode == 0 and " runs of outcome (lower is better): median " in done.stdout, (
        done.stdout + done.stderr
    )
