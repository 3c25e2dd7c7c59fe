"""try --search: levels in rounds, the worse ones dropped, the best one confirmed."""

import json
import os
from functools import partial
from pathlib import Path

import pytest

from vgo_agent.agent.cli import main
from vgo_agent.agent.commands.mitigation_arguments import levels_meant
from vgo_agent.agent.conduct import finished_run
from vgo_agent.agent.report.diagnosis import text
from vgo_agent.agent.run_folder import RunFolder
from vgo_agent.agent.transcript import Transcript, read
from vgo_agent.knowledge.errors import VgoError
from vgo_agent.knowledge.loader import load
from vgo_agent.tools.experiment.race import looks
from vgo_agent.tools.machine import Machine

from .counting import program

OBEYS = """\
#!/bin/sh
read n < count
n=$((n + 1))
echo $n > count
case "$GLIBC_TUNABLES" in *=1) s=400 ;; *=2) s=13 ;; *=3) s=300 ;; *) s=100 ;; esac
i=0
while [ $i -lt 2000 ]; do i=$((i + 1)); done
echo "value $((100000 + (n * n * 31 + n * 7919) % 101 * s))"
"""
"""Its spread depends on the level by decree and by count: 2 is best, 1 and 3 are worse than nothing."""
DEAF = OBEYS.replace("GLIBC_TUNABLES", "NOTHING")
SMALL = ("--metric", "value ([0-9.]+)", "--unit", "ms", "--max-runs", "40", "--budget", "900", "--seed", "5")


@pytest.fixture
def answers(called_here):
    return partial(called_here, "try")


def test_the_best_level_is_found_confirmed_and_can_be_checked_again(answers, tmp_path):
    words = ("glibc_tcache", "--search", "blocks=1..3", *SMALL, "--json", "-q")
    code, out, err = answers(*words, "--", *program(tmp_path, OBEYS))
    assert code == 0, err
    answer = json.loads(out)
    assert (answer["verdict"]["remedy"]["kind"], answer["values"]) == ("confirmed", {"blocks": "2"})
    assert answer["verdict"]["remedy"]["sd"]["high"] < 0.5
    screened = {level["level"]: level for level in answer["screening"]["levels"]}
    assert screened["2"]["dropped"] == ""
    assert all("clearly worse" in screened[level]["dropped"] for level in "13")
    assert answer["screening"]["rounds"] == 20, "one is left and better: no more rounds are needed"
    assert "tcache_count=2" in answer["verdict"]["remedy"]["command"]
    run = Path(answer["run_dir"])
    folder = RunFolder(run)
    assert "Levels of" in (run / "report.md").read_text() and "Levels of" in (run / "report.html").read_text()
    assert "Levels of `blocks`\nLEVEL" in text(finished_run(folder, Transcript(None, read(folder.transcript)), load()))
    for check in (("verify",), ("verify", "--recompute")):
        assert main([*check, str(run)]) == 0


def test_where_no_level_matters_none_is_claimed(answers, tmp_path):
    words = ("glibc_tcache", "--search", "blocks=1,2", *SMALL, "--pairs", "20", "-q")
    code, out, err = answers(*words, "--json", "--", *program(tmp_path, DEAF))
    assert code == 0, err
    assert json.loads(out)["verdict"]["remedy"]["kind"] in {"refuted", "undecided"}


@pytest.mark.parametrize(("spread", "kind"), [(105, "undecided"), (400, "refuted")])
def test_a_level_is_refuted_only_where_its_claim_leaves_no_help_open(answers, tmp_path, spread, kind):
    words = ("glibc_tcache", "--search", "blocks=1", *SMALL, "--pairs", "10", "-q")
    code, out, err = answers(*words, "--json", "--", *program(tmp_path, OBEYS.replace("s=400", f"s={spread}")))
    assert code == 0, err
    remedy = json.loads(out)["verdict"]["remedy"]
    assert remedy["kind"] == kind
    (trial,) = remedy["undecided" if kind == "undecided" else "trials"]
    assert trial["values"] == {"blocks": "1"} and (trial["claim"]["low"] > 0.66) == (kind == "refuted")


def test_of_levels_that_all_harm_the_nearest_is_named(answers, tmp_path):
    words = ("glibc_tcache", "--search", "blocks=1,3", *SMALL, "--pairs", "20", "-q")
    code, out, err = answers(*words, "--json", "--", *program(tmp_path, OBEYS))
    assert code == 0, err
    (trial,) = json.loads(out)["verdict"]["remedy"]["trials"]
    assert trial["refuted_by"].startswith("has no level of blocks that helps (the nearest, 3, has the spread ratio ")


def test_a_dry_run_shows_each_level_and_runs_nothing(answers, tmp_path):
    words = ("glibc_tcache", "--search", "blocks", "--dry-run", "--json", "--", "true")
    code, out, _ = answers(*words)
    levels = json.loads(out)["levels"]
    assert code == 0
    assert list(levels) == ["0", "32", "127", "1000"]
    assert all(any(f"tcache_count={level}" in line for line in would) for level, would in levels.items())
    assert not (tmp_path / "vgo-runs").exists()


@pytest.mark.parametrize(
    ("word", "levels"),
    [
        ("blocks=1..4", ("1", "2", "3", "4")),
        ("blocks=1..9:4", ("1", "5", "9")),
        ("blocks=8,1,8", ("8", "1")),
        ("blocks=1..n-1", ("1", "2", "3")),
        ("blocks=cpus/2..n", ("2", "3", "4")),
    ],
)
def test_a_range_is_what_it_says(word, levels):
    found = levels_meant(word, load().mitigations["glibc_tcache"], Machine(cpus=(0, 1, 2, 3)))
    assert found == ("blocks", levels, ())


@pytest.mark.parametrize("word", ["cores=1..n", "cores=1..cpus", "cores=1..n:1"])
def test_all_cpus_are_brought_within_what_the_machine_allows(word):
    found = levels_meant(word, load().mitigations["reserve_cores"], Machine(cpus=(0, 1, 2, 3)))
    assert found.levels == ("1", "2", "3")
    (said,) = found.clipped
    assert said.endswith("is 4 on this machine, and cores is at most 3: up to 3 is tried")


@pytest.mark.parametrize(
    ("key", "word", "said"),
    [
        ("reserve_cores", "cores=1..4", "4 is no value for cores of reserve_cores: it is from 1 to 3 CPUs here"),
        ("reserve_cores", "cores=1..999999999999", "999999999999 is no value for cores"),
        ("reserve_cores", "cores=n", "4 is no value for cores"),
        ("raise_cpu_quota", "quota=1000..999999999999", "has 999999999000 levels; name at most 32"),
        ("reserve_cores", "cores=2..n-3", "has no level on this machine, where n is 4"),
    ],
)
def test_a_number_beyond_the_bound_is_refused_for_that(key, word, said):
    with pytest.raises(VgoError) as refused:
        levels_meant(word, load().mitigations[key], Machine(cpus=(0, 1, 2, 3)))
    assert said in str(refused.value)


def test_large_numbers_of_a_range_keep_all_their_digits():
    known = load().mitigations["raise_memory_limit"]
    found = levels_meant("bytes=2147483648..4294967296:1073741824", known, Machine())
    assert found.levels == ("2147483648", "3221225472", "4294967296")


def test_what_was_brought_within_is_told(answers):
    words = ("reserve_cores", "--search", "cores=1..n", "--dry-run", "--", "true")
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("one CPU only: none can be reserved")
    code, out, _ = answers(*words)
    assert code == 0
    assert "cores is at most" in out.splitlines()[0]


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("", "has no parameter ''"),
        ("cheese=1", "has no parameter 'cheese'; it has blocks"),
        ("blocks=", "names no level"),
        ("blocks=4..1", "runs backwards"),
        ("blocks=a..b", "is no range of numbers"),
        ("blocks=1..", "is no value"),
        ("blocks=1,,2", "has an empty level"),
        ("blocks=1..9:0", "has no usable step"),
        ("blocks=1..99", "99 levels"),
        ("blocks=70000", "70000 is no value for blocks"),
        ("blocks=nan", "nan is no value"),
        ("blocks=1..1e99", "is no range"),
    ],
)
def test_a_range_that_makes_no_sense_is_refused(word, said):
    with pytest.raises(VgoError) as refused:
        levels_meant(word, load().mitigations["glibc_tcache"], Machine(cpus=(0, 1, 2, 3)))
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["glibc_hugetlb", "--search", "x=1..2", "--", "true"], "has no parameter 'x'"),
        (["fix_the_work", "--search", "x=1..2", "--", "true"], "is for a person to do, so nothing can be searched"),
        (["glibc_tcache", "--search", "blocks=1..2"], "No command was given"),
        (["glibc_tcache", "--search", "blocks=1", "--pairs", "1", "true"], "--pairs 1 cannot"),
        (["glibc_tcache", "--search", "blocks=1,2", "--param", "blocks=3", "true"], "holds it fixed"),
    ],
)
def test_what_cannot_be_searched_is_refused_before_the_first_run(answers, tmp_path, words, said):
    code, out, err = answers(*words)
    assert (code, out) == (1, "")
    assert said in err
    assert not (tmp_path / "vgo-runs").exists()


def test_looks_double_and_end_with_the_last_round():
    assert [looks(rounds) for rounds in (10, 20, 40, 100)] == [(10,), (20,), (20, 40), (20, 40, 80, 100)]


def test_what_does_not_apply_is_not_answered_with_more_runs(answers, tmp_path):
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("one CPU: no core can be reserved")
    words = ("reserve_cores", "--search", "cores=1", *SMALL, "-q")
    code, out, err = answers(*words, "--", *program(tmp_path, DEAF))
    said = " ".join(out.split())
    assert code == 0, err
    assert "reserve_cores does not apply here" in said and "says what applies here" in said
    assert "--budget" not in said
