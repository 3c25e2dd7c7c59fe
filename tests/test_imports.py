"""No module needs one that needs it: not for a type, nor in a function, where an import only makes a start quick."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter
from importlib.util import resolve_name
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ROOMS = ("agent", "tools", "layers", "knowledge", "evals")


def imported(file: Path, package: str) -> Iterator[str]:
    """Name what a module imports, anywhere in it; what is imported from a package may be a module or a name."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            named = resolve_name("." * node.level + (node.module or ""), package) if node.level else str(node.module)
            yield from (f"{named}.{name.name}" for name in node.names)


def test_no_modules_import_each_other() -> None:
    files = [file for room in ROOMS for file in (ROOT / room).rglob("*.py")]
    parts = {file: ("vgo_agent", *file.relative_to(ROOT).with_suffix("").parts) for file in files}
    modules = {".".join(part).removesuffix(".__init__"): file for file, part in parts.items()}
    graph: dict[str, set[str]] = {}
    for module, file in modules.items():
        names = imported(file, ".".join(parts[file][:-1]))
        found = {name if name in modules else name.rpartition(".")[0] for name in names}
        graph[module] = found & modules.keys() - {module}
    assert sum(map(len, graph.values())) > len(graph)
    TopologicalSorter(graph).prepare()  # CycleError names the modules of a circle


@pytest.mark.parametrize(
    ("modules", "spared"),
    [
        ("vgo_agent.agent.step, vgo_agent.agent.report.step", "matplotlib polars scipy.optimize scipy.cluster"),
        ("vgo_agent.agent.save, vgo_agent.agent.report.diagnosis", "matplotlib"),
    ],
)
def test_an_answer_in_words_loads_nothing_that_draws_or_that_few_need(modules: str, spared: str) -> None:
    check = f"import sys, {modules}; assert not {{*sys.modules}} & {{*{spared.split()}}}"
    subprocess.run([sys.executable, "-c", check], check=True)
