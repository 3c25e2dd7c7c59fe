"""Each workload whose cause lies in or beside the program: the cause follows its argument."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from vgo_agent.evals.workloads.registry import LACKS
from vgo_agent.evals.workloads.surroundings import PROGRAMS
from vgo_agent.evals.workloads.workload import INPUT_BYTES

from .workload_runs import launch, on_one_cpu, ready

KEPT = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(1 << 30), "MALLOC_TOP_PAD_": str(64 << 20)}
FAULTS = 500


def shootdowns() -> int:
    """Return how many interrupts for stale translations all CPUs had since the start of the machine."""
    lines = Path("/proc/interrupts").read_text().splitlines()
    counts = [line.split()[1:] for line in lines if line.split()[0] == "TLB:"]
    if not counts:
        pytest.skip("this machine counts no TLB shootdowns in /proc/interrupts")
    return sum(int(word) for word in counts[0] if word.isdigit())


def test_large_blocks_fault_in_again_unless_malloc_keeps_its_memory(tmp_path: Path) -> None:
    argv = ready("malloc-sizes", tmp_path)
    small, large, kept = launch(*argv, "0"), launch(*argv, "100"), launch(*argv, "100", **KEPT)
    assert large.usage.ru_minflt - small.usage.ru_minflt > 600 * 16 - FAULTS
    assert abs(kept.usage.ru_minflt - small.usage.ru_minflt) < 600 * 2 + FAULTS


def test_the_walk_goes_over_as_much_memory_as_told(tmp_path: Path) -> None:
    argv = ready("random-walk", tmp_path)
    if reason := LACKS["small pages"]():
        pytest.skip(reason)
    small, large = launch(*argv, "256").usage.ru_minflt, launch(*argv, "4096").usage.ru_minflt
    assert large - small == pytest.approx((4096 - 256) / 4, rel=0.1)


def test_lists_that_hold_themselves_make_the_collector_run() -> None:
    program = (
        "import gc\n"
        "from interpreter import make_and_drop\n"
        "for share in (0, 100):\n"
        "    before = gc.get_stats()[0]['collections']\n"
        "    make_and_drop(share)\n"
        "    print(gc.get_stats()[0]['collections'] - before)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=PROGRAMS, capture_output=True, text=True, check=True)
    calm, busy = map(int, done.stdout.split())
    assert calm <= 1
    assert busy > 20


def test_process_starts_starts_as_many_commands_as_told(tmp_path: Path) -> None:
    argv = ready("process-starts", tmp_path)
    none, many = launch(*argv, "0").usage, launch(*argv, "16").usage
    assert many.ru_nvcsw - none.ru_nvcsw >= 8
    assert many.ru_minflt - none.ru_minflt > 16 * 20


def test_each_hand_over_is_a_voluntary_switch(tmp_path: Path) -> None:
    argv = ready("ping-pong", tmp_path)
    calm, busy = launch(*argv, "0").usage.ru_nvcsw, launch(*argv, "500").usage.ru_nvcsw
    assert busy - calm > 250


def test_the_time_of_a_slow_server_is_that_of_the_delay(tmp_path: Path) -> None:
    argv = ready("slow-server", tmp_path)
    slow = launch(*argv, "200")
    assert slow.time_ms >= 200
    assert slow.usage.ru_utime + slow.usage.ru_stime < 0.2 + launch(*argv, "0").usage.ru_utime


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("contention", ["loud"]),
        ("fork-storm", ["loud"]),
        ("faults-and-contention", ["0", "loud"]),
        ("cold-and-contended", ["keep", "loud"]),
    ],
)
def test_a_loud_neighbour_makes_the_program_wait(name: str, arguments: list[str], disk: Path) -> None:
    ended = launch(*ready(name, disk), *arguments)
    if not ended.waited_ns:
        pytest.skip("this kernel shows no /proc/PID/schedstat")
    assert ended.waited_ns > 1_000_000


@pytest.mark.parametrize("disturb", ["disturb", "start_process"])
def test_a_neighbour_left_alone_ends(disturb: str) -> None:
    program = f"import beside; beside.be_neighbour(True, 0, 1, beside.{disturb})"
    done = subprocess.run([sys.executable, "-c", program], cwd=PROGRAMS, capture_output=True, timeout=4)
    assert (done.returncode, done.stdout) == (0, b".")


def test_blocks_unmapped_by_one_thread_interrupt_the_other_unless_malloc_keeps_them(tmp_path: Path) -> None:
    argv = ready("shootdowns", tmp_path)
    calm, busy, kept = launch(*argv, "0"), launch(*argv, "4000"), launch(*argv, "4000", **KEPT)
    assert busy.usage.ru_minflt - calm.usage.ru_minflt > 4000
    assert kept.usage.ru_minflt - calm.usage.ru_minflt < FAULTS


def test_blocks_unmapped_by_one_thread_are_seen_as_shootdowns(tmp_path: Path) -> None:
    # Both threads run at once only while both CPUs are theirs.
    become = "os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))"
    first = (sys.executable, "-c", f"import os, sys; {become}; os.execv(sys.argv[1], sys.argv[1:])")
    if subprocess.run([*first, "/bin/true"], check=False, stderr=subprocess.DEVNULL).returncode:
        pytest.skip("SCHED_FIFO is not permitted here")
    argv = ready("shootdowns", tmp_path)
    before = shootdowns()
    for _ in range(20):
        launch(*first, *argv, "4000")
    assert shootdowns() - before > 500


def test_a_common_lock_puts_threads_to_sleep(tmp_path: Path) -> None:
    argv = ready("lock-convoy", tmp_path)
    with on_one_cpu():
        alone = max(launch(*argv, "0").usage.ru_nvcsw for _ in range(3))
    common = [launch(*argv, "2000").usage.ru_nvcsw for _ in range(20)]  # threads meet while both CPUs are theirs
    assert sum(common) > 20 * alone + 50


def test_the_team_is_as_large_as_told_and_one_thread_by_the_environment(tmp_path: Path) -> None:
    argv = ready("oversubscribed", tmp_path)
    cpus = len(os.sched_getaffinity(0))
    one, many = launch(*argv, "1").usage.ru_minflt, launch(*argv, str(4 * cpus)).usage.ru_minflt
    told = {launch(*argv, OMP_NUM_THREADS="1").usage.ru_minflt for _ in range(6)}
    assert many > one + 4 * cpus  # each thread has a stack
    assert max(told) < many


def test_two_causes_follow_their_own_arguments(tmp_path: Path) -> None:
    argv = ready("faults-and-hops", tmp_path)
    neither, faults, hops = launch(*argv, "0", "0"), launch(*argv, "25", "0"), launch(*argv, "0", "100")
    assert faults.usage.ru_minflt - neither.usage.ru_minflt > 25 * 300
    assert abs(hops.usage.ru_minflt - neither.usage.ru_minflt) < FAULTS
    switches = hops.usage.ru_nvcsw + hops.usage.ru_nivcsw
    assert switches >= 90


def test_faults_beside_a_neighbour_follow_their_argument(tmp_path: Path) -> None:
    argv = ready("faults-and-contention", tmp_path)
    calm, busy = launch(*argv, "0", "quiet"), launch(*argv, "50", "quiet")
    kept = launch(*argv, "50", "quiet", **KEPT)
    assert busy.usage.ru_minflt - calm.usage.ru_minflt > 50 * 300
    assert abs(kept.usage.ru_minflt - calm.usage.ru_minflt) < FAULTS


def test_cold_and_contended_reads_from_the_disk_after_an_eviction_and_only_then(disk: Path) -> None:
    argv = ready("cold-and-contended", disk)
    warm, _, cold, again = (
        launch(*argv, choice, "quiet").usage.ru_inblock for choice in ("keep", "evict", "keep", "keep")
    )
    assert cold * 512 >= 0.9 * INPUT_BYTES
    assert max(warm, again) * 512 < 0.1 * INPUT_BYTES


def test_a_connection_that_finds_the_queue_full_is_asked_for_again_after_a_second(tmp_path: Path) -> None:
    assert launch(*ready("accept-queue", tmp_path), "200").time_ms > 1000


def test_sleeps_are_as_late_as_their_slack_and_who_gives_one_keeps_it(tmp_path: Path) -> None:
    argv = ready("timer-slack", tmp_path)
    exact = [
        sys.executable,
        "-c",
        "import ctypes, os, sys; ctypes.CDLL(None).prctl(29, 1); os.execv(sys.argv[1], sys.argv[1:])",
    ]
    late, kept = (min(launch(*words, *argv, "3000").time_ms for _ in range(3)) for words in ([], exact))
    assert late > 60 * 1.5 > kept / 2


def test_a_small_block_above_them_keeps_blocks_from_being_given_back(tmp_path: Path) -> None:
    argv = ready("malloc-trim", tmp_path)
    last, first, kept = launch(*argv, "last"), launch(*argv, "first"), launch(*argv, "first", **KEPT)
    assert first.usage.ru_minflt - last.usage.ru_minflt > 300 * 6 * 16 - FAULTS  # malloc keeps two of the eight
    assert abs(kept.usage.ru_minflt - last.usage.ru_minflt) < FAULTS


def test_temporary_files_reach_the_disk_only_where_they_lie_on_it(disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    argv = ready("temporary-files", disk)
    monkeypatch.chdir(disk)
    here, memory = (launch(*argv, where).usage.ru_oublock for where in ("here", "memory"))
    assert here - memory >= 30 * 4096 // 512


def test_a_locked_database_is_asked_again_and_waited_for(tmp_path: Path) -> None:
    argv = ready("database-busy", tmp_path)
    free, held = launch(*argv, "0"), launch(*argv, "300")
    assert held.time_ms > 250
    assert held.usage.ru_nvcsw - free.usage.ru_nvcsw >= 5


def test_huge_pages_are_cleared_in_as_few_faults(tmp_path: Path) -> None:
    argv = ready("huge-page-clearing", tmp_path)
    small, huge = launch(*argv, "small").usage, launch(*argv, "huge").usage
    assert abs(huge.ru_minflt - small.ru_minflt) < FAULTS
    assert huge.ru_stime > small.ru_stime


@pytest.mark.parametrize(
    ("drawn", "words", "all_there_are"),
    [(0.39, [], True), (0.41, [], False), (0.01, [], True), (0.01, ["frozen"], False)],
)
def test_the_collector_looks_at_all_there_are_in_two_runs_of_five_and_at_nothing_frozen(
    drawn: float, words: list[str], all_there_are: bool
) -> None:
    program = (
        "import gc, interpreter, sys\n"
        "looked_at = []\n"
        "def look(phase, info):\n"
        "    looked_at.append(sum(len(gc.get_objects(age)) for age in range(info['generation'] + 1)))\n"
        "def timed(work, clock):\n"
        "    gc.callbacks.append(look)\n"
        "    work()\n"
        "interpreter.print_time = timed\n"
        "interpreter.drawn = lambda least, most: int(float(sys.argv.pop(1)) * most)\n"
        "interpreter.collector_phase()\n"
        "print(max(looked_at) > interpreter.HEAP)\n"
    )
    argv = [sys.executable, "-c", program, str(drawn), *words]
    done = subprocess.run(argv, cwd=PROGRAMS, capture_output=True, text=True, check=True)
    assert done.stdout == f"{all_there_are}\n"


def test_a_silent_signal_takes_longer_or_as_long(tmp_path: Path) -> None:
    """How much is up to the processor."""
    argv = ready("denormals", tmp_path)
    silent, loud = (min(launch(*argv, signal).time_ms for _ in range(5)) for signal in ("silent", "loud"))
    assert silent > 0.8 * loud


def test_a_periodic_neighbour_is_met_by_a_run_that_lasts(tmp_path: Path) -> None:
    argv = ready("periodic-neighbour", tmp_path)
    waited = [launch(*argv, "loud").waited_ns for _ in range(6)]
    if not max(waited):
        pytest.skip("this kernel shows no /proc/PID/schedstat")
    assert max(waited) > 2_000_000


def test_lines_are_handed_over_one_by_one_or_in_pieces(tmp_path: Path) -> None:
    argv = ready("log-lines", tmp_path)
    pieces, lines = launch(*argv, "pieces"), launch(*argv, "lines")
    assert lines.time_ms > 300 * 0.06
    assert lines.usage.ru_nvcsw - pieces.usage.ru_nvcsw > 150
