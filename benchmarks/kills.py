"""Kill a diagnosis at random moments and resume it: `python benchmarks/kills.py [--kills 20] [--seed 1]`.

Each diagnosis may change the system (--allow system). It is killed with SIGKILL at a random moment, up to three times,
and resumed to its end. Then the transcript must verify and replay, no call may have started twice, and every kernel
setting that a mitigation writes must read as before.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from vgo_agent.agent.record import bodies
from vgo_agent.agent.transcript import ToolStart, read
from vgo_agent.knowledge.loader import load

COMMAND = Path(sys.executable).with_name("vgo-agent")
PROGRAM = "import os\nblock = b'x' * ((48 << 20) if os.urandom(1)[0] < 90 else (1 << 20))\n"
OPTIONS = ("--allow", "system", "--max-runs", "40", "--budget", "60", "--quiet")
LONGEST_S = 25.0
"""About as long as such a diagnosis takes here, so that kills fall on all of its steps."""


def main() -> int:
    """Run the storm and print what was found as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    random.seed(arguments.seed)
    before, kills, unbegun, faults = settings(), 0, 0, list[str]()
    while kills < arguments.kills:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            kills += storm(folder, arguments.kills - kills)
            runs = list(folder.glob("vgo-runs/*/request.json"))
            unbegun += not runs
            faults += [fault for run in runs for fault in faults_of(run.parent)]
        faults += [f"{path} is {now}, was {before[path]}" for path, now in settings().items() if now != before[path]]
    print(json.dumps({"kills": kills, "killed before a folder existed": unbegun, "faults": faults}, indent=2))
    return 1 if faults else 0


def storm(folder: Path, most: int) -> int:
    """Begin a diagnosis, kill it and its resumptions at random, and let the last one end; count the kills."""
    program = folder / "program.py"
    program.write_text(f"#!{sys.executable} -IS\n{PROGRAM}")
    program.chmod(0o755)
    kills = 0
    line = [str(COMMAND), "diagnose", *OPTIONS, str(program)]
    for _ in range(min(3, most)):
        process = subprocess.Popen(line, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(random.uniform(0.1, LONGEST_S))
        kills += process.poll() is None
        process.send_signal(signal.SIGKILL)
        process.wait()
        runs = list(folder.glob("vgo-runs/*/request.json"))
        if not runs:
            return kills
        line = [str(COMMAND), "resume", "--quiet", str(runs[0].parent)]
    done = subprocess.run(line, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        kept = tempfile.mkdtemp(prefix="vgo-kills-")
        shutil.copytree(folder, kept, dirs_exist_ok=True)
        raise SystemExit(f"resume failed, folder kept in {kept}: {done.stderr}")
    return kills


def faults_of(run: Path) -> list[str]:
    """Name what is wrong with a run that was resumed to its end."""
    found = []
    for command in (("verify",), ("verify", "--recompute")):
        done = subprocess.run([COMMAND, *command, str(run)], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            found.append(f"{' '.join(command)}: {done.stdout}{done.stderr}")
    starts = [start.call_id for start in bodies(read(run / "transcript.jsonl"), ToolStart)]
    if len(set(starts)) != len(starts):
        found.append(f"{run}: a call started twice")
    return found


def settings() -> dict[str, str]:
    """Read every kernel file that some mitigation writes."""
    applied = [mitigation.apply for mitigation in load().mitigations.values() if mitigation.apply]
    writes = [write for apply in applied for write in apply.write]
    paths = {path for write in writes for path in (write.path, *write.siblings)}
    return {path: Path(path).read_text() for path in sorted(paths) if Path(path).exists()}


if __name__ == "__main__":
    sys.exit(main())
