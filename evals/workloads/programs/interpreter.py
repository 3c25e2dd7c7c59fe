"""Programs that Python itself makes vary: no counter of the system shows why. CPU times.

The first argument names the program; the one behind it fixes what is otherwise drawn.
"""

from __future__ import annotations

import sys
import time

from work import amount, drawn, print_time, run

WORDS = 1000
MODULUS = (1 << 127) - 1
LISTS, LIVE_LISTS = 60_000, 3_000
HEAP, KEPT = 200_000, 20_000


def hash_seed() -> None:
    """Search a set of words, in the order in which the set gives them, until the one wanted comes.

    The order follows the hash seed that the interpreter draws at its start, so the search is a lottery; PYTHONHASHSEED
    fixes the ticket (maybe a bad one). Argument: sorted, for the order of the alphabet.
    """
    words = {f"word{number}" for number in range(WORDS)}
    order = sorted(words) if sys.argv[1:] else words

    def search() -> None:
        for word in order:
            pow(3, MODULUS - 2, MODULUS)  # an examination costs something
            if word == "word7":
                return

    print_time(search, time.process_time_ns)


def gc_pauses() -> None:
    """Make and drop 60000 small lists; a random share of them hold themselves, and only the collector frees those.

    The rest is freed at once, when its last reference goes. How often the collector runs is nobody's business but the
    interpreter's. Argument: the share in percent.
    """
    import gc

    share = amount(0, 100)
    live = [[None] for _ in range(LIVE_LISTS)]
    make_and_drop(100)  # the memory for the garbage is there before the clock starts, whatever the share
    gc.collect()
    print_time(lambda: make_and_drop(share), time.process_time_ns)
    live.clear()


def collector_phase() -> None:
    """Make 20000 lists and keep them, while in 40 % of the runs the collector looks at all that there are.

    It does so when enough were made since it last did, and a quarter of the heap is new; which run that falls into
    follows from all that was made before. Argument: frozen, for a collector that looks at nothing old.
    """
    import gc

    rounds, of_rounds, of_those = gc.get_threshold()
    heap = [[number] for number in range(HEAP)]
    gc.collect()
    # Each counter has to pass its threshold, and is looked at when the one before it has.
    due = max((rounds + 1) * ((of_rounds + 2) * (of_those + 1) + 1), HEAP // 4)
    kept = [[number] for number in range(due - drawn(0, int(KEPT / 0.4)))]
    if sys.argv[1:]:
        gc.collect()
        gc.freeze()
    print_time(lambda: kept.extend([number] for number in range(KEPT)), time.process_time_ns)
    heap.clear()


def make_and_drop(share: int) -> None:
    """Make all lists; `share` percent of them, evenly spread, hold themselves."""
    owed = 0
    for _ in range(LISTS):
        owed += share
        fresh: list[object] = [None]
        if owed >= 100:
            owed -= 100
            fresh[0] = fresh


if __name__ == "__main__":
    run(hash_seed, gc_pauses, collector_phase)
