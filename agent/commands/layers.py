"""layers: what can be measured on this machine or on hosts, what not and why, and what it costs."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ...knowledge.errors import VgoError
from ..terminal import printable
from .options import Answering, OfProgram, OnHosts, option, place

if TYPE_CHECKING:
    from ...layers.probes.ledger import OpenRung
    from ...layers.schema import Layer
    from ...tools.document import Block
    from ...tools.layers_here import LayerStatus

HEADER = ("layer", "here", "columns", "ms/run", "", "what it shows")
LAUNCHER_HEADER = ("launcher", "here", "where the program runs")
COLUMN_HEADER = ("column", "unit", "role", "here", "source")
MOST_WIDE = 100
LEAST_IDLE_MS = 0.5
"""Less is the time of a call that does nothing."""
MOST_NAMED = 6
"""Columns that are named with a reason; the others are counted."""


class ListedLayer(NamedTuple):
    """One layer, as it is shown."""

    spec: str
    path: str
    layer: Layer | None
    """None where the file is broken."""
    here: LayerStatus
    ladder: tuple[OpenRung, ...] = ()
    """Of the time ledger, the best first; only of layers that were asked for."""


@dataclass(frozen=True, kw_only=True)
class LayersCommand(OfProgram, OnHosts, Answering):
    """List what can be measured, or look at what layers show."""

    EPILOG = """\
examples:
  vgo-agent layers
  vgo-agent layers process perf
  vgo-agent layers ./mine.yaml
  vgo-agent layers --trust ./mine.yaml
  vgo-agent layers --on tcp://10.0.0.1:8786 -- ./bench.sh
  vgo-agent layers --on slurm.yaml process cgroup -- ./solver

HERE: yes, partly (some columns are missing), no, untrusted (a file of yours that would run commands), broken.
MS/RUN is what a layer adds to a run of a program that does nothing: the median of a few, so a busy machine shows more.
0.50+10: before each run it also watches the machine for 10 ms in which nothing runs.
Layers of your own are found by path, or by name in the folder `layers` beside the settings file. One that is named and
is not trusted is shown, and the command ends with 1.

--on reaches each worker of a cluster, runs the program there once, and says for each host which versions, program,
layers and rights there are, how far its clock is off, and what differs between hosts. It ends with 1 where hosts cannot
be used or differ; --mixed takes those that can be used, as they are. The file of --on, for a batch system:

  cluster: slurm          # or local, ssh, pbs, lsf, kubernetes; or `scheduler: tls://10.0.0.1:8786` for one that runs
  nodes: 4
  host: 10.0.0.1          # where the scheduler listens; loopback unless you say so
  tls: {ca: ca.pem, cert: me.pem, key: me.key}
  options: {queue: short, walltime: "01:00:00", cores: 1, memory: 2GiB}   # as dask-jobqueue has them
"""
    USAGE = "[OPTIONS] [NAME ...]\n       vgo-agent layers --on ADDRESS|FILE [OPTIONS] [NAME ...] -- COMMAND [ARGS...]"
    SETTINGS = ("timeout", "on-failure", "launcher")
    PLACES = None
    REQUIRES = {
        "on": "command mixed shell metric per_iteration unit higher_is_better input timeout on_failure launcher"
    }
    CONFLICTS = {"on": "trust root no_cost", "trust": "names root no_cost"}

    names: tuple[str, ...] = place("NAME", "show the columns of these layers; a path is one too", default=())
    trust: str | None = option("let this layer file run its commands, as it is now", metavar="FILE")
    no_cost: bool = option("measure no cost, so run no program under a layer", False)
    root: Path = option("where /proc and /sys lie (default /)", Path("/"), metavar="DIR")

    def run(self) -> int:
        """List, trust, or look at hosts."""
        if self.on:
            from .layers_on_hosts import checked_hosts
            from .subject import subject_of

            settings = self.in_force()
            return checked_hosts(self, subject_of(self, settings), self.names or settings.layers)
        if self.trust:
            return self._trusted(self.trust)
        root = self.root
        if not (root / "proc").is_dir() and not (root / "sys").is_dir():
            raise VgoError(f"{root} has neither proc nor sys: name the folder in which both lie with --root.")
        specs = self.names or list(_all())
        with ExitStack() as opened:
            spawner = None
            if not self.no_cost:
                from ...tools.execution.spawn import Spawner

                spawner = opened.enter_context(Spawner())
            listed = [_look(spec, root, spawner, bool(self.names)) for spec in specs]
        blocks = [block for one in listed for block in _detail(one)] if self.names else _overview(listed)
        self.answer({"root": str(root), "layers": [_json(one) for one in listed]}, blocks)
        return _refused(listed) if self.names else 0

    def _trusted(self, file: str) -> int:
        from ...layers.loader import read_spec
        from ...layers.reading import commands, trust
        from ...layers.sharp import files_of

        path, layer = read_spec(file if "/" in file else f"./{file}")
        files = files_of(path)
        place = trust(files)
        what = commands(layer)
        lines = [f"Trusted until it changes: {', '.join(map(str, files))} (kept in {place})."]
        lines += [f"  {line}" for line in what] or ["  It runs nothing."]
        return self.answer({"trusted": list(map(str, files)), "commands": what, "store": str(place)}, "\n".join(lines))


def _refused(listed: Sequence[ListedLayer]) -> int:
    """Say on standard error which of those that were asked for are not used; give the exit code."""
    refused = [one.here.why[""] for one in listed if one.here.state == "untrusted"]
    for why in refused:
        print(f"vgo-agent: {printable(why)}.", file=sys.stderr)
    return int(bool(refused))


def _all() -> Iterator[str]:
    """Every layer and launcher that ships or that the user has; the path stands for a name that is not unique."""
    from ...layers.loader import FOLDER, LAUNCHERS, files, user_folder

    for folder in (FOLDER, user_folder(), FOLDER / LAUNCHERS, user_folder() / LAUNCHERS):
        yield from map(str, files(folder))


def _look(spec: str, root: Path, spawner: Any, asked: bool) -> ListedLayer:
    """See one layer; what a user can mend in it is shown with it, and ends the command only for a name asked for."""
    from ...layers.loader import FOLDER, belongs, read_spec
    from ...layers.probes.ledger import LADDERED, ladder
    from ...layers.reading import refuse_untrusted
    from ...layers.sharp import files_of
    from ...tools.layers_here import LayerStatus, here

    try:
        path, layer = read_spec(spec)
    except VgoError as error:
        if asked:
            raise
        return ListedLayer(Path(spec).stem, spec, None, LayerStatus("broken", {"": str(error).rstrip(".")}))
    try:
        if not belongs(path, FOLDER):
            refuse_untrusted(layer, files_of(path))
    except VgoError as error:
        return ListedLayer(layer.key, str(path), layer, LayerStatus("untrusted", {"": str(error).rstrip(".")}))
    rungs = tuple(ladder(root)) if asked and layer.probe == LADDERED else ()
    return ListedLayer(layer.key, str(path), layer, here(layer, root, spawner), rungs)


def _overview(listed: Sequence[ListedLayer]) -> list[Block]:
    from ...tools.document import Listing, Section, Table

    launchers = [one for one in listed if one.layer is not None and one.layer.kind == "launcher"]
    reasons = tuple(line for one in listed for line in _reasons(one))
    return [
        Table(HEADER, _within(HEADER, [_row(one) for one in listed if one not in launchers])),
        Table(LAUNCHER_HEADER, _within(LAUNCHER_HEADER, [_launcher_row(one) for one in launchers])),
        Section("What is missing, why, and what would bring it", (Listing(reasons),)),
    ]


def _within(header: Sequence[str], rows: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Cut the last cell of each row, which is prose, to the width."""
    taken = sum(max(len(row[place]) for row in (header, *rows)) + 2 for place in range(len(header) - 1))
    return [(*row[:-1], textwrap.shorten(row[-1], MOST_WIDE - taken, placeholder=" ...")) for row in rows]


def _row(one: ListedLayer) -> tuple[str, ...]:
    heavy = "heavy" if one.layer and one.layer.heavy else ""
    shown = f"{_shown(one)}/{len(one.layer.columns)}" if one.layer else ""
    return one.spec, one.here.state, shown.rjust(7), _cost(one).rjust(6), heavy, _what(one)


def _cost(one: ListedLayer) -> str:
    """Say what a layer adds to a run, and behind a + the idle window before it, where there is one."""
    if one.here.cost_ms is None:
        return ""
    idle = one.here.idle_ms or 0.0
    return f"{one.here.cost_ms:.2f}" + (f"+{idle:.0f}" if idle >= LEAST_IDLE_MS else "")


def _launcher_row(one: ListedLayer) -> tuple[str, ...]:
    given = ",".join(f"{name}=..." for name in one.layer.required) if one.layer else ""
    return f"{one.spec}:{given}" if given else one.spec, one.here.state, _what(one)


def _what(one: ListedLayer) -> str:
    return one.layer.description.split(". ")[0].rstrip(".") if one.layer else "This file cannot be read"


def _shown(one: ListedLayer) -> int:
    if one.layer is None or one.here.state in ("no", "untrusted"):
        return 0
    return sum(column.name not in one.here.why for column in one.layer.columns)


def _reasons(one: ListedLayer) -> Iterator[str]:
    from ...tools.layers_here import by_reason

    for reason, columns in by_reason(one.here.why).items():
        named = [name for name in columns if name]
        which = ", ".join(named[:MOST_NAMED])
        which += f" and {len(named) - MOST_NAMED} more" if len(named) > MOST_NAMED else ""
        yield ": ".join(filter(None, (one.spec, which, f"{reason.rstrip('.')}.")))


def _detail(one: ListedLayer) -> Iterator[Block]:
    from ...layers.wrapper import spelt
    from ...tools.document import Facts, Listing, Section, Table

    if layer := one.layer:
        facts = {
            "file": one.path,
            "probe": layer.probe,
            "command": layer.run + (" (in a shell)" if layer.shell else ""),
            "environment": " ".join(f"{name}={value}" for name, value in layer.environment.items()),
            "parameters": ", ".join(f"{name}={spelt(value)}" for name, value in layer.parameters.items()),
            "needs": ", ".join(layer.needs),
            "heavy": "yes" if layer.heavy else "",
            "cost": f"{cost} ms a run" if (cost := _cost(one)) else "",
            "here": one.here.state,
        }
        rows = [
            (
                column.name,
                column.unit,
                column.role,
                _column_here(one, column.name),
                column.source or "what the run said",
            )
            for column in layer.columns
        ]
        yield Section(
            f"{layer.key}: {layer.description}",
            (Facts(tuple((name, value) for name, value in facts.items() if value)), Table(COLUMN_HEADER, rows)),
        )
    if one.ladder:
        yield Section("Its ladder, the best rung first", (Listing(tuple(_rungs(one.ladder))),))
    yield Listing(tuple(_reasons(one)))


def _rungs(ladder: Sequence[OpenRung]) -> Iterator[str]:
    """Say of each rung which layer stands on it, what it sees, costs and needs, and whether it is open here."""
    stood: set[str] = set()
    for number, (rung, why) in enumerate(ladder, start=1):
        stands = f"--layer {rung.layer} stands here" if rung.layer not in stood else "open here"
        stood |= set() if why else {rung.layer}
        yield (
            f"{number}, {rung.layer}: {f'not here, since {why}' if why else stands}. It sees {rung.sees}. It costs "
            f"{rung.costs}. It needs {rung.needs}."
        )


def _column_here(one: ListedLayer, name: str) -> str:
    if one.here.state == "untrusted":
        return "untrusted"
    return "no" if name in one.here.why or one.here.state == "no" else "yes"


def _json(one: ListedLayer) -> dict[str, Any]:
    layer = one.layer
    return {
        "layer": one.spec,
        "file": one.path,
        "kind": layer.kind if layer else None,
        "here": one.here.state,
        "why": dict(one.here.why),
        "columns": [column.model_dump(mode="json") for column in layer.columns] if layer else [],
        "columns_here": _shown(one),
        "heavy": bool(layer and layer.heavy),
        **({"ladder": [{**rung.summary, "why_not": why} for rung, why in one.ladder]} if one.ladder else {}),
        "cost_ms": one.here.cost_ms,
        "idle_ms": one.here.idle_ms,
        "description": layer.description if layer else "",
    }
