"""Record a whole diagnosis of `cpu-hops` by talking: an asciinema file, and the pictures that the documents show.

python benchmarks/chat_session.py [--into docs/pictures] [--budget 90]

Needs root, tmux, asciinema, and Chromium. What is typed is typed by this script; all else happens, in /home/me/bench
of a mount namespace of its own, so that no folder of the machine is shown. Give it a quiet machine.
"""

from __future__ import annotations

import argparse
import io
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from shlex import join

from rich.console import Console
from rich.text import Text

from vgo_agent.agent.chat.past_runs import write_picture

ROOT = Path(__file__).resolve().parent.parent
CHAT = str(Path(sys.executable).with_name("vgo-agent"))
NEEDS = ("tmux", "asciinema", "unshare", "chromium")
HOME = Path("/home/me")
BENCH = """\
#!/bin/sh
exec python3 -E -S memory.py cpu-hops
"""
SIZE = (120, 36)
WINDOW = "900,1500"
PATIENCE_S = 240.0
KEY_S, READ_S = 0.05, 2.0
"""Between two letters, and after an answer: who watches reads along."""


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
        self.write(line)
        self.press("Enter")
        self.wait_for(*until)
        time.sleep(READ_S)

    def write(self, words: str) -> None:
        """Type letter by letter."""
        for letter in words:
            self._do("send-keys", "-l", letter)
            time.sleep(KEY_S)

    def press(self, *keys: str) -> None:
        """Press keys, named as tmux names them."""
        for key in keys:
            self._do("send-keys", key)
            time.sleep(KEY_S)

    def photograph(self, path: Path) -> None:
        """Write what stands on the screen as PNG."""
        wide, high = SIZE
        paper = Console(record=True, width=wide, height=high, file=io.StringIO(), color_system="truecolor")
        paper.print(Text.from_ansi(self._do("capture-pane", "-p", "-e", "-N")), no_wrap=True, crop=True)
        write_picture(paper.export_svg(title="vgo-agent chat"), path)

    @property
    def open(self) -> bool:
        """Whether the terminal is still there."""
        return bool(self._do("list-sessions"))

    @property
    def shown(self) -> str:
        """What stands on the screen."""
        return self._do("capture-pane", "-p")

    def denies(self) -> bool:
        """Deny what is asked for meanwhile, and tell whether there was anything: a change is shown later."""
        asked = "1 This once" in self.shown
        if asked:
            self.press("4", "Enter")
        return asked

    def wait_for(self, *words: str) -> None:
        """Wait for the screen."""
        self.wait_until(lambda: all(word in self.shown for word in words), str(words))

    def wait_until(self, holds: Callable[[], bool], what: str = "the end") -> None:
        """Wait; where it does not come, say what stands on the screen instead."""
        deadline = time.monotonic() + PATIENCE_S
        while not holds():
            if time.monotonic() > deadline or not self.open:
                shown = self.shown
                self.close()
                raise SystemExit(f"{what} did not come; the screen was:\n{shown}")
            time.sleep(0.2)

    def close(self) -> None:
        """End the terminal."""
        self._do("kill-server")


def main() -> None:
    """Talk, and keep what was seen."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--into", type=Path, default=ROOT / "docs/pictures", help="folder of the recording and the pictures"
    )
    parser.add_argument("--budget", type=int, default=90, help="seconds of the program")
    asked = parser.parse_args()
    if missing := [name for name in NEEDS if shutil.which(name) is None]:
        raise SystemExit(f"This needs {' and '.join(missing)}: install them first.")
    if "VGO_ALONE" not in os.environ:
        os.environ["VGO_ALONE"] = "1"
        os.execvp("unshare", ["unshare", "--mount", sys.executable, *sys.argv])
    into = asked.into.absolute()
    into.mkdir(parents=True, exist_ok=True)
    place = neutral_place()
    with tempfile.TemporaryDirectory() as folder:
        recorded = Path(folder) / "chat.cast"
        talk(place, recorded, asked.budget, into)
        shutil.copy(recorded, into / "chat.cast")
    photograph_page(min(place.glob("vgo-runs/*/report.html")), into / "report.png")  # the first run: the diagnosis
    for file in sorted(into.iterdir()):
        print(f"{file}: {file.stat().st_size} bytes")


def neutral_place() -> Path:
    """Make a folder that says nothing of this machine, with the program in it; it is gone with this process."""
    subprocess.run(["mount", "-t", "tmpfs", "none", str(HOME.parent)], check=True)
    place = HOME / "bench"
    place.mkdir(parents=True)
    for name in ("memory.py", "work.py"):
        shutil.copy(ROOT / "evals/workloads/programs" / name, place)
    (place / "bench.sh").write_text(BENCH)
    (place / "bench.sh").chmod(0o755)
    del os.environ["VGO_ALONE"]
    path = f"{Path(CHAT).parent}{os.pathsep}{os.environ['PATH']}"
    os.environ |= {"LC_ALL": "C.UTF-8", "COLORTERM": "truecolor", "HOME": str(HOME), "PATH": path}
    return place


def photograph_page(page: Path, picture: Path) -> None:
    """Draw the head of a page as a browser shows it."""
    shown = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--window-size={WINDOW}"]
    subprocess.run(["chromium", *shown, f"--screenshot={picture}", page.as_uri()], capture_output=True, check=True)


def talk(place: Path, recorded: Path, budget: int, into: Path) -> None:
    """Say it all; pictures go into a folder."""
    judged = ["--metric", "time_ms ([0-9.]+)", "--unit", "ms", "--budget", str(budget), "--allow", "process"]
    chat = join(["vgo-agent", "chat", "--step", *judged, "./bench.sh"])
    typist = Typist(place, join(["asciinema", "rec", "-q", "--overwrite", "-c", chat, str(recorded)]))
    typist.wait_for("/ for commands")
    measure(typist, into)
    conclude(typist, into)
    refuse(typist, into)
    typist.say("/quit")
    while typist.open:  # the recorder writes its last lines
        time.sleep(0.2)


def measure(typist: Typist, into: Path) -> None:
    """Take the steps up to the factors, one by one, and look at the tree."""
    typist.say("measure it", "✓ Measure:")
    typist.say("/profile", "✓ Profile:")
    typist.say("/label", "✓ Label")
    typist.say("show the tree", "✓ Fit a tree:")
    typist.say("rank the factors", "✓ Rank the factors:")
    typist.press("F2")
    time.sleep(READ_S)
    typist.press("3")
    typist.wait_for("Accuracy")
    time.sleep(READ_S)
    typist.photograph(into / "chat-tree.png")
    typist.press("1", "F2")
    time.sleep(READ_S)


def conclude(typist: Typist, into: Path) -> None:
    """Let the planner go on to the verdict, and ask about it."""
    typist.say("explain cpu_migrations", "Wasted Cores")
    typist.say("/diagnose", "The planner takes the steps")
    typist.wait_until(lambda: not typist.denies() and "Verdict:" in typist.shown, "the verdict")
    time.sleep(READ_S)
    typist.photograph(into / "chat.png")
    typist.say("why is it slow?", "AUC")
    typist.say("would huge pages help?", "huge")
    typist.say("copy the command line", "command line")


def refuse(typist: Typist, into: Path) -> None:
    """Ask for a change of the whole machine, ask about it, and refuse it with a reason."""
    typist.say("/try thp_always", "1 This once")
    typist.say("is it safe?", "The risk:")
    typist.photograph(into / "chat-approve.png")
    typist.write("4 because other programs run here")
    typist.press("Enter")
    typist.wait_for("– Try thp_always")
    time.sleep(READ_S)


if __name__ == "__main__":
    main()
