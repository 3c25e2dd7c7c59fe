"""mitigations: what exists, what applies here, why not, and what each would change."""

import json
from functools import partial

import pytest

from vgo_agent.knowledge.loader import load

HERE = {"yes", "on", "ask", "you", "no"}


@pytest.fixture
def answers(called_here):
    return partial(called_here, "mitigations")


def listed(answers, *words):
    code, out, err = answers("--json", *words)
    assert code == 0, err
    return json.loads(out)["mitigations"]


def test_every_mitigation_is_listed_with_where_it_stands(answers):
    found = listed(answers)
    assert {one["mitigation"] for one in found} == set(load().mitigations)
    assert {one["here"] for one in found} <= HERE
    for one in found:
        assert one["why_not"] or one["here"] != "no", one["mitigation"]


@pytest.mark.parametrize("word", ["page_faults", "minor_faults", "Minor page faults", "PAGE-FAULTS"])
def test_a_factor_is_found_by_key_column_and_name_and_keeps_its_order(answers, word):
    keys = [one["mitigation"] for one in listed(answers, "--factor", word)]
    assert keys == list(load().factors["page_faults"].mitigations)


def test_scope_chooses(answers):
    assert {one["scope"] for one in listed(answers, "--scope", "reboot")} == {"reboot"}


def test_an_option_counts_after_a_name_too(answers):
    (one,) = listed(answers, "thp_always", "--scope", "system")
    assert one["mitigation"] == "thp_always"
    assert listed(answers, "thp_always", "--scope", "process") == []


def test_a_parameter_is_shown_with_its_levels_here(answers):
    (one,) = listed(answers, "glibc_tcache")
    (parameter,) = one["parameters"]
    assert parameter["levels_here"] == ["0", "32", "127", "1000"]
    assert one["interleavable"] is True
    assert any("GLIBC_TUNABLES" in line for line in one["would"])


def test_a_write_is_shown_with_its_file_and_its_value(answers):
    (one,) = listed(answers, "thp_always")
    assert one["scope"] == "system"
    assert one["here"] in {"ask", "on", "no"}
    if one["here"] != "no":
        assert "/sys/kernel/mm/transparent_hugepage/enabled" in one["would"][0]


def test_a_command_decides_what_depends_on_the_program(answers):
    (without,) = listed(answers, "python_hash_seed")
    assert (without["here"], without["only_for"]) == ("yes", ["runs in Python"])
    (with_it,) = listed(answers, "python_hash_seed", "--", "/bin/true")
    assert with_it["here"] == "no"
    assert "Python" in with_it["why_not"][0]


@pytest.mark.parametrize("width", [30, 50, 80, 140])
def test_the_list_fits_the_terminal(answers, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    _, out, _ = answers("--factor", "page_faults")
    lines = out.partition("What does not apply")[0].splitlines()[1:]
    assert max(map(len, lines)) <= max(width, 45)
    assert "glibc_malloc_thresholds" in out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["glibc_huge"], "did you mean glibc_hugetlb"),
        (["sched_fif0"], "did you mean sched_fifo"),
        ([""], "There is no mitigation ''"),
        (["--factor", "page_fault"], "did you mean page_faults"),
        (["--factor", "cheese"], "is no factor"),
        (["--factor", ""], "is no factor"),
        (["../../etc/passwd"], "There is no mitigation"),
        (["thp_always", "--", "no-such-program-xyz"], "no-such-program-xyz"),
        (["--root", "/nowhere"], "/nowhere"),
    ],
)
def test_what_is_not_understood_is_refused_in_one_line(answers, words, said):
    code, out, err = answers(*words)
    assert code == 1
    assert said in err
    assert len(err.strip().splitlines()) == 1
    assert not out


def test_scope_and_factor_without_a_common_mitigation_say_so(answers):
    code, out, _ = answers("--factor", "page_faults", "--scope", "hardware")
    assert code == 0
    assert "No mitigation is both" in out


def test_a_file_of_the_user_that_is_not_trusted_says_so(answers, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    texts = ("name: Mine", "description: d", "scope: process", "when: w", "hurts: h", 'apply: {environment: {MY: "1"}}')
    own = tmp_path / "mine.yaml"
    own.write_text("\n".join(("key: mine", *texts, "")))
    (before,) = listed(answers, "./mine.yaml")
    assert before["here"] == "untrusted"
    assert "is not trusted on this machine, and it would run or set: MY=1" in before["why_not"][0]
    assert answers("--trust", "./mine.yaml")[0] == 0
    (after,) = listed(answers, "./mine.yaml")
    assert (after["here"], after["why_not"]) == ("yes", [])
