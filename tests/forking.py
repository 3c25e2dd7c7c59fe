"""Runs Python code in processes forked from one that has its modules loaded, so that no test pays for the imports."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple

SERVER = """
import atexit, gc, importlib, json, os, sys, threading
for name in sys.argv[1:]:
    importlib.import_module(name)
gc.freeze()
for line in sys.stdin:
    asked = json.loads(line)
    child = os.fork()
    if child == 0:
        break
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
else:
    sys.exit()
for number, path in enumerate((os.devnull, asked["out"], asked["error"])):
    os.dup2(os.open(path, os.O_RDWR | os.O_CREAT), number)
os.environ.update(asked["environment"])
sys.argv = ["-c", *asked["words"]]
exec(compile(asked["code"], "<code>", "exec"), {"__name__": "__main__"})
# As at its end, but for taking all modules apart, which takes longer than most code.
threading._shutdown()
atexit._run_exitfuncs()
sys.stdout.flush()
sys.stderr.flush()
os._exit(0)
"""


class Ended(NamedTuple):
    """What a piece of code said, and its exit code."""

    code: int
    out: str
    error: str


class Forking(NamedTuple):
    """The streams of the process that forks."""

    asks: IO[str]
    answers: IO[str]

    def run(self, folder: Path, code: str, *words: str, **environment: str) -> Ended:
        """Run code with words and variables of its own; what it says is kept in the folder meanwhile."""
        said = [folder / "said.out", folder / "said.error"]
        for path in said:
            path.unlink(missing_ok=True)
        streams = dict(zip(("out", "error"), map(str, said), strict=True))
        print(
            json.dumps(streams | {"code": code, "words": words, "environment": environment}), file=self.asks, flush=True
        )
        ended = int(self.answers.readline())
        return Ended(ended, *(path.read_text() for path in said))


@contextmanager
def forking(modules: Sequence[str], environment: Mapping[str, str]) -> Iterator[Forking]:
    """Start a process that has these modules; the environment is for what is read at its start only."""
    words = [sys.executable, "-c", SERVER, *modules]
    with subprocess.Popen(
        words, env=os.environ | environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdin and server.stdout
        yield Forking(server.stdin, server.stdout)
        server.stdin.close()
