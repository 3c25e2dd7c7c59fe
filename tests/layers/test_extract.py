"""Values are read from text as they are meant: a number or missing, never a zero for something that is not there."""

import math
import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vgo_agent.layers.extract import Collector, number, run_filter
from vgo_agent.layers.schema import Layer
from vgo_agent.layers.search import TooLong


def read(text, name="it.value", unit="count", **extract):
    """Read one column of standard output; return its cells, and why it is absent."""
    kind = extract.pop("type", "number")
    column = {"name": name, "description": "A value.", "unit": unit, "type": kind, "extract": extract}
    collector = Collector(Layer.model_validate({"key": "it", "description": "A layer.", "columns": [column]}))
    cells = collector.collect({"output": text, "error": "", "both": text, "file": ""})
    return cells, collector.absent()


def value(text, **extract):
    """Read one column; None when it is missing."""
    cells, _ = read(text, **extract)
    assert cells.keys() <= {"it.value"}
    return cells.get("it.value")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("12", 12),
        (" -3.5 ", -3.5),
        ("1.5e-05", 1.5e-5),
        ("1E3", 1000),
        ("1,234", 1234),
        ("1,234,567", 1234567),
        ("12,345,678.25", 12345678.25),
        ("1.234.567", 1234567),
        ("1.234,56", 1234.56),
        ("1\u202f234\u202f567", 1234567),
        ("0,123", 0.123),
        ("12,5", 12.5),
        ("1.234", 1.234),
        ("45 %", 45),
        (7, 7),
        (True, 1),
        ("<not supported>", None),
        ("<not counted>", None),
        ("NA", None),
        ("nan", None),
        ("inf", None),
        ("1_000", None),
        ("", None),
        ("1,23,456", None),
        (math.inf, None),
        (None, None),
    ],
)
def test_a_number_is_read_however_it_is_grouped_and_anything_else_is_missing(text, expected):
    assert number(text, "%") == expected


@given(st.integers(min_value=0, max_value=10**15))
@settings(derandomize=True, deadline=None)
def test_grouping_digits_changes_no_count(count):
    assert number(f"{count:,}") == number(str(count)) == count


@given(st.floats(allow_nan=False, allow_infinity=False))
@settings(derandomize=True, deadline=None)
def test_every_finite_number_is_read_back(real):
    assert number(repr(real)) == real
    assert number(f"{real:.17e}") == real


LINES = "time=3 end\ntime=1 end\ntime=2 end\ntime=1 end\n"


@pytest.mark.parametrize(
    ("take", "expected"),
    [("last", 1), ("first", 3), ("sum", 7), ("mean", 1.75), ("min", 1), ("max", 3), ("count", 4), ("distinct", 3)],
)
def test_of_several_matches_the_one_that_is_asked_for_counts(take, expected):
    assert value(LINES, regex=r"^time=(\d+)", take=take) == expected
    assert value(LINES, regex=r"(?<=time=)\d+", take=take) == expected
    assert value(LINES, shell="sed 's/.*=//;s/ .*//'", take=take) == expected
    assert value(LINES.replace("time=", "").replace(" ", ";"), csv="1", take=take) == expected
    assert value('{"a": [3, 1, 2, 1]}', json="$.a[*]", take=take) == expected


def test_one_value_that_is_no_number_makes_a_sum_missing_and_leaves_the_last():
    text = "a=<not supported>\na=2\n"
    assert value(text, regex="a=(.*)", take="sum") is None
    assert value(text, regex="a=(.*)", take="last") == 2
    assert value(text, regex="a=(.*)", take="first") is None
    assert value(text, regex="a=(.*)", take="count") == 2


def test_counting_what_does_not_occur_is_zero_unless_there_is_no_text():
    assert value("all is well\n", regex="retry", take="count") == 0
    assert value("", regex="retry", take="count") is None


def test_text_is_kept_as_it_is():
    assert value("policy = ACTIVE \n", regex="policy = (.*)", type="text") == "ACTIVE"
    assert value("policy = \n", regex="policy = (.*)", type="text") is None
    assert value("policy = 007\n", regex="policy = (.*)", type="text") == "007"
    assert value("two words\nlast line\n", shell="cat", type="text") == "last line"


def test_names_in_the_text_fill_in_the_star():
    found = {"it.read": 3.0, "it.page_faults": 4.0}
    assert read("read: 3\npage faults: 4\n", name="it.*", regex=r"^(.*): (\d+)$")[0] == found
    assert read("x", name="it.*", shell="printf 'read 3\\npage/faults 4\\nbroken\\n'")[0] == found
    assert read("n,v\nread,3\npage faults,4\n", name="it.*", csv="v", key="n")[0] == found
    lines = '{"n": "read", "v": "3"}\n{"n": "page faults", "v": 4}\n{"v": 5}\n'
    assert read(lines, name="it.*", json="$.v", key="n")[0] == found


def test_json_is_a_document_or_lines_among_others():
    assert value('{"gpu": {"mhz": 1200}}', json="$.gpu.mhz") == 1200
    assert value('starting\n{"mhz": 1}\n{"mhz": 2}\n{broken\ndone\n', json="$.mhz") == 2
    assert value('[{"event": "a", "n": 1}, {"event": "b", "n": 2}]', json="$.n", where={"event": "a"}) == 1
    assert value('{"event": "a", "n": 1}\n{"event": "b", "n": 2}\n', json="$.n", where={"event": "a"}) == 1
    assert value('{"list": [{"e": "a", "n": 1}, {"e": "b", "n": 2}]}', json="$.list[?@.e=='a'].n") == 1
    assert value('{"n": "<not supported>"}', json="$.n") is None
    assert value('{"n": null}', json="$.n") is None
    assert value("no json at all", json="$.n") is None


PERF_LINES = """\
# started on Fri Nov 20 18:00:00 2026

1,234;;cache-misses;1000;50.00;;
<not supported>;;cycles;0;100.00;;
"""


def test_csv_is_read_by_header_or_by_number():
    table = "preface\nname, mean, stddev\nslow run, 2.5, 0.5\nfast run, 1.5, 0.1\n"
    assert value(table, csv="mean", take="max") == 2.5
    assert value(table, csv="stddev", where={"name": "fast run"}) == 0.1
    assert value(table, csv="median") is None
    assert value(PERF_LINES, csv="1", where={"3": "cache-misses"}) == 1234
    assert value(PERF_LINES, csv="1", where={"3": "cycles"}) is None
    assert value(PERF_LINES, csv="1", where={"9": "cycles"}) is None
    assert value("a|b\n1|2\n", csv="b") == 2
    assert value("", csv="b") is None


def test_a_shell_filter_that_fails_or_says_nothing_gives_nothing():
    assert value("12\n", shell="cat") == 12
    assert value("12\n", shell="cat; exit 3") is None
    assert value("12\n", shell="grep 13") is None
    assert value("12\n", shell="cat >/dev/null") is None
    assert value("12\n" * 100_000, shell="head -1") == 12  # It leaves most of the text unread.


def test_a_shell_filter_is_ended_at_its_limit_with_its_children():
    with pytest.raises(TooLong):
        run_filter("sleep 987 & sleep 986; cat", "12", os.environ, limit_s=0.3)
    assert not any(b"sleep\x00987" in line or b"sleep\x00986" in line for line in command_lines())


def command_lines():
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                yield file.read()
        except OSError:
            continue


@pytest.mark.parametrize("extract", [{"regex": r"(a+)+\d"}, {"shell": "echo x >>$RUNS; sleep 985"}])
def test_what_takes_too_long_is_ended_said_and_not_tried_again(extract, tmp_path):
    runs = tmp_path / "runs"
    column = {"name": "it.slow", "description": "A value.", "unit": "count", "extract": extract}
    quick = {"name": "it.quick", "description": "A value.", "unit": "count", "extract": {"regex": r"v=(\d+)"}}
    layer = Layer.model_validate({"key": "it", "description": "A layer.", "columns": [column, quick]})
    collector = Collector(layer, {"RUNS": str(runs)}, limit_s=0.3)
    for _ in range(3):
        assert collector.collect({"output": "v=3\n" + "a" * 48}) == {"it.quick": 3}
    collector.close()
    (why,) = collector.absent().values()
    assert f"'{next(iter(extract.values()))}' in it.yaml took longer than 0.3 s, so it was ended" in why
    assert not runs.exists() or runs.read_text() == "x\n"


def test_what_was_found_once_is_not_absent():
    column = {"name": "it.value", "description": "A value.", "unit": "count", "extract": {"regex": r"v=(\d+)"}}
    collector = Collector(Layer.model_validate({"key": "it", "description": "A layer.", "columns": [column]}))
    assert collector.absent() == {}
    collector.collect({"output": ""})
    assert collector.absent().keys() == {"it.value"}
    assert r"its regex 'v=(\d+)' in it.yaml found nothing" in collector.absent()["it.value"]
    collector.collect({"output": "v=3"})
    assert collector.absent() == {}
