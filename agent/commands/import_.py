"""import: show what is understood of a recorded table, and save it in another format."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

from ..terminal import answer
from .measure import place_of
from .options import add_manners, mapping_of

EPILOG = """\
examples:
  vgo-agent import runs.csv
  vgo-agent import trials.csv --mapping trials.yaml --save trials.parquet
  vgo-agent import vgo-runs/DIR --save runlogs

FILE is CSV (or with other separators, or packed by gzip), Parquet, a SHARP run log, JSON of pyperf, hyperfine or Google
Benchmark, what perf stat -x or -j wrote with -o, or a run folder of vgo-agent. A row is a run. --save writes
*.parquet, *.csv with its meaning in *.columns.yaml beside it, or into a folder as SHARP does (CSV and Markdown); all
are read back as they were. A mapping is a YAML file; a column says what differs from what is understood:
  columns:
    - name: time
      source: elapsed [ms]      # what the file calls it, where that differs
      unit: ms
      role: outcome             # outcome, factor, consequence, setting, order or id
      lower_is_better: true
    - {name: temperature, unit: C, level: true}     # does not add up over a run
    - {name: node, role: setting, type: text}
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("file", metavar="FILE", help="the recorded runs")
    parser.add_argument(
        "--mapping", type=Path, metavar="FILE.yaml", help="what the columns are called and mean, as below"
    )
    parser.add_argument(
        "--save", metavar="OUT", help="write the runs to *.parquet, *.csv, or into a folder as SHARP does"
    )
    add_manners(parser)


def run(arguments: argparse.Namespace) -> int:
    """Read, show, save."""
    from ...tools.recorded.read import read

    place = place_of(arguments.save) if arguments.save else None
    recorded = read(Path(arguments.file), (), mapping_of(arguments))

    from ...tools.recorded.outline import outline
    from ...tools.recorded.write import write
    from ..report.outline import text

    found = outline(recorded)
    saved = [str(path) for path in write(recorded, place)] if place else []
    following = _following(saved[0] if saved else arguments.file, None if saved else arguments.mapping)
    if found.outcome is None:
        following += ["--outcome", found.candidates[0] if found.candidates else "COL"]
    command = shlex.join(following)
    values = {**found.model_dump(), "saved": saved, "next": command}
    answer(values, text(found, saved, command), arguments.json)
    return 0


def _following(file: str, mapping: Path | None) -> list[str]:
    return ["vgo-agent", "analyze", file, *(["--mapping", str(mapping)] if mapping else [])]
