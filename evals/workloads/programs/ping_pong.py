"""Compute, and hand a byte to a child and back through two pipes a random number of times.

Each hand-over is a voluntary context switch: the one sleeps until the other has answered. The child runs on another
CPU, where one is allowed, and each wake-up interrupts that CPU; pinned to one CPU they only take turns.
An argument fixes the number of hand-overs.
"""

import os
import time

from work import amount, compute, print_time


def start_child() -> tuple[int, int, int]:
    """Fork a child that answers each byte until nobody asks; return where to ask, where to listen, and its id."""
    question, ask = os.pipe()
    listen, answer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
            os.close(ask)
            while asked := os.read(question, 1):
                os.write(answer, asked)
        finally:
            os._exit(0)
    os.close(question)
    os.close(answer)
    return ask, listen, child


def compute_and_ask(ask: int, listen: int, turns: int) -> None:
    """Compute, and hand over a byte so often."""
    compute(2)
    for _ in range(turns):
        os.write(ask, b".")
        os.read(listen, 1)


if __name__ == "__main__":
    turns = amount(0, 500)
    ask, listen, child = start_child()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    print_time(lambda: compute_and_ask(ask, listen, turns), time.process_time_ns)
    os.close(ask)
    os.waitpid(child, 0)
