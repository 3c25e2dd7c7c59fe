"""machine: profile a machine, compare two, make this one as slow as another, run under that."""

from __future__ import annotations

import argparse
from importlib import import_module

ACTIONS = {
    "profile": "run a battery of stress-ng stressors and keep the results in one file",
    "compare": "say how many times as fast machine B is as machine A, stressor by stressor",
    "calibrate": "find the CPU quota that brings this machine closest to another",
    "run": "run a command under such a quota, and prove that it was in force",
}
EPILOG = """\
examples:
  vgo-agent machine profile --quick --out here.json
  vgo-agent machine compare old.json here.json --save report.html
  vgo-agent machine compare old.json here.json --applications times.csv
  vgo-agent machine calibrate --base old.json --save like-old.json
  vgo-agent machine run --like like-old.json -- ./bench.sh

The ratios of two profiles bound how differently CPU-bound programs run on the two machines; memory-bound ones fall
outside (Jimenez et al., VarSys 2016). `vgo-agent machine ACTION --help` says more.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the actions and their options."""
    parser.epilog = EPILOG
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    for name, words in ACTIONS.items():
        # Given as a sentence of its own, as the commands have them.
        part = actions.add_parser(name, help=words, description=f"{words[0].upper()}{words[1:]}.")
        import_module(f"{__package__}.machine_{name}").configure(part)


def run(arguments: argparse.Namespace) -> int:
    """Do one of the actions."""
    status: int = import_module(f"{__package__}.machine_{arguments.action}").run(arguments)
    return status
