"""Layer files are read whole or refused by file and line."""

import pytest

from vgo_agent.knowledge.errors import VgoError
from vgo_agent.layers.loader import PROBES, check, load_layer, load_layers, open_probe
from vgo_agent.layers.schema import Layer

GOOD = """\
key: small
description: Two counters.
probe: process
columns:
  - {name: vm.pgfault, unit: count, role: factor, scope: machine, description: Faults.}
  - {name: on_cpu_ms, unit: ms, role: consequence, scope: run, description: Time on a CPU.}
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "small.yaml").write_text(GOOD)
    return tmp_path


def test_the_layers_that_ship_have_no_problem():
    assert check() == []
    assert "process" in load_layers()


def test_a_layer_is_loaded_by_its_key(folder):
    assert [column.name for column in load_layer("small", folder).columns] == ["vm.pgfault", "on_cpu_ms"]
    assert load_layers(folder) == {"small": load_layer("small", folder)}
    assert check(folder) == []


def test_an_unknown_layer_is_refused_with_the_ones_there_are(folder):
    with pytest.raises(VgoError, match=r"no metric layer perf: name one of these: small\."):
        load_layer("perf", folder)


@pytest.mark.parametrize(
    ("old", "new", "line", "what"),
    [
        ("key: small", "key: [small", 2, "mend the YAML"),
        ("probe: process\n", "", 1, "probe: Field required"),
        ("role: factor", "role: culprit", 5, "columns.0.role"),
        ("unit: ms, ", "", 6, "columns.1.unit: Field required"),
        ("scope: run,", "scope: run, colour: red,", 6, "columns.1.colour"),
        ("name: on_cpu_ms", "name: on cpu", 6, "columns.1.name"),
        ("key: small", "key: other", 1, "rename the file or the key"),
        (GOOD, "", 1, "mend it"),
        (GOOD, "just a word", 1, "mend it"),
    ],
)
def test_a_broken_file_is_named_with_the_line(folder, old, new, line, what):
    (folder / "small.yaml").write_text(GOOD.replace(old, new, 1))
    with pytest.raises(VgoError) as refused:
        load_layer("small", folder)
    assert f"{folder}/small.yaml, line {line}:" in str(refused.value)
    assert what in str(refused.value)
    assert check(folder) == [str(refused.value)]


def test_an_unknown_probe_is_a_problem_and_cannot_be_opened(folder):
    (folder / "small.yaml").write_text(GOOD.replace("probe: process", "probe: oracle"))
    (problem,) = check(folder)
    assert "small.yaml names no built-in probe (oracle)" in problem
    with pytest.raises(VgoError, match="oracle"):
        open_probe(load_layer("small", folder))


def test_a_column_declared_twice_is_a_problem(folder):
    (folder / "again.yaml").write_text(GOOD.replace("key: small", "key: again"))
    assert check(folder) == [
        "The column vm.pgfault is declared 2 times: keep one.",
        "The column on_cpu_ms is declared 2 times: keep one.",
    ]


def test_every_probe_opens_and_closes_with_a_layer_that_asks_for_nothing():
    for name in PROBES:
        probe = open_probe(Layer(key="empty", description="Nothing.", probe=name, columns=()))
        probe.before()
        probe.after()
        assert probe.values() == {}
        assert probe.absent() == {}
        probe.close()
