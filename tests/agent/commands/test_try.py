"""try: one mitigation, from its preconditions to the proof that all was put back."""

import json
import os
import pty
import sys
from pathlib import Path

import pytest

from vgo_agent.agent.cli import main
from vgo_agent.knowledge.loader import load

THP = Path("/sys/kernel/mm/transparent_hugepage/enabled")
COMMAND = str(Path(sys.executable).with_name("vgo-agent"))
OBEYS = """
import os, random
spread = 0.3 if os.environ.get("PYTHONHASHSEED") == "0" else 3.0
print("value", 100 + random.SystemRandom().gauss(0, spread))
"""
"""Steadier with PYTHONHASHSEED=0, by decree, so that the outcome does not depend on what the machine does."""
DEAF = """
import random
print("value", 100 + random.SystemRandom().gauss(0, 3.0))
"""
"""Nothing makes it steadier."""
JUDGED = ("--metric", "value ([0-9.]+)", "--unit", "ms")
SMALL = (*JUDGED, "--max-runs", "40", "--budget", "60", "--seed", "3")


def program(folder: Path, text: str) -> list[str]:
    path = folder / "program.py"
    path.write_text(text)
    return [sys.executable, "-S", str(path)]


@pytest.fixture
def answers(capsys, monkeypatch, tmp_path):
    """Run `try` in this process; give exit code, standard output and standard error."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))

    def run(*words: str) -> tuple[int, str, str]:
        code = main(["try", *words])
        return code, *capsys.readouterr()

    return run


def test_what_helps_is_claimed_proved_and_can_be_checked_again(vgo, tmp_path):
    done = vgo("try", "python_hash_seed", *SMALL, "--pairs", "40", "--json", "--", *program(tmp_path, OBEYS))
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert (answer["verdict"], answer["mitigation"], answer["factor"]) == ("mitigated", "python_hash_seed", None)
    assert answer["sd_ratio"]["high"] < 0.5
    assert answer["in_force"] is True
    assert all(check["passed"] for check in answer["checks"]) and answer["checks"]
    assert "PYTHONHASHSEED=0" in answer["command"]
    for command in ("verify", "replay"):
        again = vgo(command, answer["run_dir"], "--json")
        assert json.loads(again.stdout)["ok"] is True, again.stdout


@pytest.mark.parametrize("control", ["plain_nice", "pin_to_cpu", "jemalloc"])
def test_the_negative_controls_are_not_claimed(answers, tmp_path, control):
    code, out, err = answers(control, *SMALL, "--json", "-q", "--", *program(tmp_path, DEAF))
    if code and "is not installed" in err:
        pytest.skip(err.strip())
    assert code == 0, err
    answer = json.loads(out)
    assert answer["verdict"] in {"did not help", "inconclusive"}
    assert answer["in_force"] is True
    assert answer["mitigation"] == control


def test_a_preload_that_does_nothing_is_no_mitigation(answers):
    code, _, err = answers("LD_LIBRARY_PRELOAD", "--", "true")
    assert (code, err.count("\n")) == (1, 1)
    assert not any(
        "LD_LIBRARY_PRELOAD" in (m.apply.environment if m.apply else {}) for m in load().mitigations.values()
    )


def test_a_dry_run_names_every_write_and_touches_nothing(answers, tmp_path):
    before = THP.read_text() if THP.exists() else ""
    code, out, _ = answers("thp_always", "--dry-run", "--json", "--", "true")
    answer = json.loads(out)
    assert code == 0
    if THP.exists():
        assert any(str(THP) in line and "always" in line for line in answer["would"])
    assert any("--allow system" in reason for reason in answer["in_the_way"])
    assert (THP.read_text() if THP.exists() else "") == before
    assert not list(tmp_path.glob("vgo-runs"))


def test_values_of_parameters_reach_the_program(answers):
    _, out, _ = answers("glibc_tcache", "--param", "blocks=32", "--dry-run", "--json", "--", "true")
    assert "glibc.malloc.tcache_count=32" in json.loads(out)["command"]


@pytest.mark.skipif(os.getuid() != 0 or not os.access(THP, os.W_OK), reason=f"writing {THP} needs root and the file")
def test_a_setting_of_the_system_is_in_force_for_its_runs_and_put_back(answers, tmp_path):
    before = THP.read_text()
    if "[always]" in before:
        pytest.skip("it is always already: nothing would change")
    words = ("--allow", "system", *SMALL, "--pairs", "10", "--json", "-q")
    code, out, err = answers("thp_always", *words, "--", *program(tmp_path, DEAF))
    assert code == 0, err
    answer = json.loads(out)
    assert {1} <= {check["level"] for check in answer["checks"] if check["passed"]}
    assert THP.read_text() == before


def at_a_terminal(words: list[str], said: str) -> tuple[int, str]:
    """Run the installed command at a pseudo-terminal, and answer each question with the same words."""
    child, terminal = pty.fork()
    if child == 0:
        os.environ["TERM"] = "dumb"
        os.execv(words[0], words)
    told, answered = b"", 0
    while True:
        try:
            told += os.read(terminal, 4096)
        except OSError:  # the child has closed it
            break
        if told.count(b"skip, or stop: ") > answered:
            answered += 1
            os.write(terminal, said.encode() + b"\n")
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), told.decode()


def test_what_a_person_does_is_waited_for_and_compared_as_two_series(monkeypatch, tmp_path, answers):
    monkeypatch.chdir(tmp_path)
    command = program(tmp_path, OBEYS)
    code, told = at_a_terminal([COMMAND, "try", "fix_the_work", *SMALL, "--", *command], "maybe\nskip")
    assert code == 0, told
    assert "1. Fix the seed" in told
    assert told.count("skip, or stop: ") >= 2, "what is no answer is asked again"
    assert "INCONCLUSIVE" in told
    (earlier,) = (tmp_path / "vgo-runs").iterdir()

    program(tmp_path, OBEYS.replace("3.0", "0.3"))
    code, out, err = answers("fix_the_work", "--after", str(earlier), *SMALL, "--json", "--", *command)
    assert code == 0, err
    answer = json.loads(out)
    assert (answer["verdict"], answer["after"]) == ("steadier afterwards", earlier.name)
    assert "not interleaved" in answer["reason"] and "not interleaved" in err
    for check in ("verify", "replay"):
        assert main([check, answer["run_dir"]]) == 0


def test_without_a_terminal_the_steps_are_only_listed(answers, tmp_path):
    code, out, err = answers("isolate_cores", "--", "true")
    assert code == 1
    assert "  1. " in out
    assert "nobody sits at a terminal" in err
    assert not (tmp_path / "vgo-runs").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["glibc_hugetlb"], "No command was given"),
        (["glibc_hugetlb", "--"], "No command was given"),
        (["glibc_hugetlb", "--pairs", "3", "--", "true"], "--pairs 3 cannot show anything"),
        (["glibc_hugetlb", "--param", "x", "--", "true"], "is not name=value"),
        (["glibc_hugetlb", "--param", "x=1", "--", "true"], "has no parameter 'x'; it has none"),
        (["glibc_tcache", "--param", "blocks=many", "--", "true"], "many is no value for blocks"),
        (["glibc_tcache", "--param", "blocks=1;rm", "--", "true"], "is no value for blocks"),
        (["glibc_tcache", "--param", "blocks=1", "--param", "blocks=2", "true"], "given twice"),
        (["thp_always", "--", "true"], "--allow system"),
        (["glibc_hugetlb", "--allow", "none", "--", "true"], "--allow none forbids"),
        (["glibc_hugetlb", "--after", "nowhere", "--", "true"], "not the folder of a run"),
        (["python_hash_seed", "--", "true"], "runs no Python"),
        (["nothing_like_it", "--", "true"], "There is no mitigation"),
    ],
)
def test_what_cannot_be_tried_is_refused_before_the_first_run(answers, tmp_path, words, said):
    code, out, err = answers(*words)
    assert (code, out) == (1, "")
    assert said in err
    assert len(err.strip().splitlines()) == 1
    assert not (tmp_path / "vgo-runs").exists()


def test_options_may_stand_on_both_sides_of_the_mitigation(answers):
    _, before, _ = answers("--json", "--dry-run", "glibc_tcache", "--param", "blocks=32", "true", "--json")
    _, after, _ = answers("glibc_tcache", "--param=blocks=32", "--dry-run", "--json", "--", "true", "--json")
    assert json.loads(before) == json.loads(after)
    assert json.loads(after)["command"].endswith("true --json")
