"""Build and run layout.c: whether a number on the stack lies across two cache lines is drawn anew in each run."""

import os
import sys
from pathlib import Path

from ...knowledge.errors import VgoError
from .build import build

SOURCE = Path(__file__).with_suffix(".c")


def main(arguments: list[str]) -> None:
    """Become the program."""
    try:
        program = build(SOURCE)
    except VgoError as error:
        sys.exit(str(error))
    os.execv(program, [str(program), *arguments])


if __name__ == "__main__":
    main(sys.argv[1:])
