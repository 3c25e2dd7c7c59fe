"""A space in one word: where each name goes, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vgo_agent.knowledge.errors import VgoError
from vgo_agent.tools.sweep.space import inline, is_inline, named_after, shown


def test_each_name_goes_where_it_belongs() -> None:
    word = "size=1,2.5 threads=1,2 affinity=0,0+1 OMP_WAIT_POLICY=active,passive omp_threads.threads=1,2"
    space = inline(word, ("./prog", "--size", "{size}"))
    told = {name: (one.levels, one.to, one.environment, one.mitigation) for name, one in space.parameters.items()}
    assert told == {
        "size": ((1, 2.5), "argument", "", ""),
        "threads": ((1, 2), "threads", "", ""),
        "affinity": (("0", "0,1"), "affinity", "", ""),
        "omp_wait_policy": (("active", "passive"), "argument", "OMP_WAIT_POLICY", ""),
        "omp_threads_threads": ((1, 2), "argument", "", "omp_threads"),
    }
    assert space.parameters["omp_threads_threads"].parameter == "threads"


def test_a_name_in_the_command_goes_there_whatever_else_it_could_mean() -> None:
    assert inline("threads=1,2", ("./prog", "-t{threads}")).parameters["threads"].to == "argument"


@given(st.lists(st.integers(-(10**9), 10**9), min_size=1, max_size=5, unique=True))
def test_whole_numbers_come_back_as_they_were_written(levels: list[int]) -> None:
    word = "size=" + ",".join(map(str, levels))
    assert is_inline(word)
    assert [shown(one) for one in inline(word).parameters["size"].levels] == [str(one) for one in levels]


def test_a_file_is_a_file_whatever_its_name(tmp_path: Path) -> None:
    word = str(tmp_path / "case=3.yaml")
    assert is_inline(word)
    Path(word).write_text("parameters: {size: {levels: [1, 2]}}")
    assert not is_inline(word)


def test_many_levels_are_no_name_of_a_file() -> None:
    assert is_inline("size=" + ",".join(map(str, range(1000))))


def test_the_folder_is_named_after_the_parameters() -> None:
    assert named_after("size=1,2 omp_threads.threads=1 OMP_PLACES=cores") == "size-omp_threads-threads-omp_places"


@pytest.mark.parametrize("word", ["size=", "=1", "size=1,,2", "a=1 a=2", "Size=1,2", "order=1,2", "a=1 b"])
def test_what_is_no_space_is_refused_in_one_sentence(word: str) -> None:
    with pytest.raises(VgoError) as refused:
        inline(word)
    assert "\n" not in str(refused.value)
