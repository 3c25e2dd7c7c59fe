"""No module needs one that needs it: not for a type, nor in a function, where an import only makes a start quick."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter
from importlib.util import resolve_name

from .sources import ROOT, parsed


def imported(tree: ast.Module, package: str) -> Iterator[str]:
    """Name what a module imports, anywhere in it; what is imported from a package may be a module or a name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            named = resolve_name("." * node.level + (node.module or ""), package) if node.level else str(node.module)
            yield from (f"{named}.{name.name}" for name in node.names)


def test_no_modules_import_each_other() -> None:
    parts = {file: ("vgo_agent", *file.relative_to(ROOT).with_suffix("").parts) for file in parsed()}
    modules = {".".join(part).removesuffix(".__init__"): file for file, part in parts.items()}
    graph: dict[str, set[str]] = {}
    for module, file in modules.items():
        names = imported(parsed()[file], ".".join(parts[file][:-1]))
        found = {name if name in modules else name.rpartition(".")[0] for name in names}
        graph[module] = found & modules.keys() - {module}
    assert sum(map(len, graph.values())) > len(graph)
    TopologicalSorter(graph).prepare()  # CycleError names the modules of a circle


SPARED = {
    "vgo_agent.agent.step, vgo_agent.agent.report.step": "matplotlib pandas scipy.optimize scipy.cluster",
    "vgo_agent.agent.save, vgo_agent.agent.report.diagnosis": "matplotlib",
}
"""Modules, and what is not loaded with them, nor with those before them."""


def test_an_answer_in_words_loads_nothing_that_draws_or_that_few_need() -> None:
    lines = [f"import {names}\nassert not {{*sys.modules}} & {{*{spared.split()}}}" for names, spared in SPARED.items()]
    subprocess.run([sys.executable, "-c", "\n".join(["import sys", *lines])], check=True)
