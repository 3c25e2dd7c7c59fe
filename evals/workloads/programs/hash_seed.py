"""Search a set of words, in the order in which the set gives them, until the one wanted comes.

The order follows the hash seed that the interpreter draws at its start, so the search is a lottery that no
counter of the system shows; PYTHONHASHSEED fixes the ticket (maybe a bad one). An argument, `sorted`,
takes the order of the alphabet.
"""

import sys
import time

from work import print_time

WORDS = 1000
MODULUS = (1 << 127) - 1


def search(words: set[str] | list[str], wanted: str) -> int:
    """Examine words until `wanted`; return how many were looked at."""
    for looked_at, word in enumerate(words, 1):
        pow(3, MODULUS - 2, MODULUS)  # an examination costs something
        if word == wanted:
            return looked_at
    return len(words)


if __name__ == "__main__":
    words = {f"word{number}" for number in range(WORDS)}
    order = sorted(words) if sys.argv[1:] else words
    print_time(lambda: search(order, "word7"), time.process_time_ns)
