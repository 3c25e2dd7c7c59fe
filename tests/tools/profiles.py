"""Profiles made by hand: rows with layers that took turns, and the real tools on top of them."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from vgo_agent.knowledge.loader import Knowledge
from vgo_agent.layers.schema import Column, Layer
from vgo_agent.tools.case import Case
from vgo_agent.tools.distortion import Distortion
from vgo_agent.tools.machine import Machine
from vgo_agent.tools.ranking import RankResult
from vgo_agent.tools.record import Finished, Record, Result
from vgo_agent.tools.registry import TOOLS
from vgo_agent.tools.results import MeasureResult, ProfileResult
from vgo_agent.tools.run_table import artefacts
from vgo_agent.tools.statistics.shape.describe import describe
from vgo_agent.tools.statistics.spread import summarise
from vgo_agent.tools.subject import Limits, Subject

MACHINE = Machine(
    cpu="Test CPU",
    architecture="x86_64",
    kernel="6.1.0",
    distribution="Debian 12",
    glibc="2.36",
    cpus=(0, 1),
    memory_bytes=2**30,
    executables=(),
    absent={},
    program_dynamic=True,
)
Cells = Mapping[str, Any]


def layer(key: str, names: Sequence[str], heavy: bool = False, texts: Sequence[str] = (), rate: bool = False) -> Layer:
    """A layer of counts, of which those in `texts` are text."""
    columns = tuple(
        Column(name=name, description=name, unit="count", rate=rate, type="text" if name in texts else "number")
        for name in names
    )
    return Layer(key=key, description=key, probe="process", heavy=heavy, columns=columns)


@dataclass(kw_only=True)
class MadeCalls:
    """Calls one after the other, with the files that they left."""

    calls: list[Finished] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)

    def get(self, sha256: str) -> bytes:
        return self.files[sha256]

    @property
    def record(self) -> Record:
        return Record(tuple(self.calls), self)

    @property
    def next_id(self) -> str:
        return f"c{len(self.calls) + 1:03d}"

    def add(self, tool: str, arguments: Mapping[str, Any], result: Result, files: Mapping[str, bytes]) -> str:
        digests = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
        self.files |= {digests[name]: content for name, content in files.items()}
        self.calls.append(Finished(self.next_id, tool, arguments, result.model_dump(mode="json"), digests))
        return self.calls[-1].call_id


@dataclass
class Profiled(MadeCalls):
    """Calls as a diagnosis makes them, over rows with layers."""

    layers: Mapping[str, Layer]
    limits: Limits = Limits()
    knowledge: Knowledge = Knowledge({}, {}, "")
    metric: str | None = None

    def measure(self, values: Sequence[float]) -> None:
        """A baseline of runs that took so long."""
        rows: list[dict[str, Any]] = [
            {"order": order, "condition": "baseline", "pair": -1, "ok": 1, "exit_code": 0, "survivors": 0}
            | {"outcome": float(value), "wall_s": float(value), "layers": ""}
            for order, value in enumerate(values)
        ]
        result = MeasureResult(
            runs=len(rows),
            failed=0,
            survivors=0,
            warm_up=0,
            stopped_by="run cap",
            stop_rule="count",
            spent_s=float(sum(values)),
            processes=len(rows),
            outcome=summarise(values),
            sd_interval=None,
            shape=describe(values),
            unusable="",
            steady=False,
            pairs_needed=100,
            summary="measured",
        )
        self.add("measure", {}, result, artefacts(rows, {}))

    def profile(
        self,
        runs: Sequence[tuple[tuple[str, ...], float, Cells]],
        aside: Mapping[tuple[str, ...], str] | None = None,
        later: tuple[str, ...] = (),
        failed: Collection[int] = (),
    ) -> None:
        """Each run: the layers that were on (none: bare), the outcome, the cells; `failed` are places of runs."""
        rows: list[dict[str, Any]] = [
            {"order": order, "condition": "baseline", "pair": -1, "exit_code": int(order in failed), "survivors": 0}
            | {"ok": int(order not in failed), "failure": "exit 1, no luck" if order in failed else ""}
            | {"outcome": float(outcome), "wall_s": float(outcome), "layers": "+".join(on), **cells}
            for order, (on, outcome, cells) in enumerate(runs)
        ]
        sets = [on for on in dict.fromkeys(on for on, _, _ in runs) if on]
        reasons = aside or {}
        result = ProfileResult(
            layers=tuple(dict.fromkeys(spec for on in sets for spec in on)),
            later=later,
            runs=len(rows) - len(failed),
            failed=len(failed),
            spent_s=float(sum(row["outcome"] for row in rows)),
            outcome=summarise([row["outcome"] for row in rows]),
            bare=None,
            distortions=tuple(
                Distortion(layers=on, runs=1, mean=None, spread=None, set_aside=reasons.get(on, "")) for on in sets
            ),
            columns=1,
            absent={},
            busy_cpus=1.0,
            summary="profiled",
        )
        used = {spec: self.layers[spec] for spec in result.layers}
        self.add("profile", {}, result, artefacts(rows, used))

    def call(self, tool: str, **arguments: Any) -> Result:
        subject = Subject(command=("./x",), argv=("/x",), directory="/", metric=self.metric)
        case = Case(self.next_id, subject, self.limits, MACHINE, self.knowledge, self.record)
        outcome = TOOLS[tool].run(TOOLS[tool].arguments.model_validate(arguments), case)
        self.add(tool, arguments, outcome.result, outcome.artefacts)
        return outcome.result

    def ranked(self) -> RankResult:
        """Label and rank the last profile."""
        self.call("label")
        found = self.call("rank_factors")
        assert isinstance(found, RankResult)
        return found


def outcomes(seed: int, runs: int) -> tuple[np.ndarray, np.ndarray]:
    """Bimodal runs: the outcome, and which of them are slow."""
    rng = np.random.default_rng(seed)
    slow = rng.random(runs) < 0.35
    return 0.2 + 0.1 * slow + rng.normal(0, 0.004, runs), slow
