"""Start-up of the commands as ratios to `python -c pass` of the same interpreter, interleaved in one run.

python benchmarks/startup.py [ROUNDS]
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TARGET = 3.0
"""Of `--help`."""
ROUNDS = 40
SCRIPT = str(Path(sys.executable).with_name("vgo-agent"))
COMMANDS = {
    "python -c pass": [sys.executable, "-c", "pass"],
    "python -c 'import argparse'": [sys.executable, "-c", "import argparse"],
    "vgo-agent --help": [SCRIPT, "--help"],
    "vgo-agent diagnose --help": [SCRIPT, "diagnose", "--help"],
    "vgo-agent runs": [SCRIPT, "runs"],
}


def main() -> None:
    """Time every command once a round, and print medians and ratios."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    seconds: dict[str, list[float]] = {name: [] for name in COMMANDS}
    with tempfile.TemporaryDirectory() as empty:
        for number in range(rounds + 1):
            for name, argv in COMMANDS.items():
                took = elapsed(argv, empty)
                if number:  # the first round warms the page cache
                    seconds[name].append(took)
    medians = {name: statistics.median(times) for name, times in seconds.items()}
    base = medians["python -c pass"]
    ratios = {name: round(median / base, 2) for name, median in medians.items()}
    milliseconds = {name: round(1e3 * median, 1) for name, median in medians.items()}
    met = ratios["vgo-agent --help"] <= TARGET
    print(json.dumps({"median_ms": milliseconds, "ratio": ratios, "target": TARGET, "met": met}, indent=2))


def elapsed(argv: list[str], directory: str) -> float:
    """Run once with its output thrown away."""
    environment = os.environ | {"XDG_CONFIG_HOME": directory}
    started = time.perf_counter()
    subprocess.run(argv, cwd=directory, env=environment, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
