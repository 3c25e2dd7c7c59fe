"""What a stack of the kernel means: which call, which kind of wait, which interrupt; names come from /proc/kallsyms."""

from __future__ import annotations

import bisect
import functools
import re
import struct
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from ...knowledge.time_states import TimeState

HARD_INTERRUPT, SOFT_INTERRUPT = 0x08, 0x10
"""Bits of common_flags of a tracepoint."""
FIRST_MARKER = (1 << 64) - 4096
"""From here on, what stands in a stack for an address says whose addresses follow: PERF_CONTEXT_KERNEL, _USER."""
KERNEL_HALF = 1 << 63
MOST_STACKS = 1 << 16
"""Whose names are remembered."""
HIDDEN = "a function that the kernel hides"
UNNAMED = (
    "the kernel hides where its functions lie, so that waits have no kind: run as root, give the capability CAP_SYSLOG "
    "(a container: --cap-add SYSLOG), or sysctl -w kernel.perf_event_paranoid=1 kernel.kptr_restrict=0"
)


WAITS = tuple(
    (state, re.compile(pattern))
    for state, pattern in (
        (TimeState.WRITE_THROTTLE, "balance_dirty_pages"),
        (TimeState.CHILD, "^do_wait$|wait_for_vfork_done|kernel_wait4|kernel_waitid|_sys_vfork|kernel_clone"),
        (TimeState.SLEEP, "do_nanosleep"),
        (TimeState.RECLAIM, "shrink_|reclaim_throttle|try_to_free_pages|try_to_compact"),
        (
            TimeState.DISK,
            "io_schedule|folio_wait|submit_bio_wait|jbd2_|wait_on_buffer|bit_wait_io|blk_mq_get_tag|rq_qos_wait|"
            "read_swap|iomap_dio|bdev_|io_cqring_wait|read_events",
        ),
        (TimeState.LOCK, "futex_wait|futex_do_wait|futex_lock_pi"),
        (TimeState.FILE_LOCK, "locks_lock_inode_wait|flock_lock_inode|posix_lock_inode_wait|fcntl_setlk"),
        (TimeState.PIPE, "pipe_read|pipe_write|wait_for_partner"),
        (
            TimeState.SOCKET,
            "sk_wait_data|tcp_recvmsg|inet_csk_accept|unix_stream_|unix_accept|__skb_wait_for|sk_stream_wait|"
            "inet_stream_connect|inet_wait_for_connect",
        ),
        (TimeState.POLL, "ep_poll|do_epoll_wait|do_poll|do_sys_poll|do_select|poll_schedule"),
        (TimeState.CPU_MOVE, "affine_move_task|stop_one_cpu"),
        (TimeState.KERNEL_LOCK, "rwsem_down|__mutex_lock|percpu_rwsem|rt_mutex|wait_rcu|synchronize_rcu"),
        (TimeState.SIGNAL, "sigsuspend|sigtimedwait|sys_pause|do_signal_stop"),
    )
)
"""Kinds of waits by functions of the kernel that lie on the stack of the task; the first that fits."""
WAKERS = tuple(
    (label, re.compile(pattern))
    for label, pattern in (
        ("the timer of a delayed ACK", "tcp_delack"),
        ("the timer of a retransmission", "tcp_write_timer|tcp_retransmit"),
        ("a timer", "hrtimer_wakeup|process_timeout"),
        ("an interval timer", "it_real_fn|posix_timer"),
        ("the disk", "blk_|virtblk|nvme|end_bio|bio_endio|scsi_"),
        ("the network", "napi|net_rx|virtnet"),
        ("RCU", "rcu_"),
        ("a timer of the kernel", "delayed_work_timer|wb_timer|call_timer_fn"),
    )
)
"""Who ended a wait, by functions of the kernel that lie on the stack of the CPU; the first that fits."""
TELLING = frozenset({"the timer of a delayed ACK", "the timer of a retransmission", "an interval timer"})
"""Of those, what says more than the call that waited."""
INTERRUPTED = ("asm_sysvec", "asm_common_interrupt", "run_ksoftirqd", "el1h_64_irq", "el0t_64_irq")
"""Beginnings of functions: what runs above them does so in an interrupt."""
FAULTS = (
    *("do_wp_page", "do_anonymous_page", "do_huge_pmd_anonymous_page", "do_huge_pmd_wp_page", "do_swap_page"),
    *("do_cow_fault", "do_read_fault", "do_fault", "filemap_map_pages", "wp_page_copy"),
)
"""Functions that say what kind of page fault it is."""
PREFIXES = re.compile("^(ksys_|__se_sys_|__do_sys_|vfs_|do_)")
CALL = re.compile("^__(?:x64|arm64|se|ia32|riscv|powerpc|s390x?)_sys_(.*)")


class KernelStacks:
    """Reads stacks that the kernel wrote down."""

    def __init__(self, root: Path = Path("/")) -> None:
        """Read where the functions of the kernel lie; it may hide that."""
        self._addresses, self._names = kernel_functions(root)
        self.names = functools.lru_cache(MOST_STACKS)(self._named)
        self.hidden = "" if self._addresses else UNNAMED
        """Why no function has a name."""

    def _named(self, stack: bytes) -> tuple[str, ...]:
        """Functions of the kernel on a stack, the innermost first."""
        addresses = struct.unpack(f"={len(stack) // 8}Q", stack)
        least = self._addresses[0] if self._addresses else KERNEL_HALF
        # What lies below its code is no function: the kernel may read on beyond the end of a stack.
        places = (bisect.bisect_right(self._addresses, one) - 1 for one in addresses if least <= one < FIRST_MARKER)
        return tuple(self._names[place] if place >= 0 else HIDDEN for place in places)


@functools.cache
def kernel_functions(root: Path) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Where the functions of the kernel begin, sorted, and what they are called: read once, a quarter of a second."""
    rows: list[tuple[int, str]] = []
    with (root / "proc/kallsyms").open() as file:
        for line in file:
            address, kind, name = line.split()[:3]
            if kind in "tTwW" and (at := int(address, 16)):
                rows.append((at, name))
    rows.sort()
    return tuple(address for address, _ in rows), tuple(name for _, name in rows)


def program_addresses(stack: bytes) -> Iterator[int]:
    """The addresses of the program on a stack, the innermost first; further ones where it keeps frame pointers."""
    return (one for one in struct.unpack(f"={len(stack) // 8}Q", stack) if 0 < one < KERNEL_HALF)


def wait_of(names: Sequence[str]) -> TimeState:
    """The kind of a wait."""
    return next((state for state, pattern in WAITS if any(map(pattern.search, names))), TimeState.BLOCKED)


@functools.cache
def call_of(names: tuple[str, ...]) -> str:
    """The system call, or `page fault`; empty where the stack shows none."""
    for name in reversed(names):
        if found := CALL.match(name):
            return found[1]
    if any("page_fault" in name or "do_mem_abort" in name for name in names):
        return "page fault"
    if "do_syscall_64" in names:
        below = [name for name in names[: names.index("do_syscall_64")] if name != "x64_sys_call"]
        return PREFIXES.sub("", below[-1]) if below else "entry of a call"
    return "entry of a call" if any(name.startswith("entry_SYSCALL") for name in names) else ""


def interrupt_of(flags: int, names: Iterable[str] | None) -> str:
    """What interrupt made a task able to run; empty where the task that is current did.

    `names` is None where no stack was kept. A soft interrupt is both: what a task sends to itself through the loopback
    device is delivered in its own call. Without a stack the two look alike, and it counts as an interrupt.
    """
    soft, kept = flags & SOFT_INTERRUPT, list(names or ())
    if not flags & HARD_INTERRUPT and not (soft and (names is None or any(map(interrupting, kept)))):
        return ""
    return next((label for label, pattern in WAKERS if any(map(pattern.search, kept))), "an interrupt")


def interrupting(name: str) -> bool:
    """Tell whether what a function calls runs in an interrupt."""
    return name.startswith(INTERRUPTED)
