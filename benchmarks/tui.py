"""The terminal app on a real pseudo-terminal: first frame, keys while runs stream in, large runs, a moved cut, memory.

python benchmarks/tui.py [--runs 10000] [--rate 200] [--rows 100000]

Each part prints a row: what, measured, target. Time of the screen is from writing a key to reading it on the terminal.
"""

from __future__ import annotations

import argparse
import asyncio
import fcntl
import json
import os
import pty
import select
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from vgo_agent.agent.diagnosis import DiagnosisRequest
from vgo_agent.agent.run_folder import RunFolder, write
from vgo_agent.agent.terminal import table
from vgo_agent.agent.transcript import Decision, RunStart, ToolEnd, ToolStart, Transcript
from vgo_agent.tools.row import RUNS
from vgo_agent.tools.subject import Limits, Subject

SCRIPT = str(Path(sys.executable).with_name("vgo-agent"))
TEXTUAL = "import textual.app, textual.screen, textual.widgets, textual.widgets._markdown, textual.containers"
PROMPT = "/ for commands"
KEYS = "абвгдежзийклмнопрстуфхцчшщъыьэюя"
"""Letters that nothing else on the screen has."""
KEY_EVERY_S = 0.15
ENV = os.environ | {"TERM": "xterm-256color", "LC_ALL": "C.UTF-8", "TEXTUAL_ANIMATIONS": "none"}
PATIENCE_S = 60.0


class Screen:
    """The app on a pseudo-terminal."""

    def __init__(self, *words: str) -> None:
        """Start it."""
        self.started = time.perf_counter()
        self.pid, self.terminal = pty.fork()
        if not self.pid:
            os.execve(SCRIPT, [SCRIPT, "chat", *words], ENV)
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        self.seen = ""

    def wait_for(self, *words: str) -> float:
        """Read until all of these were drawn since the last wait; give the moment."""
        deadline = time.perf_counter() + PATIENCE_S
        while not all(word in self.seen for word in words):
            ready, _, _ = select.select([self.terminal], [], [], 0.5)
            if time.perf_counter() > deadline:
                raise SystemExit(f"{words} did not appear; the end of what did: {self.seen[-500:]!r}")
            if ready:
                self.seen += os.read(self.terminal, 1 << 16).decode(errors="replace")
        self.seen = ""
        return time.perf_counter()

    def press(self, key: str) -> float:
        """Press a key and wait until it is drawn; give the seconds."""
        pressed = time.perf_counter()
        os.write(self.terminal, key.encode())
        return self.wait_for(key) - pressed

    @property
    def rss_mb(self) -> float:
        """Resident memory of the app."""
        words = Path(f"/proc/{self.pid}/statm").read_text().split()
        return int(words[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6

    def close(self) -> None:
        """End it."""
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.terminal)


@contextmanager
def screen(*words: str) -> Iterator[Screen]:
    """Open the app, and end it."""
    one = Screen(*words)
    try:
        yield one
    finally:
        one.close()


def main() -> None:
    """Measure every part, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10_000, help="that stream in")
    parser.add_argument("--rate", type=float, default=200.0, help="runs a second")
    parser.add_argument("--rows", type=int, default=100_000, help="of the large run")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        rows = [*first_frame(place), *streaming(place, asked.runs, asked.rate), *large(place, asked.rows), *cut()]
    print(table(("WHAT", "MEASURED", "TARGET", ""), rows))


def first_frame(place: Path) -> Iterator[tuple[str, ...]]:
    """Time the first frame beyond what importing Textual costs."""
    imports = statistics.median(elapsed([sys.executable, "-c", TEXTUAL]) for _ in range(5))
    frames = []
    for _ in range(5):
        with screen("--out", str(place / "none"), "--step", "--", "/bin/true") as one:
            frames.append(one.wait_for(PROMPT) - one.started)
    beyond = statistics.median(frames) - imports
    yield row("first frame beyond the import of Textual", beyond, 1.0, f"{imports:.2f} s")


def streaming(place: Path, runs: int, rate: float) -> Iterator[tuple[str, ...]]:
    """Press keys while runs come in."""
    folder = begun(place / "streaming")
    writing = threading.Thread(target=stream, args=(folder, runs, rate), daemon=True)
    with screen(str(folder.path)) as one:
        one.wait_for(PROMPT)
        time.sleep(2.0)
        before = one.rss_mb
        writing.start()
        took = list(presses(one, writing.is_alive))
        after = one.rss_mb
    quiet = f"{len(took)} keys in {runs} runs at {rate:.0f} a second"
    yield row("a key while runs stream, p95", float(np.quantile(took, 0.95)), 0.05, quiet)
    yield row("a key while runs stream, longest", max(took), 0.2, quiet)
    yield ("memory", f"{before:.0f} MB, {after:.0f} MB after {runs} runs", "bounded", "")


def presses(one: Screen, going_on: Callable[[], bool]) -> Iterator[float]:
    """Press keys one by one, and clear the line when every letter was used."""
    place = 0
    while going_on():
        yield one.press(KEYS[place])
        place = (place + 1) % len(KEYS)
        if not place:
            os.write(one.terminal, b"\x15")  # ctrl+u
            time.sleep(0.2)
        time.sleep(KEY_EVERY_S)


def large(place: Path, rows: int) -> Iterator[tuple[str, ...]]:
    """Open a run with many rows, and one without."""
    took = {}
    for name, count in (("empty", 0), ("large", rows)):
        folder = begun(place / name)
        if count:
            closed(folder, count)
        with screen(str(folder.path)) as one:
            took[name] = one.wait_for(PROMPT, f"{count} runs" if count else PROMPT) - one.started
    yield row(f"opening {rows} rows", took["large"] - took["empty"], 2.0, "beyond a run without rows")


def cut() -> Iterator[tuple[str, ...]]:
    """Move a cut at 1,000 runs of 100 columns: label, fit and rank again."""
    yield row("a moved cut at 1000 x 100", asyncio.run(refits()), 0.3, "median of 9, in the process that computes")


async def refits() -> float:
    """Ask the process that computes, as the tabs do."""
    from vgo_agent.agent.look.computer import Computer
    from vgo_agent.agent.look.messages import OpenFile, Refit

    random = np.random.default_rng(1)
    outcomes = random.gamma(2.0, size=1000)
    values = random.normal(size=(1000, 100)) + outcomes[:, None] * (np.arange(100) < 3)
    answered = asyncio.Event()
    computer = Computer(lambda question, answer: answered.set())
    took = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "runs.csv"
        header = ",".join(("time_s", *(f"c{n}" for n in range(100))))
        np.savetxt(path, np.column_stack((outcomes, values)), delimiter=",", header=header, comments="")
        for number in range(11):
            question = Refit(float(np.quantile(outcomes, 0.5 + 0.03 * number))) if number else None
            answered.clear()
            begun = time.perf_counter()
            if question:
                computer.ask(question)
            else:
                computer.open(OpenFile(str(path)))
            await asyncio.wait_for(answered.wait(), PATIENCE_S)
            took.append(time.perf_counter() - begun)
        await computer.close()
    return statistics.median(took[2:])


def begun(path: Path) -> RunFolder:
    """Make a run whose first step has begun and has no rows yet."""
    (path / "artefacts").mkdir(parents=True)
    (path / "partial").mkdir()
    folder = RunFolder(path)
    subject = Subject(command=("./bench.sh",), argv=("/bin/true",), directory="/")
    write(path / "request.json", DiagnosisRequest(subject=subject, limits=Limits()).model_dump_json().encode())
    transcript = Transcript.open(folder.transcript)
    start = RunStart(subject=subject, limits=Limits(), planner="rules", machine="", knowledge="", schemas="")
    chosen = Decision(call_id="c001", tool="measure", arguments={}, why="first", origin="rules", legal=("measure",))
    for body in (start, chosen, ToolStart(call_id="c001")):
        transcript.append(body)
    return folder


def made(count: int) -> Iterator[dict[str, object]]:
    """Draw rows with two modes."""
    random = np.random.default_rng(1)
    outcomes = np.where(random.random(count) < 0.3, 2.0, 1.0) * random.lognormal(0, 0.1, count)
    for order, outcome in enumerate(outcomes.tolist()):
        fixed = {"order": order, "condition": "baseline", "pair": -1, "ok": 1, "exit_code": 0, "survivors": 0}
        yield {**fixed, "outcome": outcome, "wall_s": outcome, "layers": ""}


def stream(folder: RunFolder, runs: int, rate: float) -> None:
    """Append rows as a bench does, at this rate."""
    begin = time.perf_counter()
    with (folder.partial / "c001.jsonl").open("wb", buffering=0) as file:
        for number, one in enumerate(made(runs), 1):
            file.write(json.dumps(one).encode() + b"\n")
            time.sleep(max(0.0, begin + number / rate - time.perf_counter()))


def closed(folder: RunFolder, count: int) -> None:
    """End the first step with so many rows."""
    rows = list(made(count))
    lines = [",".join(rows[0]), *(",".join(map(str, one.values())) for one in rows)]
    digest = folder.put("\n".join(lines).encode() + b"\n")
    result = {"summary": f"{count} runs", "spent_s": 1.0}
    Transcript.open(folder.transcript).append(ToolEnd(call_id="c001", result=result, artefacts={RUNS: digest}))


def elapsed(argv: list[str]) -> float:
    """Run once."""
    started = time.perf_counter()
    subprocess.run(argv, check=True, env=ENV)
    return time.perf_counter() - started


def row(what: str, seconds: float, target: float, how: str) -> tuple[str, ...]:
    """Lay out one number."""
    met = "met" if seconds <= target else "missed"
    return what, f"{1e3 * seconds:.0f} ms", f"<= {1e3 * target:.0f} ms, {met}", how


if __name__ == "__main__":
    main()
