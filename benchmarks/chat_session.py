"""Record a whole diagnosis of `cpu-hops` by talking: an asciinema file, and pictures of its best screens.

python benchmarks/chat_session.py [--into docs] [--budget 90]

Needs tmux, asciinema, and Chromium or rsvg-convert for PNG. What is typed is typed by this script; all else happens.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from shlex import join

ROOT = Path(__file__).resolve().parent.parent
CHAT = str(Path(sys.executable).with_name("vgo-agent"))
NEEDS = ("tmux", "asciinema")
SIZE = (120, 36)
PATIENCE_S = 400.0
KEY_S, READ_S = 0.05, 2.0
"""Between two letters, and after an answer: who watches reads along."""
TOAST_S = 6.0
"""Until the note that a picture was saved has gone; it would be in the next one."""
PICTURES = {"profile": "chat-measured", "rank": "chat-factors", "verdict": "chat-verdict"}
"""What was said before a picture is taken, and its name."""


class Typist:
    """Sits at a terminal of its own."""

    def __init__(self, place: Path, command: str) -> None:
        """Open it."""
        self.place = place
        self._name = f"vgo-chat-{os.getpid()}"
        wide, high = map(str, SIZE)
        self._do("-u", "-f", "/dev/null", "new-session", "-d", "-x", wide, "-y", high, "-c", str(place), command)

    def _do(self, *words: str) -> str:
        done = subprocess.run(["tmux", "-L", self._name, *words], capture_output=True, text=True, check=False)
        return done.stdout

    def say(self, line: str, *until: str) -> None:
        """Type a line letter by letter, then wait until all of these stand on the screen."""
        for letter in line:
            self._do("send-keys", "-l", letter)
            time.sleep(KEY_S)
        self._do("send-keys", "Enter")
        self.wait_for(*until)
        time.sleep(READ_S)

    @property
    def open(self) -> bool:
        """Whether the terminal is still there."""
        return bool(self._do("list-sessions"))

    def wait_for(self, *words: str) -> None:
        """Wait for the screen."""
        self.wait_until(lambda: all(word in self._do("capture-pane", "-p") for word in words), str(words))

    def wait_until(self, holds: Callable[[], bool], what: str = "the end") -> None:
        """Wait; where it does not come, say what stands on the screen instead."""
        deadline = time.monotonic() + PATIENCE_S
        while not holds():
            if time.monotonic() > deadline or not self.open:
                shown = self._do("capture-pane", "-p")
                self.close()
                raise SystemExit(f"{what} did not come; the screen was:\n{shown}")
            time.sleep(0.2)

    def close(self) -> None:
        """End the terminal."""
        self._do("kill-server")


def main() -> None:
    """Talk, and keep what was seen."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--into", type=Path, default=ROOT / "docs", help="folder of the recording and the pictures")
    parser.add_argument("--budget", type=int, default=90, help="seconds of the program")
    asked = parser.parse_args()
    if missing := [name for name in NEEDS if shutil.which(name) is None]:
        raise SystemExit(f"This needs {' and '.join(missing)}: install them first.")
    asked.into.mkdir(parents=True, exist_ok=True)
    os.environ["LC_ALL"] = "C.UTF-8"
    with tempfile.TemporaryDirectory() as place:
        recorded = Path(place) / "chat.cast"
        talk(Path(place), recorded, asked.budget)
        shutil.copy(recorded, asked.into / "chat.cast")
        for picture in Path(place).glob("chat-*.*"):
            shutil.copy(picture, asked.into / picture.name)
    for file in sorted(asked.into.glob("chat*.*")):
        print(f"{file}: {file.stat().st_size} bytes")


def talk(place: Path, recorded: Path, budget: int) -> None:
    """Say it all."""
    program = [sys.executable, "-I", "-S", str(ROOT / "evals" / "workloads" / "cpu_hops.py")]
    judged = ["--metric", "time_ms ([0-9.]+)", "--unit", "ms", "--budget", str(budget)]
    chat = join([CHAT, "chat", "--step", *judged, "--", *program])
    typist = Typist(place, join(["asciinema", "rec", "-q", "--overwrite", "-c", chat, str(recorded)]))
    typist.wait_for("/ for commands")
    typist.say("measure it", "✓ Measure:")
    typist.say("/profile", "✓ Profile:")
    picture(typist, "profile")
    typist.say("/label", "✓ Label")
    typist.say("show the tree", "✓ Fit a tree:")
    typist.say("rank the factors", "✓ Rank the factors:")
    picture(typist, "rank")
    typist.say("explain cpu_migrations", "Notes on papers")
    typist.say("/diagnose", "The planner takes the steps")
    typist.wait_for("mitigated")
    typist.wait_for("confirmed by a second batch")
    picture(typist, "verdict")
    typist.say("why is it slow?", "AUC")
    typist.say("would huge pages help?", "huge")
    typist.say("copy the command line", "taskset")
    typist.say("/quit")
    while typist.open:  # the recorder writes its last lines
        time.sleep(0.2)


def picture(typist: Typist, after: str) -> None:
    """Have the app take a picture of itself, as SVG and PNG."""
    for ending in ("png", "svg"):
        name = f"{PICTURES[after]}.{ending}"
        typist.say(f"/screenshot {name}")
        typist.wait_until((typist.place / name).exists)
        time.sleep(TOAST_S)


if __name__ == "__main__":
    main()
