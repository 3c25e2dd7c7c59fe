"""Each planted problem is found, with the file and what to do."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from itertools import product
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vgo_agent.knowledge.consistency import problems
from vgo_agent.knowledge.loader import check, load
from vgo_agent.knowledge.schema import KnownFactor

from ..examples import examples


class Plant(NamedTuple):
    """Replace `old` by `new` in a file; `check` must say `said`."""

    file: str
    old: str
    new: str
    said: str


PLANTS = {
    "not YAML": Plant("factors/io_wait.yaml", "aliases:\n", "aliases: [\n", "io_wait.yaml, line"),
    "a character that YAML forbids": Plant("factors/io_wait.yaml", "name: ", "name: \x07", "not YAML"),
    "an unknown key": Plant("factors/io_wait.yaml", "actionable:", "actionabel:", "not a known key"),
    "a missing key": Plant("factors/io_wait.yaml", "actionable: 6\n", "", "actionable: is missing; add it"),
    "a wrong type": Plant("factors/hash_seed.yaml", "actionable: 5", "actionable: much", "line 17: actionable"),
    "an unknown field deep inside": Plant(
        "mitigations/pin_to_cpu.yaml", "affinity: one_cpu", "afinity: one_cpu", "apply.spawn.afinity"
    ),
    "a choice that does not exist": Plant(
        "mitigations/sched_fifo.yaml", "policy: fifo", "policy: lifo", "apply.spawn.policy"
    ),
    "a key unlike the file name": Plant(
        "factors/io_wait.yaml", "key: io_wait", "key: iowait", "line 1: its key is iowait"
    ),
    "a key that stands twice": Plant(
        "factors/io_wait.yaml", "actionable: 6", "actionable: 6\nactionable: 7", "actionable stands twice"
    ),
    "an unknown mitigation": Plant(
        "factors/hash_seed.yaml", "[python_hash_seed]", "[python_hash_seed, pray]", "the mitigation pray is unknown"
    ),
    "an unknown factor": Plant(
        "factors/hash_seed.yaml", "confused_with: [", "confused_with: [ghosts, ", "the factor ghosts is unknown"
    ),
    "a factor confused with itself": Plant(
        "factors/hash_seed.yaml", "confused_with: [", "confused_with: [hash_seed, ", "names the factor itself"
    ),
    "a signal listed twice": Plant(
        "factors/cpu_steal.yaml", "[cpu.steal, ", "[cpu.steal, cpu.steal, ", "signals lists cpu.steal twice"
    ),
    "a state listed twice": Plant("factors/io_wait.yaml", "acts_on: [", "acts_on: [disk, ", "acts_on lists disk twice"),
    "a mitigation listed twice": Plant(
        "factors/hash_seed.yaml",
        "[python_hash_seed]",
        "[python_hash_seed, python_hash_seed]",
        "mitigations lists python_hash_seed twice",
    ),
    "a factor without mitigation": Plant(
        "factors/hash_seed.yaml", "mitigations: [python_hash_seed]", "mitigations: []", "no mitigation is named"
    ),
    "two factors that tie for a column": Plant(
        "factors/cpu_throttling.yaml",
        "signals: [cgroup.throttled_us, ",
        "signals: [involuntary_switches, ",
        "involuntary_switches would name context_switches as well",
    ),
    "two patterns that tie for a column": Plant(
        "factors/disk_queue.yaml",
        "  - disk.*.in_flight\n",
        "  - gpu.*l_capped_us\n",
        "gpu.*.thermal_capped_us would name disk_queue as well",
    ),
    "a launcher without proof": Plant(
        "mitigations/numactl_bind.yaml", "verify: {memory_policy: bind}\n", "", "apply changes wrap"
    ),
    "an empty application": Plant(
        "mitigations/prewarm_inputs.yaml", "apply: {prewarm_inputs: true}\n", "apply: {}\n", "apply is empty"
    ),
    "a proof without application": Plant(
        "mitigations/numactl_bind.yaml", "apply: {", "permanent: {}\n# {", "verify without apply shows nothing"
    ),
    "a write of process scope": Plant(
        "mitigations/thp_always.yaml", "scope: system", "scope: process", "apply.write needs scope system"
    ),
    "a write without root": Plant(
        "mitigations/thp_always.yaml", "root: true", "root: false", "apply.write needs scope system"
    ),
    "a write outside the kernel's settings": Plant(
        "mitigations/thp_always.yaml", "path: /sys/", "path: /etc/", "Only files below /proc/sys and /sys"
    ),
    "a write that climbs out": Plant(
        "mitigations/thp_always.yaml", "path: /sys/", "path: /sys/../etc/", "Only files below /proc/sys and /sys"
    ),
    "a system scope that only touches the process": Plant(
        "mitigations/timer_slack.yaml", "scope: process", "scope: system", "Set scope: process"
    ),
    "a group of process scope": Plant(
        "mitigations/cpu_weight_group.yaml", "scope: cgroup", "scope: process", "Set scope: cgroup"
    ),
    "a group whose controller is not asked for": Plant(
        "mitigations/cpu_weight_group.yaml", "group: [cpu]", "group: [memory]", "Add it to applies.group"
    ),
    "a write in a group of system scope": Plant(
        "mitigations/raise_cpu_quota.yaml", "scope: cgroup", "scope: system", "Set scope: cgroup"
    ),
    "a write in a group without root": Plant(
        "mitigations/raise_cpu_quota.yaml", "{root: true, ", "{", "needs applies.root"
    ),
    "a parameter that stands nowhere": Plant(
        "mitigations/cuda_connections.yaml", "name: queues", "name: lines", "the parameter lines stands nowhere"
    ),
    "a place that is no parameter": Plant(
        "mitigations/cuda_connections.yaml", "name: queues", "name: lines", "{queues} is no parameter"
    ),
    "a deadline without its times": Plant(
        "mitigations/sched_deadline.yaml", ", deadline: {runtime_us: 1800, period_us: 2000}", "", "Give both"
    ),
    "real time without a priority": Plant(
        "mitigations/sched_fifo.yaml", ", priority: 10", "", "needs a priority from 1 to 99"
    ),
    "a reservation that reserves nothing": Plant(
        "mitigations/reserve_cores.yaml", "affinity: all_but_reserved", "affinity: one_cpu", "reserves nothing"
    ),
    "a note without a heading": Plant("papers/vgo-icpe26.md", "# Var", "Var", "has no heading"),
}


@pytest.mark.parametrize("plant", PLANTS.values(), ids=PLANTS)
@pytest.mark.cells(12)
def test_a_planted_problem_is_found(plant: Plant, copied: Path) -> None:
    path = copied / plant.file
    text = path.read_text()
    assert plant.old in text, "the plant no longer fits the file"
    path.write_text(text.replace(plant.old, plant.new, 1))
    found = check(copied)
    assert any(plant.said in problem and path.stem in problem for problem in found), found


def test_what_can_do_harm_stands_last_in_every_factor() -> None:
    """A real-time policy before what changes a promise, and that before what asks for a reboot."""
    knowledge = load()
    for factor in knowledge.factors.values():
        listed = [knowledge.mitigations[key] for key in factor.mitigations]
        harm = [(one.scope == "reboot", bool(one.changes_promise), one.real_time) for one in listed]
        assert harm == sorted(harm), factor.key


def test_advice_without_steps_is_found(copied: Path) -> None:
    path = copied / "mitigations" / "larger_cache.yaml"
    path.write_text(
        "\n".join(line for line in path.read_text().splitlines() if not line.startswith(("steps:", '  - "')))
    )
    assert any("neither apply nor steps" in problem for problem in check(copied))


def test_a_mitigation_that_no_factor_names_is_found(copied: Path) -> None:
    for path in (copied / "factors").glob("*.yaml"):
        path.write_text(re.sub(r"\btimer_slack, |, timer_slack\b|\n +- timer_slack\b", "", path.read_text()))
    assert check(copied) == ["mitigations/timer_slack.yaml: no factor names it. Add it to the mitigations of a factor."]


def test_a_file_that_is_gone_is_missed_by_those_who_name_it(copied: Path) -> None:
    (copied / "mitigations" / "python_hash_seed.yaml").unlink()
    assert any("Add mitigations/python_hash_seed.yaml" in problem for problem in check(copied))


def test_every_broken_file_is_reported_not_only_the_first(copied: Path) -> None:
    for name in ("io_wait", "run_order"):
        (copied / "factors" / f"{name}.yaml").write_text("- a list\n")
    found = check(copied)
    assert len(found) == 2
    assert "io_wait.yaml, line 1" in found[0]
    assert "run_order.yaml, line 1" in found[1]


NAMES = ["".join(letters) for size in range(7) for letters in product("ab", repeat=size)]
SIGNALS = st.text("ab*", min_size=1, max_size=3)


@settings(derandomize=True, deadline=None, max_examples=examples(3))
@given(one=SIGNALS, other=SIGNALS)
def test_two_factors_tie_exactly_when_a_column_could_be_named_by_both(one: str, other: str) -> None:
    factors = {
        key: KnownFactor(key=key, name=key, description=key, signals=(signal,), actionable=5)
        for key, signal in (("first", one), ("second", other))
    }
    tie = any("would name first as well" in problem for problem in problems(factors, {}))
    # Two patterns of three letters that share a name share one of at most six.
    shared = any(fnmatchcase(name, one) and fnmatchcase(name, other) for name in NAMES)
    assert tie == (shared and ("*" in one) == ("*" in other))
