"""Bad input gets one sentence with the cure, exit 1, no traceback, and nothing is lost."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from vgo_agent.agent.cli import main

SHORT = ("--max-runs", "40", "--budget", "900")
"""A budget that no machine is too busy for."""


def one_sentence(done: subprocess.CompletedProcess[str], *words: str) -> None:
    """Exit 1, one line on stderr that is ours, and the words in it."""
    assert done.returncode == 1, done.stderr
    ours = [line for line in done.stderr.splitlines() if line.startswith("vgo-agent:")]
    assert len(ours) == 1, done.stderr
    assert "Traceback" not in done.stderr
    for word in words:
        assert word in ours[0]


def test_a_missing_file(vgo):
    one_sentence(vgo("diagnose", "./nothing-here"), "./nothing-here")


def test_a_command_that_is_not_on_path(vgo):
    one_sentence(vgo("diagnose", "no-such-program-anywhere"), "no-such-program-anywhere")


def test_a_file_that_is_not_executable(vgo, tmp_path):
    (tmp_path / "bench.sh").write_text("#!/bin/sh\n")
    one_sentence(vgo("diagnose", "./bench.sh"), "chmod +x")


def test_a_script_whose_interpreter_is_absent(vgo, tmp_path):
    (tmp_path / "bench").write_text("#!/no/such/interpreter\n")
    (tmp_path / "bench").chmod(0o755)
    one_sentence(vgo("diagnose", "./bench"), "/no/such/interpreter")


def test_a_program_that_fails_at_once_says_what_it_said(vgo, script):
    program = script("fails.py", "import sys\nsys.stderr.write('no input file\\n')\nsys.exit(3)\n")
    one_sentence(vgo("diagnose", str(program)), "exited with 3", "no input file")


def test_a_program_that_crashes_is_named_by_its_signal(vgo, script):
    one_sentence(vgo("diagnose", str(script("dies.py", "import os\nos.kill(os.getpid(), 11)\n"))), "signal 11")


TURN = """
import os, sys
turns = os.open(__file__ + ".turns", os.O_CREAT | os.O_APPEND | os.O_WRONLY)
os.write(turns, b".")
turn = os.fstat(turns).st_size
"""
"""Counts the runs of a program, so that it misbehaves as often in every test."""
FLAKY = TURN + "sys.exit(turn % 8 == 0)\n"


def test_a_program_that_fails_now_and_then_stops_the_diagnosis_where_that_is_asked_for(vgo, script):
    one_sentence(vgo("diagnose", *SHORT, "--on-failure", "stop", str(script("flaky.py", FLAKY))), "exited with 1")


def test_failing_runs_are_counted_told_and_kept_in_the_table(vgo, script):
    options = (*SHORT, "--max-runs", "60", "--max-mitigations", "0", "--allow", "none", "--json")
    done = vgo("diagnose", *options, str(script("flaky.py", FLAKY)))
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    (failures,) = said["failures"]
    assert failures["reason"].startswith("exit 1") and failures["runs"] >= 3
    assert any("failed and count" in one and " x exit 1" in one for one in said["warnings"])
    rows = (Path(said["run_dir"]) / "runs.csv").read_text().splitlines()
    place = rows[0].split(",").index("ok")
    assert {row.split(",")[place] for row in rows[1:]} == {"0", "1"}


def test_a_program_that_mostly_fails_is_refused(vgo, script):
    program = script("mostly.py", TURN + "sys.exit(turn % 10 != 1)\n")
    one_sentence(vgo("diagnose", *SHORT, str(program)), "run it by hand first")


def test_a_program_that_hangs_is_ended_with_its_children(vgo, script):
    body = "import os, time\nos.fork()\ntime.sleep(1000)\n"
    program = script("hangs.py", body)
    one_sentence(vgo("diagnose", "--timeout", "0.3", str(program)), "--timeout")
    assert not running(str(program))


def running(name: str) -> list[str]:
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    return [line for line in listed.splitlines() if name in line]


def test_binary_garbage_is_no_metric_and_does_not_reach_the_terminal(vgo, script):
    program = script("garbage.py", "import os, sys\nsys.stdout.buffer.write(b'\\x1b[2J\\x00\\xff' + os.urandom(999))\n")
    done = vgo("diagnose", "--metric", "score ([0-9]+)", str(program))
    one_sentence(done, "--metric")
    assert "\x1b[2J" not in done.stderr and "\x00" not in done.stderr


@pytest.mark.slow
def test_children_that_outlive_the_run_are_ended_and_told(vgo, script):
    body = "import os, time\nif os.fork() == 0:\n    os.setsid()\n    time.sleep(1000)\n"
    program = script("forks.py", body)
    done = vgo("diagnose", *SHORT, "--max-mitigations", "0", "--json", str(program))
    assert done.returncode == 0, done.stderr
    assert not running(str(program))
    report = (Path(json.loads(done.stdout)["run_dir"]) / "report.md").read_text()
    assert "left" in report and "behind" in report


def test_a_program_that_needs_a_terminal(vgo, script):
    program = script("tty.py", "open('/dev/tty').readline()\n")
    assert vgo("diagnose", "--timeout", "5", str(program)).returncode == 1


def test_a_metric_that_never_matches_shows_what_was_printed(vgo, script):
    program = script("prints.py", "print('elapsed 12 ms')\n")
    one_sentence(vgo("diagnose", "--metric", "time ([0-9]+)", str(program)), "elapsed 12 ms", "--metric")


def test_a_metric_that_is_not_finite_is_a_failed_run(vgo, script):
    one_sentence(vgo("diagnose", "--metric", "x (.*)", str(script("nan.py", "print('x nan')\n"))), "nan", "number")


def test_a_command_in_bytes_that_the_locale_cannot_read(vgo):
    one_sentence(vgo("diagnose", "/bin/echo", b"a\xff"), "LC_ALL")


def test_a_layer_that_does_not_exist_is_told_before_the_first_run(vgo, tmp_path):
    one_sentence(vgo("diagnose", "--layer", "foo", "/bin/true"), "foo", "process")
    assert not (tmp_path / "vgo-runs").exists()


def test_few_runs_say_nothing_even_when_more_were_asked_for(vgo):
    # How many count depends on whether the first ones look like a warm-up.
    one_sentence(vgo("diagnose", "--min-runs", "50", "--max-runs", "20", "/bin/true"), "runs count", "at least 30")


def test_a_metric_that_is_no_regular_expression(vgo):
    one_sentence(vgo("diagnose", "--metric", "time ([0-9", "/bin/true"), "--metric")


def test_runs_that_are_all_equal(vgo, script):
    one_sentence(vgo("diagnose", *SHORT, "--metric", "n ([0-9]+)", str(script("same.py", "print('n 5')\n"))), "All")


def test_fewer_runs_than_can_say_anything(vgo):
    one_sentence(vgo("diagnose", "--max-runs", "5", "/bin/true"), "5 runs", "--max-runs")


def test_a_clock_coarser_than_the_spread(vgo, script):
    program = script("coarse.py", TURN + "import random\nprint('s', 10 + (random.Random(turn).random() < 0.25))\n")
    one_sentence(vgo("diagnose", *SHORT, "--metric", "s ([0-9.]+)", str(program)), "clock")


@pytest.mark.slow
@pytest.mark.skipif(os.getuid() != 0, reason="mounting a small tmpfs needs root")
def test_a_full_disk_is_told_and_the_run_goes_on_once_there_is_space(vgo, tmp_path, script):
    small = tmp_path / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", str(small)], check=True)
    try:
        program = script("varies.py", "import os, time\ntime.sleep(os.urandom(1)[0] / 1e5)\n")
        one_sentence(vgo("diagnose", "--out", str(small), "--max-runs", "300", str(program)), "free space")
        subprocess.run(["mount", "-o", "remount,size=64m", str(small)], check=True)
        run = next(small.iterdir())
        done = vgo("resume", str(run), "--json")
        assert done.returncode == 0, done.stderr
        assert vgo("verify", str(run)).returncode == 0
    finally:
        subprocess.run(["umount", str(small)], check=True)


def test_an_output_folder_that_cannot_be_written(vgo, tmp_path):
    (tmp_path / "file").write_text("")
    one_sentence(vgo("diagnose", "--out", str(tmp_path / "file" / "runs"), "/bin/true"), "--out")


@pytest.mark.parametrize("command", [("verify",), ("verify", "--recompute"), ("resume",)])
def test_a_folder_that_is_no_run(vgo, tmp_path, command):
    one_sentence(vgo(*command, str(tmp_path)), "vgo-agent runs")


@pytest.mark.slow
@pytest.mark.skipif(os.getuid() != 0, reason="dropping privileges needs root")
@pytest.mark.skipif(
    not shutil.which("python3", path="/usr/bin:/bin"), reason="needs a python3 in /usr/bin that any user can run"
)
def test_without_permission_a_mitigation_is_refused_with_its_reason_and_the_diagnosis_goes_on():
    body = "import os\nx = b'x' * ((48 << 20) if os.urandom(1)[0] < 90 else (1 << 20))\n"
    command = Path(sys.executable).with_name("vgo-agent")
    anybody = ["setpriv", "--reuid=65534", "--clear-groups", str(command)]
    if subprocess.run([*anybody, "--version"], check=False).returncode != 0:
        pytest.skip("the installed command lies where an unprivileged user cannot read it")
    with tempfile.TemporaryDirectory() as folder:  # each pytest that begins closes the folders of all to others
        place = Path(folder)
        place.chmod(0o777)
        program = place / "faults.py"
        program.write_text(f"#!/usr/bin/env -S {shutil.which('python3', path='/usr/bin:/bin')} -IS\n{body}")
        program.chmod(0o755)
        done = subprocess.run(
            [*anybody, "diagnose", *SHORT, "--json", str(program)],
            cwd=place,
            env=os.environ | {"HOME": folder},
            capture_output=True,
            text=True,
            timeout=500,
        )
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr
        assert "root" in (Path(json.loads(done.stdout)["run_dir"]) / "report.md").read_text()


@pytest.mark.parametrize("words", [("analyze", "--by", "rank"), ("analyze", "--by", "node"), ("resume",), ("sweep",)])
def test_a_name_that_is_too_long_for_a_file_is_one_sentence(capsys, words):
    assert main([*words, "a" * 300]) == 1
    told = capsys.readouterr().err
    assert told.startswith("vgo-agent: ") and told.count("\n") == 1
