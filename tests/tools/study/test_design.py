"""The settings of a study on machines of every kind, read from fake /sys trees."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vgo_agent.knowledge.errors import VgoError
from vgo_agent.tools.study.design import StudyDesign, Wished, design
from vgo_agent.tools.study.factors import Core, StudyEnvironment, Topology, read_factors, topology
from vgo_agent.tools.study.setting import StudySetting

from . import trees


def laid_out(root: Path, **wished: Any) -> StudyDesign:
    return design(read_factors(), StudyEnvironment(topology(root)), Wished(**wished, most=500))


def at(found: StudyDesign, **levels: str) -> StudySetting:
    setting = found.at(found.centre | levels)
    assert setting is not None
    return setting


def reasons(found: StudyDesign) -> dict[tuple[str, str], str]:
    return {(one.factor, one.level): one.reason for one in found.skipped}


def test_smt_gives_each_thread_a_place_of_its_own(tmp_path) -> None:
    found = laid_out(trees.smt(tmp_path, 4))
    one, both = at(found, smt="ST"), at(found, smt="MT")
    assert one.environment["OMP_PLACES"] == "{0},{1},{2},{3}"
    assert both.environment["OMP_PLACES"] == "{0},{4},{1},{5},{2},{6},{3},{7}"
    assert (one.threads, both.threads, both.cores) == (4, 8, 4)


def test_the_job_beside_sits_on_the_second_hardware_threads_of_the_cores_in_use(tmp_path) -> None:
    beside = at(laid_out(trees.smt(tmp_path, 4)), smt="STb")
    assert beside.background is not None
    assert beside.background.cpus == (4, 5, 6, 7)
    assert beside.threads == 4


def test_cores_are_left_from_the_first_on(tmp_path) -> None:
    found = laid_out(trees.tree(tmp_path, [(core,) for core in range(8)]))
    spared = at(found, threads="6")
    assert spared.environment["OMP_PLACES"] == "{2},{3},{4},{5},{6},{7}"
    assert spared.spare == 2


def test_threads_go_from_one_to_all_with_spare_cores(tmp_path) -> None:
    found = laid_out(trees.tree(tmp_path, [(core,) for core in range(32)]))
    threads = next(factor for factor in found.factors if factor.key == "threads")
    assert set(map(int, threads.levels)) == {1, 2, 4, 8, 16, 24, 28, 30, 31, 32}
    assert threads.crossed == ("32", "31")


def test_one_memory_node_against_all_has_the_same_number_of_threads(tmp_path) -> None:
    found = laid_out(trees.two_nodes(tmp_path, 8))
    one, everywhere = at(found, nodes="one node"), at(found, nodes="all nodes")
    assert one.threads == everywhere.threads == 4
    assert one.affinity == (4, 5, 6, 7)
    assert one.environment["OMP_PLACES"] == "{4},{5},{6},{7}"
    assert everywhere.environment["OMP_PLACES"] == "{2},{3},{6},{7}"


def test_efficiency_cores_are_left_first(tmp_path) -> None:
    found = laid_out(trees.hybrid(tmp_path, 8, 8))
    assert at(found, threads="14").environment["OMP_PLACES"].endswith("{14},{18},{19},{20},{21},{22},{23}")
    strong, weak = at(found, cores="P only"), at(found, cores="E only")
    assert strong.affinity == tuple(range(16))
    assert (strong.threads, strong.spare) == (8, 8)
    assert weak.affinity == tuple(range(16, 24))


def test_some_efficiency_cores_join_all_performance_cores(tmp_path) -> None:
    found = laid_out(trees.hybrid(tmp_path, 8, 4))
    two = at(found, cores="P and 2 E")
    assert two.affinity == (*range(16), 18, 19)
    assert (two.cores, two.spare) == (10, 2)
    assert reasons(found)["cores", "P and 4 E"] == "there are 4 efficiency cores"


def test_the_kind_of_core_is_not_varied_where_the_memory_node_would_vary_with_it(tmp_path) -> None:
    for name, weak in (("apart", "0-3"), ("mixed", "0-1,4-5")):
        root = trees.tree(tmp_path / name, [(cpu,) for cpu in range(8)], {0: "0-3", 1: "4-7"}, {"atom": weak})
        told = reasons(laid_out(root))
        assert ("cores", "E only") in told if name == "apart" else ("cores", "E only") not in told
    told = reasons(laid_out(tmp_path / "apart"))
    assert "kind and node cannot be told apart" in told["cores", "P only"]


def test_small_cores_are_known_by_their_capacity_too(tmp_path) -> None:
    root = trees.tree(tmp_path, [(core,) for core in range(4)], capacity={0: 1024, 1: 1024, 2: 512, 3: 512})
    assert [core.kind for core in topology(root).cores] == ["P", "P", "E", "E"]


def test_what_a_plain_machine_lacks_is_skipped_with_its_reason(tmp_path) -> None:
    found = reasons(laid_out(trees.tree(tmp_path, [(0,), (1,)])))
    assert "second hardware thread" in found["smt", "MT"]
    assert "one memory node" in found["nodes", "one node"]
    assert "of one kind" in found["cores", "P only"]
    assert "schedule(runtime)" in found["schedule", "static"]
    assert "libgomp" in found["runtime", "libomp"]
    assert found["threads", "2, 4, 8, 16 left to the system"] == "there are 2 cores"


def test_a_missing_library_is_said_with_its_package(tmp_path) -> None:
    root = trees.tree(tmp_path, [(0,), (1,)])
    found = design(read_factors(), StudyEnvironment(topology(root), libgomp=True, root=root))
    assert "libomp5" in reasons(found)["runtime", "libomp"]
    library = root / "usr/lib/x86_64-linux-gnu/libomp.so.5"
    library.parent.mkdir(parents=True)
    library.touch()
    found = design(read_factors(), StudyEnvironment(topology(root), libgomp=True, root=root))
    assert at(found, runtime="libomp").environment["LD_PRELOAD"] == str(library)


def test_one_core_leaves_no_binding_and_no_threads(tmp_path) -> None:
    found = laid_out(trees.tree(tmp_path, [(0,)]))
    assert reasons(found)["binding", "close"] == "there is only one core"
    assert {one.levels["binding"] for one in found.settings[1:]} == {"free"}
    with pytest.raises(VgoError, match="nothing to vary"):
        laid_out(tmp_path, factors=("threads", "binding"))


def test_a_named_schedule_is_trusted(tmp_path) -> None:
    found = laid_out(trees.tree(tmp_path, [(0,), (1,)]), factors=("schedule",))
    assert [one.name for one in found.settings] == ["baseline", "centre", "static", "dynamic", "guided"]


def test_another_binary_is_a_level_of_the_runtime(tmp_path) -> None:
    found = laid_out(trees.tree(tmp_path, [(0,), (1,)]), factors=("binding",), binaries=(("clang", "/bin/a.clang"),))
    assert at(found, runtime="clang").program == "/bin/a.clang"


@pytest.mark.parametrize(
    ("wished", "said"),
    [
        ({"factors": ("colour",)}, "there is no such factor"),
        ({"cross": ("colour",)}, "there is no such factor"),
        ({"factors": ("wait",), "cross": ("threads",)}, "not among --factors"),
    ],
)
def test_unknown_factors_are_refused(tmp_path, wished, said) -> None:
    with pytest.raises(VgoError, match=said):
        laid_out(trees.tree(tmp_path, [(0,), (1,)]), **wished)


def test_too_many_settings_are_refused_with_the_cure(tmp_path) -> None:
    with pytest.raises(VgoError, match=r"19 settings, and 10 are the most: cross fewer"):
        design(
            read_factors(),
            StudyEnvironment(topology(trees.tree(tmp_path, [(0,), (1,)]))),
            Wished(factors=("binding", "threads", "wait"), most=10),
        )


def test_only_the_cpus_that_may_be_used_count(tmp_path) -> None:
    assert topology(trees.smt(tmp_path, 4), allowed={1, 5, 3}).cores == (Core(cpus=(1, 5)), Core(cpus=(3,)))


def test_a_tree_without_cpus_is_refused(tmp_path) -> None:
    with pytest.raises(VgoError, match="names no CPU"):
        topology(tmp_path)


@pytest.mark.parametrize("body", ["", "factors: []", "factors: [{key: wait, question: x, levels: []}]", ": ["])
def test_a_broken_design_is_one_sentence(tmp_path, body) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(body)
    with pytest.raises(VgoError, match=r"mine\.yaml"):
        read_factors(path)


machines = st.builds(
    lambda cores, deep, nodes: Topology(
        cores=tuple(
            Core(cpus=tuple(core + cores * thread for thread in range(deep)), node=core * nodes // cores)
            for core in range(cores)
        )
    ),
    st.integers(2, 40),
    st.integers(1, 2),
    st.integers(1, 2),
)


@settings(derandomize=True, deadline=None)
@given(machines)
def test_every_setting_fits_the_machine(machine) -> None:
    found = design(read_factors(), StudyEnvironment(machine), Wished(most=500))
    cpus = {cpu for core in machine.cores for cpu in core.cpus}
    assert len({one.name for one in found.settings}) == len(found.settings)
    for one in found.settings[1:]:
        assert 1 <= one.cores <= len(machine.cores)
        assert one.cores + one.spare == len(machine.cores)
        places = one.environment.get("OMP_PLACES", "")
        named = [int(place.strip("{}")) for place in places.split(",") if place]
        assert set(named) <= cpus
        assert not named or len(named) >= one.threads
        assert len(set(named)) == len(named)
        assert set(one.affinity) <= cpus
        assert not one.affinity or set(named) <= set(one.affinity)


@settings(derandomize=True, deadline=None)
@given(machines)
def test_crossed_factors_are_crossed_fully(machine) -> None:
    found = design(read_factors(), StudyEnvironment(machine), Wished(most=500))
    cells = 1
    for factor in found.crossed:
        cells *= len(factor.crossed)
    keys = [factor.key for factor in found.crossed]
    rest = {key: level for key, level in found.centre.items() if key not in keys}
    whole = [one for one in found.settings[1:] if rest.items() <= one.levels.items()]
    crossed = [one for one in whole if all(one.levels[f.key] in f.crossed for f in found.crossed)]
    assert len(crossed) == cells
