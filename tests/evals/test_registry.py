"""The list of workloads: names, truths, and one sentence for what cannot run."""

from pathlib import Path

import pytest

import vgo_agent.evals
import vgo_agent.knowledge
from vgo_agent.evals.recorded.draft import truth_of_workload
from vgo_agent.evals.workloads.registry import find, missing, prepare, workloads
from vgo_agent.evals.workloads.workload import INPUT_BYTES, Workload
from vgo_agent.knowledge.errors import VgoError
from vgo_agent.tools.verdict import TITLES, matches

KNOWLEDGE = Path(vgo_agent.knowledge.__path__[0])
README = Path(vgo_agent.evals.__path__[0]) / "README.md"


def named(workload: Workload) -> str:
    return workload.name


@pytest.mark.parametrize("workload", workloads(), ids=named)
def test_a_workload_is_found_with_hyphens_and_with_underscores(workload: Workload) -> None:
    assert find(workload.name) is find(workload.name.replace("-", "_")) is workload


def test_an_unknown_name_is_answered_with_all_names() -> None:
    with pytest.raises(VgoError) as error:
        find("cpu-hop")
    said = str(error.value)
    assert said.startswith("There is no workload 'cpu-hop'; choose one of cpu-hops, page-faults, malloc-churn, ")
    assert all(workload.name in said for workload in workloads())


def test_no_two_workloads_have_one_name() -> None:
    assert len({workload.name for workload in workloads()}) == len(workloads())


@pytest.mark.parametrize("workload", workloads(), ids=named)
def test_the_steady_twin_is_the_same_program_with_other_arguments(workload: Workload, disk: Path) -> None:
    if reason := missing(workload):
        pytest.skip(reason)
    command = prepare(workload, disk).command
    assert prepare(workload, disk, steady=True).command == (*command, *workload.steady)
    assert workload.steady or workload.around or workload.name == "steady"


@pytest.mark.parametrize("workload", workloads(), ids=named)
def test_the_truth_is_written_in_words_that_are_known(workload: Workload) -> None:
    factors = {path.stem for path in KNOWLEDGE.glob("factors/*.yaml")}
    mitigations = {path.stem for path in KNOWLEDGE.glob("mitigations/*.yaml")}
    assert set(workload.cause) <= factors
    assert {*workload.cures, *workload.not_cures} <= mitigations
    assert all(any(matches(title, (pattern,)) for title in TITLES) for pattern in workload.verdicts)
    assert not set(workload.cures) & set(workload.not_cures)


@pytest.mark.parametrize("workload", workloads(), ids=named)
def test_the_readme_tells_the_same_truth(workload: Workload) -> None:
    [row] = [line for line in README.read_text().splitlines() if line.startswith(f"| `{workload.name}` |")]
    _, _, _, *cells, _ = (cell.strip() for cell in row.split("|"))
    hidden = workload.cause and not (workload.control or truth_of_workload(workload.name, steady=False).causes)
    causes = ", ".join(workload.cause)
    assert cells == [
        " or ".join(workload.verdicts),
        f"({causes})" if hidden else causes,
        ", ".join(workload.cures),
        ", ".join(workload.not_cures),
    ]


def test_what_people_reported_says_where() -> None:
    """A workload that is for looking at has its source; others may have one, too."""
    assert all(workload.sources for workload in workloads() if not workload.recorded)
    assert all(url.startswith("https://") for workload in workloads() for url in workload.sources)
    assert sum(bool(workload.sources) for workload in workloads()) >= 13


def test_a_missing_compiler_is_named_with_the_cure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    assert "no C compiler was found; install one" in (missing(find("layout")) or "")
    with pytest.raises(VgoError, match=r"^The workload layout cannot run here: .*[^.]\.$"):
        prepare(find("layout"), tmp_path)


def test_a_broken_compiler_is_named_with_the_cure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "false")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(VgoError, match=r"could not build layout\.c.* set CC to its path\.$"):
        prepare(find("layout"), tmp_path)
    assert list((tmp_path / "vgo-agent" / "workloads").iterdir()) == []


def test_a_program_is_built_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if reason := missing(find("layout")):
        pytest.skip(reason)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    [first] = prepare(find("layout"), tmp_path).command
    made = Path(first).stat().st_mtime_ns
    [second] = prepare(find("layout"), tmp_path).command
    assert (second, Path(second).stat().st_mtime_ns) == (first, made)
    assert Path(first).is_relative_to(tmp_path)


def test_the_input_of_cold_cache_is_written_once_and_named_last(disk: Path) -> None:
    argv = prepare(find("cold-cache"), disk).command
    content = Path(argv[-1]).read_bytes()
    assert Path(argv[-1]).parent == disk.resolve()
    assert len(content) == INPUT_BYTES
    assert prepare(find("cold-cache"), disk).command == argv
    assert Path(argv[-1]).read_bytes() == content


def test_a_folder_in_memory_is_refused_for_a_file_that_must_be_cold() -> None:
    memory = Path("/dev/shm")
    if not memory.is_dir():
        pytest.skip("this machine has no /dev/shm")
    with pytest.raises(VgoError, match=r"^/dev/shm is a tmpfs, which is never cold; give a folder on a disk\.$"):
        prepare(find("cold-cache"), memory)
