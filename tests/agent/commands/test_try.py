"""try: one mitigation, from its preconditions to the proof that all was put back."""

import csv
import io
import itertools
import json
import os
import pty
import re
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from vgo_agent.agent.cli import main
from vgo_agent.knowledge.loader import load
from vgo_agent.layers.reading import store

from .counting import program

THP = Path("/sys/kernel/mm/transparent_hugepage/enabled")
STAT_INTERVAL = Path("/proc/sys/vm/stat_interval")
COMMAND = str(Path(sys.executable).with_name("vgo-agent"))
OBEYS = """\
#!/bin/sh
read n < count
n=$((n + 1))
echo $n > count
v=$(((n * n * 31 + n * 7919) % 101))
[ "$MALLOC_TOP_PAD_$STEADY" ] && v=$((v / 10))
i=0
while [ $i -lt 2000 ]; do i=$((i + 1)); done
echo "value $((1000 + v))"
"""
"""Steadier with a variable, by decree and by count, so that the outcome does not depend on what the machine does."""
DEAF = OBEYS.replace("$MALLOC_TOP_PAD_$STEADY", "")
"""Nothing makes it steadier."""
SAMPLES = OBEYS.replace('echo "value', 'echo ms\necho $v\necho $((v + 1))\necho $((v + 2))\n: "')
"""Three samples a run, which share its level."""
JUDGED = ("--metric", "value ([0-9.]+)", "--unit", "ms")
LIMITS = ("--max-runs", "40", "--budget", "900", "--seed", "3")
SMALL = (*JUDGED, *LIMITS)
BLOCKS = """\
key: in_blocks
name: A variable, in blocks
description: Sets a variable that the program obeys, and a knob that it does not notice.
scope: process
when: In this test.
hurts: Nothing.
interleavable: false
apply: {environment: {STEADY: "1"}}
"""


Ran = tuple[int, str, str]


def called(*words: str) -> Ran:
    """Run a command in this process; give exit code, standard output and standard error."""
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
        code = main(list(words))
    return code, out.getvalue(), err.getvalue()


@pytest.fixture(scope="module")
def somewhere(tmp_path_factory):
    """Go into a folder of its own for the time of a module-scoped run, with no settings file and nothing trusted."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("config")))
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))

        def go(name: str) -> Path:
            folder: Path = tmp_path_factory.mktemp(name)
            patch.chdir(folder)
            return folder

        yield go


@pytest.fixture
def answers(somewhere, monkeypatch, tmp_path):
    """Run `try` in this process, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return lambda *words: called("try", *words)


@pytest.fixture(scope="module")
def helped(somewhere) -> dict[str, Any]:
    """What helps, tried once."""
    command = program(somewhere("helped"), OBEYS)
    code, out, err = called("try", "glibc_malloc_thresholds", *SMALL, "--pairs", "40", "--json", "-q", "--", *command)
    assert code == 0, err
    found: dict[str, Any] = json.loads(out)
    return found


def test_what_helps_is_claimed_and_proved(helped):
    assert (helped["verdict"]["remedy"]["kind"], helped["mitigation"]) == ("confirmed", "glibc_malloc_thresholds")
    assert helped["verdict"]["cause"]["kind"] == "not sought"
    assert helped["verdict"]["remedy"]["sd"]["high"] < 0.5
    assert helped["in_force"] is True
    assert all(check["passed"] for check in helped["checks"]) and helped["checks"]
    assert "MALLOC_TOP_PAD_=67108864" in helped["verdict"]["remedy"]["command"]


def test_what_was_claimed_can_be_checked_again(helped):
    for check in (("verify",), ("verify", "--recompute")):
        code, out, err = called(*check, helped["run_dir"], "--json")
        assert (code, json.loads(out)["ok"]) == (0, True), out + err


@pytest.fixture(scope="module")
def in_blocks(somewhere) -> dict[str, Any]:
    """A mitigation of the user's own that is switched in blocks, with a real knob where this may write one."""
    folder = somewhere("in_blocks")
    text = BLOCKS
    if os.access(STAT_INTERVAL, os.W_OK):
        other = int(STAT_INTERVAL.read_text()) + 1
        write = f"write: [{{path: {STAT_INTERVAL}, value: '{other}'}}], environment"
        text = text.replace("scope: process", "scope: system\napplies: {root: true}").replace("environment", write, 1)
    (folder / "in_blocks.yaml").write_text(text)
    command, before = program(folder, OBEYS), STAT_INTERVAL.read_text()
    words = ("try", "./in_blocks.yaml", "--allow", "system", *SMALL, "--pairs", "40", "-q")
    refused = called(*words, "--", *command)
    begun = (folder / "vgo-runs").exists()
    trusted = called("mitigations", "--trust", "in_blocks.yaml")
    code, out, err = called(*words, "--json", "--", *command)
    assert code == 0, err
    after = STAT_INTERVAL.read_text()
    return {**json.loads(out), "refused": refused, "begun": begun, "trusted": trusted, "knob": (before, after)}


def test_a_file_of_the_user_runs_nothing_until_it_is_trusted(in_blocks):
    code, out, err = in_blocks["refused"]
    assert (code, out, in_blocks["begun"]) == (1, "", False)
    assert "is not trusted" in err and "STEADY=1" in err and "vgo-agent mitigations --trust" in err
    code, out, _ = in_blocks["trusted"]
    assert code == 0 and "STEADY=1" in out and str(store()) in out


def test_what_cannot_be_switched_between_runs_takes_turns_in_blocks(in_blocks):
    with (Path(in_blocks["run_dir"]) / "runs.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["batch"] == "1"]
    turns = [(condition, len(list(own))) for condition, own in itertools.groupby(row["condition"] for row in rows)]
    assert {length for _, length in turns} <= {2, 4}, "a block is two pairs, and two blocks of one arm may meet"
    assert sum(length for condition, length in turns if condition == "in_blocks") == 40


def test_blocks_are_judged_proved_put_back_and_checked_again(in_blocks):
    assert (in_blocks["verdict"]["remedy"]["kind"], in_blocks["in_force"]) == ("confirmed", True)
    assert in_blocks["verdict"]["remedy"]["sd"]["high"] < 0.5
    assert "turns in blocks of 2" in " ".join(in_blocks["comparison"]["described"]["notes"])
    before, after = in_blocks["knob"]
    assert after == before
    if os.access(STAT_INTERVAL, os.W_OK):
        assert {check["level"] for check in in_blocks["checks"]} == {1, 2}
    assert called("verify", "--recompute", in_blocks["run_dir"])[0] == 0


def test_a_trusted_file_that_changes_is_no_longer_trusted(answers, tmp_path):
    own = tmp_path / "in_blocks.yaml"
    own.write_text(BLOCKS)
    assert called("mitigations", "--trust", str(own))[0] == 0
    own.write_text(BLOCKS.replace('"1"', '"2"'))
    code, _, err = answers(str(own), "--", *program(tmp_path, OBEYS))
    assert code == 1 and "is not trusted" in err


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("in_blocks", "thp_always"), "Give the key and the file another name"),
        (("apply: {", "apply: {write: [{path: /etc/passwd, value: x}], "), "apply.write names /etc/passwd"),
        (("apply: {", "apply: {hold: [{path: /dev/cpu_dma_latency, int32: 0}], "), "needs scope system"),
        (("key:", "kee:"), "is not a known key"),
        (("scope: process", "scope: process\nscope: process"), "stands twice"),
        (('{STEADY: "1"}', '{STEADY: "{level}"}'), "is no parameter"),
    ],
)
def test_a_file_that_is_not_sound_is_refused_with_the_cure(answers, tmp_path, change, said):
    text = BLOCKS.replace(*change)
    own = tmp_path / f"{'thp_always' if 'key: thp_always' in text else 'in_blocks'}.yaml"
    own.write_text(text)
    code, out, err = answers(str(own), "--", "true")
    assert (code, out) == (1, "")
    assert said in err and str(own) in err and len(err.strip().splitlines()) == 1


@pytest.mark.cells(1)
@pytest.mark.parametrize("control", ["plain_nice", "pin_to_cpu", "jemalloc"])
def test_the_negative_controls_are_not_claimed(answers, tmp_path, control):
    words = (*SMALL, "--pairs", "20", "--json", "-q")
    code, out, err = answers(control, *words, "--", *program(tmp_path, DEAF))
    if code and "is not installed" in err:
        pytest.skip(err.strip())
    assert code == 0, err
    answer = json.loads(out)
    assert answer["verdict"]["remedy"]["kind"] in {"refuted", "undecided"}
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


Said = str | Callable[[], str]


def at_a_terminal(words: list[str], *said: Said) -> tuple[int, str]:
    """Run the installed command at a pseudo-terminal; answer each question in turn, and the last way from then on."""
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
        if told.count(b"a question about it: ") > answered:
            answer = said[min(answered, len(said) - 1)]
            answered += 1
            os.write(terminal, (answer if isinstance(answer, str) else answer()).encode() + b"\n")
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), told.decode()


@pytest.mark.slow
def test_what_a_person_does_is_waited_for_and_compared_by_whole_runs(answers, tmp_path):
    words = ["--per-iteration", "csv", "--metric", "ms", *LIMITS]
    command = program(tmp_path, SAMPLES)
    code, told = at_a_terminal([COMMAND, "try", "fix_the_work", *words, "--", *command], "maybe", "skip")
    assert code == 0, told
    assert "1. Fix the seed" in told
    assert told.count("a question about it: ") == 2, "what is no answer is asked again"
    assert "REMEDY NOT TRIED" in told
    (earlier,) = (tmp_path / "vgo-runs").iterdir()

    program(tmp_path, SAMPLES.replace("% 101", "% 11"))
    code, out, err = answers("fix_the_work", "--after", str(earlier), *words, "--json", "--", *command)
    assert code == 0, err
    answer = json.loads(out)
    assert (answer["verdict"]["remedy"]["kind"], answer["after"]) == ("observed", earlier.name)
    assert "not interleaved" in answer["headline"] and "not interleaved" in err
    comparison = answer["comparison"]["described"]
    assert "Each run gave 3 samples" in " ".join(comparison["notes"])
    assert comparison["block"] % 3 == 0
    for check in (("verify",), ("verify", "--recompute")):
        assert called(*check, answer["run_dir"])[0] == 0


FAULTS = """
import random
with open(__file__ + ".runs", "ab") as runs:
    runs.write(b".")
    draw = random.Random(runs.tell())
large = draw.random() < 0.35
block = b"x" * ((16 << 20) if large else (1 << 20))
print("value", 100 + 50 * large + draw.gauss(0, 1))
"""
"""Goes with page faults by decree, whatever is done about them; the same in every sequence of runs."""


@pytest.mark.slow
def test_what_a_person_may_do_is_offered_after_the_answer_of_a_diagnosis(answers, tmp_path):
    path = tmp_path / "faults.py"
    path.write_text(FAULTS)
    command = [sys.executable, "-IS", str(path)]

    def steadied() -> str:
        path.write_text(FAULTS.replace("< 0.35", "< 0"))
        return "done"

    words = (*JUDGED, "--max-mitigations", "1", *LIMITS, "--", *command)
    code, told = at_a_terminal([COMMAND, "diagnose", *words], steadied)
    assert code == 0, told
    ended = re.search("REMEDY (REFUTED|UNDECIDED)", told)  # by how many pairs were paid for
    report, question = (told.find(word) for word in ("report.html", "a question about it"))
    answer = ended.start() if ended else -1
    assert 0 < answer < report < question, told
    assert "try code_preallocate --after" in told, "how to do it later is said"
    assert told.count("a question about it: ") == 1
    assert told.find("REMEDY OBSERVED") > question, told
    assert len(list((tmp_path / "vgo-runs").iterdir())) == 2


def test_without_a_terminal_the_steps_are_only_listed(answers, tmp_path):
    code, out, err = answers("isolate_cores", "--", "true")
    assert code == 1
    assert "  1. " in out
    assert "nobody sits at a terminal" in err
    assert not (tmp_path / "vgo-runs").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nothing.yaml", "--", "true"], "There is no file nothing.yaml"),
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
