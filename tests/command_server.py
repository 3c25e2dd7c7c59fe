"""Forks the command from a process that has its libraries loaded, so that no test pays for the imports of another.

The forked process goes on as `vgo-agent` would: the same entry point, a real exit status, real signals and streams.
What a command has imported, the server imports before the next one; files that ship it reads then, too.
"""

import atexit
import gc
import importlib
import json
import os
import socket
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NoReturn


def wait_for_request(address: str, learned: Path) -> set[str]:
    """Serve for ever; return in each forked process that is to carry out a command, with what is imported there."""
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(address)
        listening.listen()
        print("ready", flush=True)
        while True:
            connection, _ = listening.accept()
            _import(learned)
            gc.freeze()
            if os.fork() == 0:
                break
            connection.close()
            with suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
    known = set(sys.modules)
    _, streams, _, _ = socket.recv_fds(connection, 1, 3)
    with connection, connection.makefile("rw") as talk:
        request = json.loads(talk.readline())
        command = os.fork()
        if command:
            print(command, file=talk, flush=True)
            print(os.waitpid(command, 0)[1], file=talk, flush=True)
            os._exit(0)
    _become(request, streams)
    return known


def _become(request: dict[str, object], streams: Sequence[int]) -> None:
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    if request.get("start_new_session"):
        os.setsid()
    os.chdir(str(request["cwd"]))
    os.environ.clear()
    os.environ.update(dict(request["env"]))  # type: ignore[call-overload]
    sys.argv = list(request["argv"])  # type: ignore[call-overload]


def _import(learned: Path) -> None:
    for name in learned.read_text().split():
        if name not in sys.modules:
            with suppress(ImportError):
                importlib.import_module(name)
    learned.write_text("")
    for module, read in (("vgo_agent.knowledge.loader", "load"), ("vgo_agent.layers.loader", "load_layers")):
        if module in sys.modules:
            getattr(sys.modules[module], read)()  # what is read once in a process is read in this one


def _learn(learned: Path, known: set[str]) -> None:
    with learned.open("a") as file:
        new = (name for name in tuple(sys.modules) if name not in known)  # a thread may import meanwhile
        file.write(" ".join(name for name in new if not name.startswith("_")) + "\n")


def _end(code: int) -> NoReturn:
    """End as `sys.exit` does, but for taking all modules apart, which takes longer than most commands."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    said = Path(sys.argv[2])
    before = wait_for_request(sys.argv[1], said)
    from vgo_agent.agent.start import main

    try:
        code = main()
    except SystemExit as ended:  # of argparse
        code = int(ended.code or 0)
    finally:
        _learn(said, before)
    _end(code)
