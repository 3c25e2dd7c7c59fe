"""Parts of a ledger are recognised by what the knowledge base says of them, and by nothing less."""

import numpy as np
import pytest

from vgo_agent.knowledge.loader import load
from vgo_agent.tools.ledger.recognise import PartSeen, recognised

FACTORS = load().factors.values()
SLOW = np.arange(20) >= 12
NEAR_40 = np.random.default_rng(1).normal(41, 0.5, 12)
BACK_OFF = np.tile([1.06, 2.07, 5.08, 10.1], 5)
COUNTS = np.where(SLOW, 6.0, 1.0)


def key_of(state, words, lengths_ms=(), episodes=COUNTS, failed=None, threads=False, by_state=True):
    """The key of what is recognised, or of what is by more than its state; empty where nothing is."""
    runs = failed if failed is not None else [{} for _ in SLOW]
    part = PartSeen(state, words, np.array(lengths_ms, dtype=float), episodes, runs, SLOW, threads)
    found = recognised(part, FACTORS)
    return found.factor if found and (by_state or not found.by_state) else ""


def failing(call, counts=COUNTS):
    return [{"newfstatat ENOENT": 40, call: int(count)} for count in counts]


@pytest.mark.parametrize(
    ("factor", "state", "words", "lengths"),
    [
        ("delayed_acknowledgements", "socket", " < client: recvfrom(socket:[7])", NEAR_40),
        (
            "delayed_acknowledgements",
            "socket",
            " < client: recvfrom(socket:[7]), woken by the timer of a delayed ACK",
            [],
        ),
        ("network_loss", "socket", " < client: recvfrom(socket:[7])", np.full(8, 204.0)),
        ("accept_queue", "socket", " < client: connect(socket:[7])", np.full(8, 1020.0)),
        ("accept_queue", "socket", " < client: connect(socket:[7])", [1020.0]),
        ("accept_queue", "sleep", "client waits in connect(socket) for server (child) < server (child): pause", []),
        ("resolver_timeout", "poll", " < client: poll", np.full(8, 5003.0)),
        ("blocking_waits", "poll", " < client: poll", np.full(8, 56.1)),
        ("blocking_waits", "poll", " < client: poll", np.geomspace(10, 100, 12)),
        ("blocking_waits", "socket", " < client: recvfrom(socket:[7])", np.geomspace(10, 100, 12)),
        ("blocking_waits", "socket", " < client: recvfrom(socket:[7])", NEAR_40[:3]),
        (
            *("blocking_waits", "sleep"),
            "client waits in poll for server (another program) < server (another program): clock_nanosleep",
            [15.0],
        ),
        ("pauses", "sleep", "sh waits in wait4 for sleep (child) < sleep (child): clock_nanosleep", [30.0]),
        ("lock_contention", "sleep", "a waits in futex for a (thread) < a (thread): clock_nanosleep", [25.0]),
        (
            *("blocking_waits", "sleep"),
            "a waits in futex for a (thread) < a (thread) waits in read for b (another program)"
            " < b (another program): clock_nanosleep",
            [25.0],
        ),
        ("lock_retries", "sleep", " < python: clock_nanosleep", BACK_OFF),
        ("pauses", "sleep", " < python: clock_nanosleep", np.tile([5.06, 10.1, 20.1], 5)),
        ("pauses", "sleep", " < python: clock_nanosleep", np.random.default_rng(2).uniform(1, 100, 40)),
        ("file_locks", "file_lock", " < apt: fcntl(/var/lib/lock)", [30.0]),
        ("file_locks", "user", "a waits in flock(/x) for b < b", []),
        ("file_locks", "sleep", "a waits in flock(/x) for b < b: clock_nanosleep", [70.0]),
        ("journal_commits", "peer_on_cpu", "db waits in fdatasync(/x) for jbd2/vda1-8 < jbd2/vda1-8", []),
        ("synchronous_writes", "disk", " < db: fdatasync(/x)", [4.0]),
        ("directory_locks", "kernel_lock", " < make: renameat2", [4.0]),
        ("directory_lookups", "system", " < openat, make", []),
        ("directory_lookups", "system", "sh waits in wait4 for find (child) < newfstatat, find (child)", []),
        ("page_cache_misses", "disk", " < sort: read(/data/in)", [4.0]),
        ("synchronous_writes", "disk", "a waits in read(pipe) for b (child) < b (child): fdatasync(/x)", [4.0]),
        ("major_faults", "disk", " < sort: page fault", [4.0]),
        ("dirty_writeback", "write_throttle", " < cp: write(/x)", [90.0]),
        ("copy_on_write", "page_fault", " < do_wp_page, redis", []),
        ("huge_page_clearing", "page_fault", " < do_huge_pmd_anonymous_page, thp", []),
        ("page_faults", "page_fault", " < do_anonymous_page, trim", []),
        ("spin_waits", "user", " < gomp_team_barrier_wait_end in libgomp.so.1.0.0, solve", []),
        ("spin_waits", "user", " < code without a symbol (spinning) in libgomp.so.1.0.0, solve", []),
        ("", "user", " < code without a symbol in libgomp.so.1.0.0, solve", []),
        ("", "user", " < GOMP_loop_dynamic_next in libgomp.so.1.0.0, solve", []),
        ("", "user", " < wait_end in gompertz, gompertz", []),
        (
            "priority_inversion",
            "queue_others",
            "a waits in futex for b < behind make, both of lower priority than a",
            [4.0],
        ),
        ("other_processes", "queue_others", "a waits in futex for b < behind make", [4.0]),
        ("other_processes", "queue_others", " < behind make", [4.0]),
        ("other_processes", "queue_others", " < behind vgo-agent", [4.0]),
        ("profiling_tools", "queue_others", " < behind vgo-agent (this one)", [4.0]),
        ("kernel_threads", "queue_others", " < behind kworker/0:1", [4.0]),
        ("softirq_network", "interrupt", " < net_rx_action, solve", []),
        ("cpu_throttling", "throttled", " < solve, by its CPU quota", [60.0]),
        ("", "queue_nobody", " < solve", [60.0]),
        ("slow_output", "peer_on_cpu", "a waits in write(pipe:[3]) for tee < tee", []),
    ],
)
def test_a_part_is_recognised_by_its_call_its_length_or_its_function(factor, state, words, lengths):
    assert key_of(state, words, lengths) == factor


def test_a_loop_that_tries_again_is_told_from_sleeps_by_the_call_that_fails_as_often():
    words = " < worker: clock_nanosleep"
    assert key_of("sleep", words, [3.0], failed=failing("connect ECONNREFUSED"), by_state=False) == "pauses"
    assert key_of("sleep", words, [3.0], failed=failing("openat EEXIST"), by_state=False) == "pauses"
    assert key_of("sleep", words, BACK_OFF, failed=failing("fcntl EAGAIN"), by_state=False) == "lock_retries"
    assert key_of("sleep", words, [3.0], failed=failing("connect ECONNREFUSED", COUNTS[::-1]), by_state=False) == ""
    assert key_of("sleep", words, [3.0], failed=failing("connect ECONNREFUSED", 3 * COUNTS), by_state=False) == ""


def test_one_pause_in_each_run_beside_one_call_that_fails_is_no_loop():
    once, words = np.ones(SLOW.size), " < worker: clock_nanosleep"
    assert key_of("sleep", words, [3.0], once, failed=failing("ioctl ENOTTY", once), by_state=False) == ""
    assert key_of("sleep", words, [3.0], 4 * once, failed=failing("ioctl ENOTTY", 4 * once), by_state=False) == "pauses"


def test_as_many_sleeps_that_last_longer_are_late_timers():
    many = np.full(SLOW.size, 60.0)
    assert key_of("sleep", " < poller: clock_nanosleep", np.full(12, 0.9), many, by_state=False) == "timer_latency"
    assert key_of("sleep", " < poller: clock_nanosleep", np.full(12, 0.9), many * (1 + SLOW), by_state=False) == ""


def test_unmapping_interrupts_other_cpus_only_where_several_threads_of_a_process_run():
    assert key_of("system", " < munmap, solve", threads=True) == "tlb_shootdowns"
    assert key_of("system", " < munmap, solve") == ""
