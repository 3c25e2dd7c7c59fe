"""A mapping names and describes the columns of a foreign table; what it says wrongly is refused in one sentence."""

from pathlib import Path

import pytest

from vgo_agent.knowledge.errors import VgoError
from vgo_agent.tools.recorded.design import ColumnOptions, designs
from vgo_agent.tools.recorded.mapping import Meanings, read_mapping
from vgo_agent.tools.recorded.read import read
from vgo_agent.tools.recorded.recorded import RecordedRuns

TABLE = "elapsed [ms],kernel,ops,node,temp0,temp1\n1.5,5.10,7,1,60,61\n2.5,5.1,8,2,62,63\n3.5,5.10,9,1,64,65\n"
MAPPING = """\
columns:
  - {name: time, source: "elapsed [ms]", unit: ms, role: outcome, lower_is_better: true, description: Of a run.}
  - {name: kernel, type: text, role: setting}
  - {name: ops, role: consequence}
  - {name: "temp*", unit: C, level: true}
system: {cpu: Some CPU}
"""


def test_columns_are_called_and_understood_as_the_mapping_says(tmp_path: Path) -> None:
    recorded = mapped(tmp_path, MAPPING)
    assert recorded.frame.columns == ["time", "kernel", "ops", "node", "temp0", "temp1"]
    assert (recorded.outcome, recorded.units["time"], recorded.lower_is_better) == ("time", "ms", {"time": True})
    assert recorded.roles == {"time": "outcome", "kernel": "setting", "ops": "consequence"}
    assert recorded.levels == {"temp0", "temp1"} and recorded.units["temp1"] == "C"
    assert recorded.descriptions == {"time": "Of a run."} and recorded.system == {"cpu": "Some CPU"}


def test_versions_that_look_like_numbers_stay_apart_as_text(tmp_path: Path) -> None:
    assert mapped(tmp_path, MAPPING).frame["kernel"].to_list() == ["5.10", "5.1", "5.10"]


def test_a_mapped_column_is_left_out_by_its_new_name(tmp_path: Path) -> None:
    renamed = "columns: [{name: time, source: 'elapsed [ms]', role: outcome}, {name: work, source: ops}]\n"
    recorded = mapped(tmp_path, renamed, leave_out=("work",))
    assert "work" not in recorded.frame.columns and recorded.left_out == ("work",)
    ((_, design),) = designs(recorded, ColumnOptions())
    assert design.set_aside["work"] == "left out as asked"


def test_a_text_with_units_becomes_a_number_where_asked(tmp_path: Path) -> None:
    recorded = mapped(tmp_path, "columns: [{name: t, type: number}]\n", "t\n12 ms\nfailed\n13 ms\n8 ms\n9 ms\n")
    assert recorded.frame["t"].to_list() == [12, None, 13, 8, 9] and recorded.units["t"] == "ms"
    assert recorded.notes == ("In t these count as missing: failed.",)


def test_the_meaning_of_a_format_moves_with_the_name_of_a_column(tmp_path: Path) -> None:
    table = "launch_id,repeat,rank,outer_time\na,1,0,1.5\na,2,0,1.6\n"
    recorded = mapped(tmp_path, "columns: [{name: wall, source: outer_time}]\n", table)
    assert (recorded.format, recorded.outcome, recorded.units["wall"]) == ("sharp", "wall", "s")
    assert recorded.roles["wall"] == "outcome" and "outer_time" not in recorded.roles


WRONG = {
    "columns: [{name: hh, role: outcome}]": "has no column hh, which the mapping describes: did you mean h",
    "columns: [{nme: t}]": "columns.0.nme: is not a known key; mend its spelling or take it out",
    "columns: [{name: t, colour: red}]": "columns.0.colour: is not a known key",
    "columns: [{name: t, role: cause}]": "columns.0.role: is none of those that it may be; write 'outcome', 'factor'",
    "columns: [{name: t}, {name: t}]": "the column t is described twice",
    "columns: [{name: t, role: outcome}, {name: x, role: outcome}]": "t and x are both the outcome",
    "columns: [{name: x, source: t}]": "The mapping gives x to a column, and another has that name",
    "columns: [{name: h, type: number}]": "h of .* is text, but the mapping says number",
    "columns: [{name: m, type: number}]": r"m of .* mixes units \(ms and s\): convert it",
    "columns: [": "line 2: .*: mend the YAML there",
    "": "is no mapping: begin it with `columns:`",
    "just words": "is no mapping: begin it with `columns:`",
}


@pytest.mark.parametrize("mapping", WRONG)
def test_a_wrong_mapping_is_refused_with_the_place_and_the_cure(tmp_path: Path, mapping: str) -> None:
    with pytest.raises(VgoError, match=WRONG[mapping]) as refusal:
        mapped(tmp_path, mapping, "t,x,h,m\n1,2,a,1 s\n3,4,b,2 ms\n")
    assert "\n" not in str(refusal.value)


def test_a_mapping_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(VgoError, match="cannot be read .*: check --mapping"):
        read_mapping(tmp_path / "none.yaml")


def test_what_names_a_column_outright_comes_before_a_pattern() -> None:
    meanings = Meanings.model_validate({"columns": [{"name": "t*", "unit": "C"}, {"name": "t1", "unit": "K"}]})
    assert {one.name: one.unit for one in meanings.expanded(["t0", "t1", "x"])} == {"t0": "C", "t1": "K"}


def mapped(folder: Path, mapping: str, table: str = TABLE, leave_out: tuple[str, ...] = ()) -> RecordedRuns:
    (folder / "runs.csv").write_text(table)
    (folder / "map.yaml").write_text(mapping)
    return read(folder / "runs.csv", leave_out, read_mapping(folder / "map.yaml"))
