"""A real terminal: tmux runs a command in it, keys go in, and what stands on the screen is read back."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

TMUX = shutil.which("tmux")
PATIENCE_S = 120


@dataclass(frozen=True)
class Terminal:
    """One window of a tmux server of its own."""

    name: str

    @classmethod
    def running(
        cls, folder: Path, *command: str, size: tuple[int, int] = (100, 30), lasts: bool = False, **env: str
    ) -> Terminal:
        """Start a command; the window stays when it has ended.

        `lasts`: a shell stays behind a command that ends at once, since tmux may lose what a dead one wrote last.
        """
        one = cls(f"vgo-{uuid4().hex[:12]}")
        words = [
            "-u",
            "-f",
            "/dev/null",
            "new-session",
            "-d",
            "-x",
            str(size[0]),
            "-y",
            str(size[1]),
            "-c",
            str(folder),
        ]
        settings = {"LC_ALL": "C.UTF-8", "XDG_CONFIG_HOME": str(folder / "config"), "TEXTUAL_ANIMATIONS": "none"} | env
        for name, value in settings.items():
            words += ["-e", f"{name}={value}"]
        terminal = [f"TERM={env['TERM']}"] if "TERM" in env else []  # tmux sets its own after -e
        around = ["sh", "-c", '"$@"; exec sleep 600', "sh"] if lasts else []
        one.do(*words, "env", *terminal, *around, *command, ";", "set-option", "-g", "remain-on-exit", "on")
        return one

    def do(self, *words: str) -> str:
        """Tell the server something."""
        done = subprocess.run(
            [str(TMUX), "-L", self.name, *words], capture_output=True, text=True, env=os.environ | {"LC_ALL": "C.UTF-8"}
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def text(self, *options: str) -> str:
        """Read the screen; `-e` keeps colours."""
        return self.do("capture-pane", "-p", *options)

    def keys(self, *names: str) -> None:
        """Press keys by their names."""
        self.do("send-keys", *names)

    def type(self, line: str) -> None:
        """Type a line, and enter."""
        self.do("send-keys", "-l", line)
        self.keys("Enter")

    def wait_for(self, *words: str) -> str:
        """Wait until all of these stand on the screen."""
        deadline = time.monotonic() + PATIENCE_S
        while not all(word in (shown := self.text()) for word in words):
            assert time.monotonic() < deadline, f"{words} did not appear on:\n{shown}"
            time.sleep(0.1)
        return shown

    @property
    def pid(self) -> int:
        """Of the command."""
        return int(self.do("display-message", "-p", "#{pane_pid}"))

    def close(self) -> None:
        """End the server: whoever runs in it loses the terminal, as when an ssh connection breaks."""
        subprocess.run([str(TMUX), "-L", self.name, "kill-server"], capture_output=True)
