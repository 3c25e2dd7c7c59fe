"""What a diagnosis costs beside the user's program: `python benchmarks/diagnosis.py [--seconds 60]`.

Diagnoses a program that takes about 0.1 s and has a visible cause, with a budget of so many seconds, and reports which
share of the program's time went into everything else: start-up, planning, spawning, analysis, report.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROGRAM = """
import os, time
end = time.monotonic() + 0.07
while time.monotonic() < end: pass
block = b"x" * ((64 << 20) if os.urandom(1)[0] < 90 else (1 << 20))
"""
"""Faults that no process-scope mitigation takes away, so that the whole budget is spent on trying."""
TARGET = 0.05


def main() -> int:
    """Run one diagnosis and print the shares as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0)
    arguments = parser.parse_args()
    command = Path(sys.executable).with_name("vgo-agent")
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "program.py"
        program.write_text(f"#!{sys.executable} -IS{PROGRAM}")
        program.chmod(0o755)
        options = ["--json", "--quiet", "--budget", str(arguments.seconds)]
        begun = time.monotonic()
        done = subprocess.run(
            [command, "diagnose", *options, str(program)], cwd=folder, capture_output=True, text=True, check=True
        )
        seconds = time.monotonic() - begun
    answer = json.loads(done.stdout)
    program_s = answer["seconds"] - answer["agent_seconds"]
    agent = seconds - program_s
    share = agent / program_s
    figures = {"headline": answer["headline"], "runs": answer["runs"], "seconds": seconds, "other_seconds": agent}
    print(json.dumps({**figures, "share_of_program_time": share, "target": TARGET}, indent=2))
    return 0 if share <= TARGET else 1


if __name__ == "__main__":
    sys.exit(main())
