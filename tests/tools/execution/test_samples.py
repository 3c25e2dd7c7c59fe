"""Each line that a program prints can be one sample, in three formats."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vgo_agent.tools.execution.outcomes import NoSamples, column_name, layer_of, number, read_samples, spread, unit_of
from vgo_agent.tools.statistics.values import LARGEST, countable

NUMBERS = st.floats(-LARGEST, LARGEST).filter(countable)


def test_a_table_starts_at_its_header_and_other_lines_are_no_part_of_it():
    printed = b"loading, please wait\nvideo,decode_ms,total_ms\na,1.5,3\nwarning: slow\nb,2.5,4\n"
    assert read_samples(printed, "csv", "total_ms") == [
        {"video": "a", "decode_ms": 1.5, "total_ms": 3.0},
        {"video": "b", "decode_ms": 2.5, "total_ms": 4.0},
    ]


def test_a_table_printed_twice_gives_the_samples_of_both():
    assert len(read_samples(b"a,t\n1,2\na,t\n3,4\n", "csv", "t")) == 2


def test_json_lines_are_flattened_and_lines_without_the_field_are_no_samples():
    printed = b'{"event": "start"}\n{"t": 2, "phase": {"copy": 1, "run": 0.5}, "list": [1]}\n{broken\n'
    assert read_samples(printed, "json", "t") == [{"t": 2.0, "phase.copy": 1.0, "phase.run": 0.5}]


def test_a_regular_expression_names_its_fields():
    printed = b"frame 1 took 5 ms (decode 2)\nframe 2 took 7 ms\n"
    form = r"took (?P<total_ms>\d+) ms(?: \(decode (?P<decode>\d+)\))?"
    assert read_samples(printed, form, "total_ms") == [{"total_ms": 5.0, "decode": 2.0}, {"total_ms": 7.0}]


@pytest.mark.parametrize(
    ("printed", "form", "said"),
    [
        (b"", "csv", "printed 0 lines"),
        (b"a,b\n1,2\n", "csv", "none is a sample with the field t (CSV with a header)"),
        (b"a,t\n1,fast\n", "csv", "printed 'fast' as t of sample 1"),
        (b"a,t\n1,2\n1,nan\n", "csv", "printed 'nan' as t of sample 2"),
        (b"[1, 2]\n", "json", "(JSON lines)"),
        (b"\xff\xfe\x00", "(?P<t>x)", "none is a sample"),
    ],
)
def test_what_holds_no_samples_is_refused_in_words(printed, form, said):
    with pytest.raises(NoSamples) as refused:
        read_samples(printed, form, "t")
    assert said in str(refused.value)


@settings(derandomize=True, deadline=None)
@given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=20))
def test_all_formats_give_the_same_samples(pairs):
    table = "t,x\n" + "".join(f"{t!r},{x!r}\n" for t, x in pairs)
    lines = "".join(json.dumps({"t": t, "x": x}) + "\n" for t, x in pairs)
    text = "".join(f"t={t!r} x={x!r}\n" for t, x in pairs)
    expected = [{"t": t, "x": x} for t, x in pairs]
    assert read_samples(table.encode(), "csv", "t") == expected
    assert read_samples(lines.encode(), "json", "t") == expected
    assert read_samples(text.encode(), r"t=(?P<t>\S+) x=(?P<x>\S+)", "t") == expected


def test_every_cell_is_described_and_the_outcome_is_no_factor():
    samples = read_samples(b"video,decode time,t\nred,1,3\nblue,2,4\n", "csv", "t")
    row = {"order": 5, "survivors": 1, "wall_s": 3.0}
    rows = list(spread(row, samples, "t", run=7))
    assert rows[1] == {
        **{"order": 6, "ok": 1, "survivors": 0, "outcome": 4.0, "wall_s": 1.5},
        **{"program.run": 7, "program.iteration": 1, "program.video": "blue", "program.decode_time": 2.0},
    }
    layer = layer_of(rows)
    assert {name for row in rows for name in row} - {*row, "ok", "outcome"} == {column.name for column in layer.columns}
    assert {column.name: (column.role, column.type) for column in layer.columns[2:]} == {
        "program.video": ("setting", "text"),
        "program.decode_time": ("factor", "number"),
    }


@pytest.mark.parametrize(("field", "unit"), [("decode_ms", "ms"), ("size_MB", "mb"), ("ms", "ms"), ("time", "")])
def test_the_end_of_a_name_tells_the_unit(field, unit):
    assert unit_of(field) == unit


@pytest.mark.parametrize(("text", "value"), [("1e3", 1000.0), (" 2 ", 2.0), (None, ""), ("inf", "inf"), ("1_0", "1_0")])
def test_only_finite_numbers_are_numbers(text, value):
    assert number(text) == value


@settings(derandomize=True, deadline=None)
@given(st.text())
def test_any_field_gives_a_name_that_a_column_may_have(field):
    assert layer_of([{column_name(field): 1.0}]).columns[0].name == column_name(field)
