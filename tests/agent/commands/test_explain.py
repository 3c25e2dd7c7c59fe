"""`vgo-agent explain` answers for every row of the paper's Table 1, with sources, from what ships alone."""

import json
import os
import re

import pytest

from vgo_agent.knowledge.loader import load

KNOWN = load()

# Factor and the words of its cures, as Table 1 of the seed vgo-icpe26-paper.txt has them, and what must be among the
# mitigations that are named: one of each inner tuple.
TABLE_1 = {
    "Context switches": (("sched_fifo", "sched_batch"), ("pin_to_cpu",)),
    "Thread affinity": (("pin_to_cpu", "omp_bind"),),
    "Branch mispredictions": (("guide_branches",),),
    "Cache misses": (("stop_the_others", "cache_partition"), ("disable_smt",)),
    "CPU migrations": (("pin_to_cpu", "omp_bind"), ("sched_fifo",), ("numa_balancing_off",)),
    "Page faults": (("jemalloc",), ("code_preallocate",)),
    "dTLB misses": (("jemalloc", "glibc_hugetlb"), ("thp_always",)),
    "Memory refresh rate": (("lower_refresh_rate",),),
    "Emulation faults": (("recompile_for_target",),),
    "L1 icache misses": (("smaller_code",),),
    "CPU frequency": (("cool_down",), ("shallow_idle_states", "deep_idle_states_off"), ("fix_frequency",)),
    "Remote memory & Neighbor MCM Cache accesses": (("numactl_bind",),),
    "GPU memory copy": (("pinned_host_memory",),),
    "GPU temperature": (("gpu_fan_fixed", "better_cooling"), ("cap_frequency", "gpu_lock_base_clock")),
    "GPU frequency": (("gpu_fan_fixed", "better_cooling"), ("cap_frequency", "gpu_lock_base_clock")),
    "GPU kernel launch overhead": (("cuda_graphs",),),
}


@pytest.fixture
def explain(vgo, tmp_path):
    def run(*words, status=0):
        env = {"XDG_CACHE_HOME": os.environ.get("VGO_TEST_CACHE", str(tmp_path / "cache"))}
        done = vgo("explain", *words, env=env)
        assert done.returncode == status, done.stderr
        assert "Traceback" not in done.stderr
        return done.stdout

    return run


@pytest.mark.cells(4)
@pytest.mark.parametrize(("row", "cures"), TABLE_1.items())
def test_every_row_of_table_1_is_explained_with_its_cures(explain, row, cures):
    said = json.loads(explain(row, "--json"))
    assert said["kind"] == "factor"
    assert len(said["description"]) > 100
    assert said["signals"] or said["confused_with"]
    named = {cure["key"] for cure in said["mitigations"]}
    for choice in cures:
        assert named & set(choice), f"{row}: none of {choice}"
    assert said["references"]
    assert all(cure["when"] and cure["hurts"] and cure["here"] for cure in said["mitigations"])


@pytest.mark.cells(1)
@pytest.mark.parametrize("name", ["sleep", "queue_others", "asleep by a timer"])
def test_a_state_of_the_ledger_is_explained_with_what_acts_on_it(explain, name):
    said = json.loads(explain(name, "--json"))
    assert said["kind"] == "state"
    assert {one["key"] for one in said["factors"]} == {
        key for key, factor in KNOWN.factors.items() if said["key"] in factor.acts_on
    }
    assert any(one["layer"] == "stacks" for one in said["signals"])
    assert said["measured"] and said["rung"] and said["next"]


def test_the_answer_has_every_part_and_every_number_has_its_source(explain):
    text = explain("page faults")
    for heading in (
        "How it shows",
        "Easily confused with",
        "What to do, in this order",
        "Sources\n",
        "Notes on papers\n",
    ):
        assert heading in text
    body, sources = text.split("Sources\n")
    used = {int(n) for group in re.findall(r"\[([\d, ]+)\]", body) for n in group.split(",")}
    listed = {int(n) for n in re.findall(r"^  \[(\d+)\] ", sources, re.M)}
    assert used == listed == set(range(1, len(listed) + 1))
    positions = [text.index(f"({key}, ") for key in KNOWN.factors["page_faults"].mitigations]
    assert positions == sorted(positions)


def test_a_column_is_described_before_the_factor_that_it_shows(explain):
    said = json.loads(explain("perf.migrations", "--json"))
    assert said["key"] == "cpu_migrations"
    assert said["column"]["name"] == "perf.migrations"
    shown = {signal["column"]: signal for signal in said["signals"]}
    assert shown["migrations"]["layer"] == "process"


def test_a_mitigation_says_what_it_changes_when_it_hurts_and_the_next_step(explain):
    text = explain("plain_nice")
    for words in ("When it helps:", "When it hurts:", "nice -n -20", "vgo-agent try plain_nice", "Sources\n"):
        assert words in text


def test_a_cure_that_this_machine_cannot_try_says_why(explain):
    said = json.loads(explain("gpu temperature", "--json"))
    assert all(cure["here"].startswith(("no: ", "a person", "can be tried")) for cure in said["mitigations"])


@pytest.mark.cells(1)
@pytest.mark.parametrize("name", ["page faul", "page-faultz", "pag faults"])
def test_an_unknown_name_gives_the_nearest_and_a_search(explain, name):
    text = explain(name)
    assert "page_faults" in text.partition("\n\n")[0]
    assert "vgo-agent explain page_faults" in text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "code"),
    [(["日本語"], 1), (["x" * 5000], 0), (["--", "-x"], 0), (["\x1b[31mred"], 0), (["../../etc/passwd"], 0)],
)
def test_nonsense_is_answered_in_words(vgo, words, code):
    done = vgo("explain", *words)
    assert (done.returncode, "Nothing that is known" in done.stdout) == (code, bool(code))
    assert "\x1b" not in done.stdout and not done.stderr


def test_an_empty_name_is_refused(vgo):
    done = vgo("explain", " ")
    assert (done.returncode, done.stdout) == (1, "")
    assert "Nothing is asked for" in done.stderr


def test_no_network_and_no_model_are_needed_for_a_known_name(tmp_path):
    import subprocess
    import sys

    program = (
        "import socket, sys\n"
        "def refuse(*arguments): raise OSError('no network here')\n"
        "socket.socket.connect = refuse\n"
        "from vgo_agent.agent.cli import main\n"
        "status = main(['explain', 'cpu_steal'])\n"
        "assert not {'chromadb', 'llama_cpp', 'sklearn'} & set(sys.modules)\n"
        "sys.exit(status)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "CPU steal" in done.stdout or "steal" in done.stdout
