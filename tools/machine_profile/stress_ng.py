"""Run one stressor of stress-ng for a set time and read its bogo operations, with the counters of its control group."""

from __future__ import annotations

import math
import os
import re
import shutil
import signal
import subprocess
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml

from ...knowledge.errors import VgoError
from ..execution.launch import Launch, OnStarted, RunGroup
from ..execution.spawn import Spawner
from .battery import METHOD_OPTIONS, Group, Stressor
from .form import StressorRun
from .quota import throttled

PATIENCE_S = 20.0
"""A stressor that sets up its memory under a small quota is slow to end."""


class StressNg:
    """The program, found once."""

    def __init__(self, folder: Path) -> None:
        """Find it; it writes into `folder`."""
        found = shutil.which("stress-ng")
        if found is None:
            raise VgoError("stress-ng is not here: install it (apt install stress-ng), then run this again.")
        self.program = found
        self._folder = folder
        self._environment = {**os.environ, "LC_ALL": "C"}

    @property
    def version(self) -> str:
        """As it tells it."""
        named = re.search(r"version ([\w.]+)", self._said("--version"))
        return named[1] if named else "unknown"

    def methods(self) -> dict[Group, tuple[str, ...]]:
        """List the methods of the stressors that have them, as this version names them when it is given a wrong one."""
        return {group: self._listed(option) for group, option in METHOD_OPTIONS.items()}

    def run(
        self,
        spawner: Spawner,
        stressor: Stressor,
        seconds: float,
        group: RunGroup | None = None,
        on_started: OnStarted = None,
    ) -> StressorRun:
        """Run one worker for `seconds`; what does not work is told in the result."""
        results = self._folder / "stress-ng.yaml"
        results.unlink(missing_ok=True)
        before = throttled(group.folder) if group else 0
        launch = Launch(
            argv=(self.program, *stressor.options, *self._manner(seconds, results)),
            environment=self._environment,
            directory=self._folder,
            groups=(group,) if group else (),
        )
        timer: list[threading.Timer] = []

        def stop_later(pid: int) -> None:
            if on_started:
                on_started(pid)
            timer.append(threading.Timer(seconds, _stop, (pid,)))
            timer[0].start()

        try:
            ended = spawner.run(launch, timeout_s=seconds + PATIENCE_S, on_started=stop_later)
        finally:
            for one in timer:
                one.cancel()
                one.join()
        if ended.timed_out:
            return StressorRun(stressor=stressor.name, failed=f"did not end within {PATIENCE_S:g} s of its time")
        metrics = _metrics(results)
        if ended.exit_code or not metrics:
            return StressorRun(stressor=stressor.name, failed=_reason(ended.exit_code, ended.error))
        return StressorRun(
            stressor=stressor.name,
            bogo_ops=metrics["bogo-ops"],
            wall_s=metrics["wall-clock-time"],
            cpu_s=metrics["user-time"] + metrics["system-time"],
            throttled=throttled(group.folder) - before if group else 0,
        )

    def _manner(self, seconds: float, results: Path) -> tuple[str, ...]:
        # It knows whole seconds only (0 is for ever), so that it is stopped by a signal; its own end is a safeguard.
        own_end = str(math.ceil(seconds) + 2)
        return ("--timeout", own_end, "--metrics", "--yaml", str(results), "--temp-path", str(self._folder))

    def _listed(self, option: str) -> tuple[str, ...]:
        said = self._said(f"--{option}", "1", f"--{option}-method", "which", "--timeout", "1")
        _, colon, listed = said.partition("must be one of:")
        if not colon:
            raise VgoError(
                f"{self.program} does not list the methods of --{option}-method: install another version "
                "(apt install stress-ng)."
            )
        return tuple(listed.split("\n")[0].split())

    def _said(self, *words: str) -> str:
        try:
            ended = subprocess.run(
                (self.program, *words), capture_output=True, text=True, timeout=60, env=self._environment
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise VgoError(
                f"{self.program} cannot be run ({error}): install it anew (apt install stress-ng)."
            ) from error
        return ended.stdout + ended.stderr


def _stop(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGALRM)  # its workers end at once; told only to the leader, they go on


def _metrics(results: Path) -> dict[str, float]:
    """Read the counts of the one stressor; empty where the file is missing or says none."""
    try:
        read: Any = yaml.safe_load(results.read_text(encoding="utf-8", errors="replace"))
        found = read["metrics"][0]
        return {name: float(found[name]) for name in ("bogo-ops", "wall-clock-time", "user-time", "system-time")}
    except (OSError, yaml.YAMLError, KeyError, IndexError, TypeError, ValueError):
        return {}


def _reason(exit_code: int, error: bytes) -> str:
    said = error.decode(errors="replace").strip().splitlines()
    last = re.sub(r"^stress-ng: \w+: +\[\d+\] *", "", said[0])[:160] if said else ""
    if exit_code < 0:
        return f"ended by signal {-exit_code}"
    return f"exit code {exit_code}{f': {last}' if last else ''}" if exit_code else last or "told no result"
