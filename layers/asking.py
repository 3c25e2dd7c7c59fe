"""Commands that must succeed on this machine before a layer or launcher can be used."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Mapping, Sequence

from .schema import Layer

READY_S = 5.0
"""A service of this machine that has not answered by then does not."""


def refusal(layer: Layer, environment: Mapping[str, str] = os.environ) -> str:
    """Run the commands that must succeed for a launcher and say which does not, and the cure; empty when all do."""
    for command, cure in layer.asks.items():
        try:
            done = answer(shlex.split(command), environment, READY_S)
        except subprocess.TimeoutExpired:
            return f"`{command}` did not answer within {READY_S:g} s: {cure}"
        except OSError as error:
            return f"`{command}` cannot be started ({error.strerror}): {cure}"
        if done.returncode != 0:
            said = one_line(done.stderr)
            return f"`{command}` ended with {done.returncode}{f' and said {said!r}' if said else ''}: {cure}"
    return ""


def answer(argv: Sequence[str], environment: Mapping[str, str], limit_s: float) -> subprocess.CompletedProcess[bytes]:
    """Run a command without input; raise OSError or TimeoutExpired where it cannot be started or takes too long."""
    return subprocess.run(
        argv, env=dict(environment), stdin=subprocess.DEVNULL, capture_output=True, timeout=limit_s, check=False
    )


def one_line(said: bytes) -> str:
    """Return the beginning of a message, in one line that can be printed."""
    lines = said.decode(errors="replace").splitlines()
    words = " ".join(line.strip() for line in lines if any(map(str.isalpha, line)))
    return shortened("".join(c if c.isprintable() else " " for c in words))


def shortened(words: str, most: int = 200) -> str:
    """Cut a long message between two words, and show that it goes on."""
    if len(words) <= most:
        return words
    return f"{words[:most].rpartition(' ')[0] or words[:most]} ..."
