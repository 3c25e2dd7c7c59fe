"""Layer files are found by what a user writes, and read whole or refused by file, line and cure."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vgo_agent.knowledge.errors import VgoError
from vgo_agent.knowledge.shape import overlap
from vgo_agent.layers.loader import (
    PROBES,
    check,
    find_layer,
    load_launchers,
    load_layers,
    open_probe,
    split,
)
from vgo_agent.layers.schema import Layer

from ..examples import examples

GOOD = """\
key: small
description: Two counters.
probe: process
columns:
  - {name: vm.pgfault, unit: count, role: factor, scope: machine, description: Faults.}
  - {name: on_cpu_ms, unit: ms, role: consequence, scope: run, description: Time on a CPU.}
"""
WRAPPER = """\
key: around
description: A wrapper.
run: env N=$COUNT $CMD $ARGS
parameters: {count: 3, loud: false, words: ""}
columns:
  - {name: around.calls, unit: count, description: Calls., extract: {regex: "calls=(.*)"}}
"""


@pytest.fixture(autouse=True)
def config(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "layers").mkdir()
    (tmp_path / "layers/small.yaml").write_text(GOOD)
    return tmp_path / "layers"


@pytest.fixture
def around(folder):
    (folder / "around.yaml").write_text(WRAPPER)
    return folder


def test_the_layers_that_ship_have_no_problem():
    assert check() == []
    assert "process" in load_layers()
    assert "local" in load_launchers()


def test_a_layer_is_loaded_by_its_key(folder):
    assert [column.name for column in find_layer("small", folder).columns] == ["vm.pgfault", "on_cpu_ms"]
    assert load_layers(folder) == {"small": find_layer("small", folder)}
    assert check(folder) == []


def test_an_unknown_layer_is_refused_with_the_ones_there_are(folder):
    with pytest.raises(VgoError, match=r"no layer perf; name one of these: small\."):
        find_layer("perf", folder)
    with pytest.raises(VgoError, match=r"no layer file ./perf.yaml: check the path\."):
        find_layer("./perf.yaml", folder)
    with pytest.raises(VgoError, match="names no layer"):
        find_layer("", folder)


def test_a_layer_may_be_a_path(folder, monkeypatch):
    monkeypatch.chdir(folder)
    assert find_layer("small.yaml", folder) == find_layer("./small.yaml", folder) == find_layer("small", folder)


def test_a_user_has_layers_of_their_own_but_no_second_one_of_a_name(folder, tmp_path):
    mine = tmp_path / "config/vgo-agent/layers"
    mine.mkdir(parents=True)
    (mine / "mine.yaml").write_text(
        "key: mine\ndescription: A.\ncolumns:\n  - {name: mine.a, unit: count, description: A., extract: {regex: a}}\n"
    )
    assert find_layer("mine", folder).columns[0].name == "mine.a"
    (mine / "small.yaml").write_text(GOOD)
    with pytest.raises(VgoError, match="two layers small .*: rename yours"):
        find_layer("small", folder)


def test_a_user_cannot_declare_a_column_that_ships(folder, tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(GOOD.replace("key: small", "key: mine"))
    with pytest.raises(
        VgoError,
        match=r"mine.yaml, line 5: columns.0.name: the column vm.pgfault is declared in small.yaml too .*: keep one",
    ):
        find_layer(str(path), folder)


def test_a_probe_that_there_is_not_is_named_with_its_line(folder, tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(GOOD.replace("key: small", "key: mine").replace("probe: process", "probe: nope"))
    with pytest.raises(VgoError, match=r"mine.yaml, line 3: probe: there is no built-in probe nope; name one of proc"):
        find_layer(str(path), folder)


def test_parameters_are_changed_in_the_spec(around):
    assert find_layer("around", around).parameters == {"count": 3, "loud": False, "words": ""}
    layer = find_layer("around:count=4.5,loud=yes,words=-e a,b", around)
    assert layer.parameters == {"count": 4.5, "loud": True, "words": "-e a,b"}
    assert find_layer(f"{around}/around.yaml:words=a:b=c", around).parameters["words"] == "a:b=c"
    assert find_layer("around:words=", around).parameters["words"] == ""


@pytest.mark.parametrize(
    ("spec", "what"),
    [
        ("around:speed=3", "The layer around has no parameter speed: it has count, loud, words."),
        ("small:speed=3", "The layer small has no parameter speed: it has none."),
        ("around:count=many", "around:count=many is no number: write one, such as 3."),
        ("around:loud=maybe", "around:loud=maybe is neither true nor false: write one of them."),
        ("around:fast", "'around:fast' has 'fast' where key=value belongs: write around:key=value."),
    ],
)
def test_a_wrong_parameter_is_refused_with_the_cure(around, spec, what):
    with pytest.raises(VgoError) as refused:
        find_layer(spec, around)
    assert str(refused.value) == what


@given(st.dictionaries(st.from_regex(r"[a-z_][a-z0-9_]{0,5}", fullmatch=True), st.text("ab =:/.$'\n", max_size=8)))
@settings(derandomize=True, deadline=None)
def test_a_spec_is_taken_apart_into_what_it_was_made_of(given_):
    joined = ",".join(f"{name}={text}" for name, text in given_.items())
    for where in ("name", "./a:b/file.yaml"):
        assert split(f"{where}:{joined}") == (where, given_)


@pytest.mark.parametrize(
    ("old", "new", "line", "what"),
    [
        ("key: small", "key: [small", 2, "mend the YAML"),
        ("role: factor", "role: culprit", 5, "columns.0.role"),
        ("unit: ms, ", "", 6, "columns.1.unit: is missing; add it"),
        ("scope: run,", "scope: run, colour: red,", 6, "columns.1.colour: is not a known key; use one of these: name,"),
        ("probe: process", "prob: process", 3, "prob: is not a known key; use one of these: key,"),
        ("name: on_cpu_ms", "name: on cpu", 6, "columns.1.name"),
        ("name: on_cpu_ms", "name: outcome", 6, "every run table has a column outcome; choose another name"),
        ("name: on_cpu_ms", "name: vm.pgfault", 6, "the column vm.pgfault is declared twice; keep one"),
        ("unit: ms,", "unit: ms, unit: s,", 6, "columns.1.unit: the key stands twice; keep one"),
        ("name: on_cpu", "name: a.*.*.on_cpu", 6, "has more than one `*`; keep the one that is filled in"),
        (GOOD, "key: small\ndescription: Nothing.\n", 1, "it collects nothing and changes nothing"),
        ("probe: process", "run: a: b $CMD", 3, "put the text after the key in quotes"),
        ("probe: process", "needs: perf", 3, "needs: is no list; write one, such as [a, b]"),
        ("key: small", "key: other", 1, "its key is other; rename the file or the key"),
        ("probe: process\n", "", 4, "nothing gives the column vm.pgfault; add `extract`, or name a `probe` above"),
        ("probe: process\n", "run: echo $CMD 'a\n", 3, "cannot be split into words"),
        ("probe: process\n", "probe: process\nrun: time -v\n", 4, "does not start the program; put $CMD $ARGS"),
        ("probe: process\n", "probe: process\nrun: a $CMD $SIZE\n", 4, "$SIZE is not declared; declare `size` in"),
        ("probe: process\n", "probe: process\nenvironment:\n  A: $SIZE\n", 5, "environment.A: $SIZE is not declared"),
        ("probe: process\n", "probe: process\nparameters:\n  file: x\n", 5, "$FILE has a meaning of its own"),
        (GOOD, "", 1, "is no mapping; write `key: value` lines below it"),
        (GOOD, "just a word", 1, "is no mapping"),
    ],
)
def test_a_broken_file_is_named_with_the_line(folder, old, new, line, what):
    (folder / "small.yaml").write_text(GOOD.replace(old, new, 1))
    with pytest.raises(VgoError) as refused:
        find_layer("small", folder)
    assert f"{folder}/small.yaml, line {line}:" in str(refused.value)
    assert what in str(refused.value)
    assert str(refused.value) in check(folder)


@pytest.mark.parametrize(
    ("extract", "what"),
    [
        ("{regex: '('}", "the regex ( does not compile"),
        ("{json: '$['}", "the JSONPath $[ does not parse"),
        ("{regex: a, csv: b}", "give exactly one of regex, json, csv and shell"),
        ("{take: last}", "give exactly one of regex, json, csv and shell"),
        ("{regexp: a}", "is not a known key; use one of these: regex, json,"),
        ("{regex: a, take: middle}", "take: is none of those that it may be; write 'last', 'first'"),
        ("{regex: a, from: file}", "it reads a file that nobody writes; use $FILE in `run` or `environment`"),
    ],
)
def test_a_broken_extraction_is_named_with_the_line(around, extract, what):
    path = around / "around.yaml"
    path.write_text(WRAPPER.replace('{regex: "calls=(.*)"}', extract))
    with pytest.raises(VgoError) as refused:
        find_layer("around", around)
    assert f"{path}, line 6: columns.0.extract" in str(refused.value)
    assert what in str(refused.value)


@pytest.mark.parametrize(
    ("name", "extract", "more", "what"),
    [
        ("a.*", "{regex: '(.*)'}", "", "has 1 groups; give it two, the name for `*` and the value"),
        ("a.*", "{csv: b}", "", "nothing fills in the `*` of the name; say which field does with `key`"),
        ("a.b", "{regex: a, take: sum}", "type: text, ", "text has no sum; take the first or the last"),
    ],
)
def test_what_cannot_be_meant_is_refused(around, name, extract, more, what):
    old = 'name: around.calls, unit: count, description: Calls., extract: {regex: "calls=(.*)"}'
    new = f"name: {name}, unit: count, {more}description: Calls., extract: {extract}"
    (around / "around.yaml").write_text(WRAPPER.replace(old, new))
    with pytest.raises(VgoError) as refused:
        find_layer("around", around)
    assert what in str(refused.value)


def test_everything_that_is_wrong_is_told_at_once(folder):
    (folder / "small.yaml").write_text(GOOD.replace("factor", "culprit").replace("unit: ms, ", ""))
    (folder / "other.yaml").write_text("[")
    assert len(check(folder)) == 3


def test_an_unknown_probe_is_a_problem_and_cannot_be_opened(folder):
    (folder / "small.yaml").write_text(GOOD.replace("probe: process", "probe: oracle"))
    (problem,) = check(folder)
    assert "small.yaml: probe: names no built-in probe (oracle)" in problem
    with pytest.raises(VgoError, match="oracle"):
        open_probe(find_layer("small", folder))


def test_launchers_and_metric_layers_lie_apart(folder):
    (folder / "launchers").mkdir()
    (folder / "launchers/small.yaml").write_text(GOOD.replace("vm.pgfault", "a").replace("on_cpu_ms", "b"))
    (problem,) = check(folder)
    assert problem.endswith("kind: is metric; launchers lie in launchers/, and only they.")


def test_a_column_of_two_layers_is_a_problem_in_patterns_too(folder):
    again = GOOD.replace("key: small", "key: again").replace("on_cpu_ms", "on_*_ms").replace("vm.pgfault", "vm.other")
    (folder / "again.yaml").write_text(again)
    assert check(folder) == [
        f"{folder}/small.yaml: the column on_cpu_ms is declared in again.yaml too (on_*_ms): keep one."
    ]


PATTERN = st.text("ab.*", max_size=6)


@given(st.lists(st.text("ab.", max_size=4)), PATTERN, PATTERN)
@settings(derandomize=True, deadline=None, max_examples=examples(3))
def test_patterns_that_share_a_name_overlap(names, one, other):
    from fnmatch import fnmatchcase

    assert overlap(one, other) == overlap(other, one)
    assert overlap(one, one)
    for name in (*names, one.replace("*", ""), other.replace("*", "a")):
        assert overlap(name, one) == fnmatchcase(name, one)
        if fnmatchcase(name, one) and fnmatchcase(name, other):
            assert overlap(one, other)


def test_patterns_that_share_no_name_do_not_overlap():
    assert not overlap("disk.*.reads", "disk.*.read_ms")
    assert not overlap("net.*", "disk.*")
    assert overlap("disk.*.ms", "disk.read.*")


def test_every_probe_opens_and_closes_with_a_layer_that_asks_for_nothing():
    for name in PROBES:
        probe = open_probe(Layer(key="empty", description="Nothing.", probe=name, columns=()))
        probe.before()
        probe.after()
        assert probe.values() == {}
        assert probe.absent() == {}
        probe.close()
