"""What is known loads, is found by column, and has a digest that any byte changes."""

from __future__ import annotations

import platform
import resource
import shutil
import subprocess
import sys
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vgo_agent.knowledge.actions import Apply, Gpu
from vgo_agent.knowledge.errors import VgoError
from vgo_agent.knowledge.loader import HERE, Knowledge, check, digest, load
from vgo_agent.knowledge.schema import KnownFactor, SignalPosition

KNOWN = load()
COLUMNS = sorted({column for factor in KNOWN.factors.values() for column in factor.signals})
ALPHABET = st.characters(whitelist_categories=["L", "N"], whitelist_characters="._-")
FILES = sorted(
    path.relative_to(HERE) for kind in ("factors", "mitigations", "papers") for path in (HERE / kind).iterdir()
)


def knowledge(**factors: tuple[list[str], int]) -> Knowledge:
    """Know factors by their signals and how actionable they are."""
    made = {
        key: KnownFactor(key=key, name=key, description=key, signals=tuple(signals), actionable=actionable)
        for key, (signals, actionable) in factors.items()
    }
    return Knowledge(made, {}, "")


def test_everything_shipped_is_sound() -> None:
    assert check() == []


def test_a_state_that_nobody_describes_is_named(copied: Path) -> None:
    path = copied / "states.yaml"
    path.write_text(path.read_text().replace("key: sleep", "key: blocked", 1))
    assert any("the state sleep is missing" in problem for problem in check(copied))
    path.write_text("- {key: nap, name: Nap}")
    assert any("states.yaml" in problem for problem in check(copied))


def test_every_file_is_an_entry_under_its_own_key() -> None:
    assert {f"{key}.yaml" for key in KNOWN.factors} == {path.name for path in (HERE / "factors").iterdir()}
    assert {f"{key}.yaml" for key in KNOWN.mitigations} == {path.name for path in (HERE / "mitigations").iterdir()}


def test_there_are_enough_of_each() -> None:
    assert len(KNOWN.factors) >= 18
    assert len(KNOWN.mitigations) >= 34
    assert len(list((HERE / "papers").glob("*.md"))) >= 30


def test_a_column_that_nothing_lists_names_no_factor() -> None:
    assert KNOWN.factor_of("moon.phase") is None
    assert KNOWN.factors_of("moon.phase") == ()


@pytest.mark.parametrize("column", COLUMNS)
def test_the_factors_of_a_column_are_those_that_name_it_then_those_with_a_pattern_each_the_most_actionable_first(
    column: str,
) -> None:
    found = KNOWN.factors_of(column)
    assert KNOWN.factor_of(column) == found[0]
    naming = [factor for factor in found if column in factor.signals]
    matching = [factor for factor in found if factor not in naming]
    assert found == (*naming, *matching)
    assert {f.key for f in naming} == {key for key, f in KNOWN.factors.items() if column in f.signals}
    assert all(any(fnmatchcase(column, signal) for signal in factor.signals) for factor in matching)
    for part in (naming, matching):
        assert [factor.actionable for factor in part] == sorted((f.actionable for f in part), reverse=True)


@given(signal=st.sampled_from(COLUMNS), filled=st.text(ALPHABET, min_size=1), value=st.text(min_size=1))
def test_what_the_machine_fills_in_and_one_value_of_a_text_change_no_signal(
    signal: str, filled: str, value: str
) -> None:
    owners = {key for key, factor in KNOWN.factors.items() if signal in factor.signals}
    column = signal.replace("*", filled)
    assert owners <= {factor.key for factor in KNOWN.factors_of(column)}
    assert KNOWN.factors_of(f"{column}={value}") == KNOWN.factors_of(column)


def test_a_name_in_full_wins_over_a_pattern_that_is_more_actionable() -> None:
    pattern = knowledge(one=(["disk.*.read_ms"], 10), other=(["disk.sda.read_ms", "disk.*.read_ms"], 1))
    assert [factor.key for factor in pattern.factors_of("disk.sda.read_ms")] == ["other", "one"]
    assert [factor.key for factor in pattern.factors_of("disk.sdb.read_ms")] == ["one", "other"]


def test_of_one_factor_a_name_in_full_comes_before_an_earlier_pattern() -> None:
    factor = knowledge(one=(["gpu.*", "gpu.1.temp_c", "gpu.*.temp_c"], 5)).factors["one"]
    assert factor.place("gpu.1.temp_c") == SignalPosition(by_pattern=False, position=1)
    assert factor.place("gpu.0.temp_c") == SignalPosition(by_pattern=True, position=0)
    assert factor.place("temp_c") is None


def test_a_name_without_a_star_is_no_pattern() -> None:
    assert knowledge(one=(["irq.?"], 5)).factor_of("irq.X") is None


@pytest.mark.parametrize(
    ("factor", "first"),
    [
        ("cpu_migrations", "pin_to_cpu"),
        ("run_queue_wait", "own_autogroup"),
        ("page_faults", "glibc_malloc_thresholds"),
        ("page_cache_misses", "prewarm_inputs"),
        ("io_wait", "prewarm_inputs"),
        ("memory_layout", "fixed_layout"),
        ("hash_seed", "python_hash_seed"),
        ("timer_latency", "timer_slack"),
    ],
)
def test_the_first_mitigation_to_try_is_the_most_specific(factor: str, first: str) -> None:
    assert KNOWN.factors[factor].mitigations[0] == first


def test_what_cannot_be_applied_tells_a_person_what_to_do() -> None:
    advice = [m for m in KNOWN.mitigations.values() if m.apply is None]
    assert advice
    assert all(m.steps for m in advice)


def test_nothing_of_process_scope_writes_to_the_kernel() -> None:
    for mitigation in KNOWN.mitigations.values():
        apply = mitigation.apply or Apply()
        stays = apply.write or apply.hold or apply.script or apply.gpu != Gpu()
        assert not (stays and mitigation.scope == "process"), mitigation.key


def test_the_first_broken_file_stops_loading_and_names_the_line(copied: Path) -> None:
    broken = copied / "mitigations" / "jemalloc.yaml"
    broken.write_text(broken.read_text().replace("scope: process", "scope: galaxy"))
    line = broken.read_text().splitlines().index("scope: galaxy") + 1
    with pytest.raises(VgoError, match=rf"jemalloc\.yaml, line {line}: scope"):
        load(copied)


def test_a_folder_without_knowledge_is_refused_with_the_cure(tmp_path: Path) -> None:
    with pytest.raises(VgoError, match="Install vgo-agent again"):
        load(tmp_path)


@settings(deadline=None)
@given(data=st.data())
def test_the_digest_changes_exactly_when_a_byte_does(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.getbasetemp() / "digest"
    if not folder.exists():
        shutil.copytree(HERE, folder, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    path = folder / data.draw(st.sampled_from(FILES))
    before = path.read_bytes()
    place = data.draw(st.integers(0, len(before) - 1))
    after = before[:place] + bytes([data.draw(st.integers(0, 255))]) + before[place + 1 :]
    path.write_bytes(after)
    try:
        assert (digest(folder) == KNOWN.digest) == (after == before)
    finally:
        path.write_bytes(before)


def test_the_digest_changes_when_a_file_gets_another_name(copied: Path) -> None:
    assert digest(copied) == KNOWN.digest
    (copied / "papers" / "vgo-icpe26.md").rename(copied / "papers" / "vgo.md")
    assert digest(copied) != KNOWN.digest


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the mitigation is for glibc only")
def test_the_malloc_settings_really_keep_pages() -> None:
    apply = KNOWN.mitigations["glibc_malloc_thresholds"].apply
    assert apply is not None
    assert _faults(apply.environment) < _faults({}) / 2


def _faults(environment: dict[str, str]) -> int:
    """Count the minor faults of a program that takes, fills and frees 40 MB, more than a threshold may be, 25 times."""
    program = "for _ in range(25): bytearray(b'x') * 40_000_000"
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt
    subprocess.run([sys.executable, "-c", program], env={"PATH": "/usr/bin:/bin", **environment}, check=True)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt - before
