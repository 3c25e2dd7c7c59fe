"""This machine against itself under a quota of 60 %: `python benchmarks/machine.py [--save]` (root, 10 minutes).

Both profiles are made in turns, the quota is looked for without being told, and a few programs are held against the
predicted range. Exit code 1 where the quota found is more than 3 points off.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from datetime import date
from pathlib import Path
from typing import Any

from vgo_agent.agent.render.text import markdown_page
from vgo_agent.agent.report.machine import document
from vgo_agent.agent.report.strips import picture
from vgo_agent.agent.report.svg import standalone
from vgo_agent.tools.document import illustrated
from vgo_agent.tools.execution.launch import Launch, resolve
from vgo_agent.tools.execution.spawn import Spawner
from vgo_agent.tools.machine_profile.compare import MachineComparison, compare
from vgo_agent.tools.machine_profile.form import Calibrated, Profile, Quota, read, read_applications
from vgo_agent.tools.machine_profile.measure import bench

COMMAND = Path(sys.executable).with_name("vgo-agent")
TRUE_QUOTA, MOST_POINTS = 0.6, 3.0
PROGRAMS = {
    "Python loop": (sys.executable, "-S", "-c", "sum(i * i for i in range(12_000_000))"),
    "Python dictionary": (sys.executable, "-S", "-c", "len({i: str(i) for i in range(1_800_000)})"),
    "zlib": (sys.executable, "-S", "-c", "import zlib; zlib.compress(bytes(range(256)) * 150_000, 9)"),
    "sha256": (sys.executable, "-S", "-c", "import hashlib; hashlib.sha256(bytes(400_000_000))"),
    "sleep": ("sleep", "1"),
}
"""The last one waits, and does not belong to the programs that the range is for."""
DOCS = Path(__file__).parents[1] / "docs/results"


def main() -> None:
    """Measure, print, and with --save write docs/results/machine.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--save", action="store_true", help="write docs/results/machine.md and docs/results/machine.svg"
    )
    parser.add_argument("--small", action="store_true", help="the CPU group alone, shorter: about 4 minutes")
    parser.add_argument("--runs", type=int, default=7, help="of each program, with and without the quota (default 7)")
    arguments = parser.parse_args()
    size = ("--seconds", "0.3", "--repetitions", "2", "--group", "cpu") if arguments.small else ("--quick",)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        slow, full = place / "slow.json", place / "full.json"
        quota = ("--quota", str(TRUE_QUOTA), "--beside", full, "--ahead")
        vgo("profile", *size, *quota, "--save", slow, "--out", place / "runs")
        timed(place / "programs.csv", read(slow, Profile).battery.quota, arguments.runs)
        applications = read_applications(place / "programs.csv")
        compared = compare(read(slow, Profile), read(full, Profile), "real", applications)
        answer = vgo("calibrate", "--base", slow, "--here", full, "--ahead", "--out", place / "runs")
        found = Calibrated.model_validate({name: answer[name] for name in Calibrated.model_fields if name in answer})
    text = page(compared, found, size)
    print(text)
    if arguments.save:
        (DOCS / "machine.md").write_text(text)
        (DOCS / "machine.svg").write_text(standalone(picture(compared)))
    sys.exit(points(found) > MOST_POINTS)


def vgo(*words: str | Path) -> dict[str, Any]:
    """Run one action and give its answer."""
    ended = subprocess.run([COMMAND, "machine", *words, "--json"], stdout=subprocess.PIPE, check=True)
    answer: dict[str, Any] = json.loads(ended.stdout)
    return answer


def timed(path: Path, quota: Quota | None, runs: int) -> None:
    """Time every program with and without the quota in turns; write the medians as `--applications` reads them."""
    lines = ["name,seconds A,seconds B"]
    with Spawner() as spawner, bench([quota, None], ahead=True) as (_, groups):
        for name, words in PROGRAMS.items():
            launches = [Launch(resolve(words), groups=(group,) if group else ()) for group in groups]
            seconds = [[spawner.run(launch).wall_ns / 1e9 for launch in launches] for _ in range(runs)]
            slow, full = (statistics.median(column) for column in zip(*seconds, strict=True))
            lines.append(f"{name},{slow},{full}")
    path.write_text("\n".join(lines))


def points(found: Calibrated) -> float:
    """By how many points the quota found is off."""
    return abs(100 * (found.calibration.quota.cpus - TRUE_QUOTA))


def page(compared: MachineComparison, found: Calibrated, size: tuple[str, ...]) -> str:
    """Lay the result out as a page of the docs."""
    system, one = compared.b, found.calibration
    off = points(found)
    programs = [
        f"| {judged.name} | {judged.speed_up:.3g} | {'inside' if judged.inside else 'outside'} |"
        for judged in compared.applications
    ]
    return "\n".join(
        [
            "# Machine profiles: this machine against itself",
            "",
            f"Written by `python {' '.join(sys.argv)}` on {date.today().isoformat()}: {system.cpu}, "
            f"{os.cpu_count()} CPUs, Linux {platform.release()}, stress-ng {system.stress_ng}, load "
            f"{os.getloadavg()[0]:.1f}; profiles with `{' '.join(size)} --ahead`, in turns with and without a quota of "
            f"{100 * TRUE_QUOTA:g} %.",
            "",
            "Speed-ups of the whole machine over itself under the quota; a quota that acted as its share alone would "
            f"give {1 / TRUE_QUOTA:.3f} everywhere.",
            "",
            markdown_page(illustrated(document(compared), {"machine": picture(compared)})).partition("\n")[2].strip(),
            "",
            "| program | speed-up | predicted range |",
            "|---|---:|---|",
            *programs,
            "",
            "The last one waits and does not compute: such programs fall outside, as memory-bound ones do.",
            "",
            "## Calibration",
            "",
            f"Told nothing of the quota, the search found **{100 * one.quota.cpus:.1f} %** (95 % {100 * one.low:.1f} "
            f"to {100 * one.high:.1f}), {off:.1f} points off, of at most {MOST_POINTS:g}: "
            f"{'met' if off <= MOST_POINTS else 'MISSED'}.",
            "",
            "| speed-up over the base | least | median | greatest |",
            "|---|---:|---:|---:|",
            *(
                f"| {name} | {part.least:.3g} | {part.median:.3g} | {part.greatest:.3g} |"
                for name, part in (("without the quota", found.before), ("with it", found.after))
            ),
            "",
            f"{len(found.steps)} steps; {len(found.unmatched)} stressors stay more than 10 % off the base.",
            *(f"\n{note}" for note in found.notes),
            "",
        ]
    )


if __name__ == "__main__":
    main()
