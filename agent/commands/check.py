"""check: everything that is written as data or read by a model is sound."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase

from ...knowledge.errors import VgoError
from .options import Answering


@dataclass(frozen=True, kw_only=True)
class CheckCommand(Answering):
    """Everything that is written as data or read by a model is sound."""

    EPILOG = """\
example:
  vgo-agent check

For those who add a factor, a mitigation, a layer, a prompt or a tool: validates every file and every reference between
them. Exits with 1 when something is wrong.
"""

    def run(self) -> int:
        """Check."""
        found = {part: list(check()) for part, check in checks().items()}
        problems = [problem for part in found.values() for problem in part]
        words = "\n".join(problems) or f"Sound: {', '.join(found)}."
        self.answer({"ok": not problems, "problems": found}, words)
        return 1 if problems else 0


def checks() -> dict[str, Callable[[], Iterator[str] | list[str]]]:
    """Every check by what it looks at."""
    from ...knowledge.loader import check as knowledge
    from ...layers.loader import check as layers
    from ...prompts.render import check as prompts
    from ...tools.sweep.space import check as sweeps

    return {
        "knowledge": knowledge,
        "layers": layers,
        "columns": columns,
        "prompts": prompts,
        "tools": tools,
        "sweeps": sweeps,
    }


def columns() -> Iterator[str]:
    """Find columns that knowledge names and no layer has: such a factor or proof would never show."""
    from ...knowledge.loader import load
    from ...layers.launcher import HOST
    from ...layers.loader import load_layers
    from ...tools.candidates import ORDER
    from ...tools.execution.outcomes import PREFIX

    try:
        layers = load_layers().values()
    except VgoError:  # The check of the layers says it, with all that is wrong beside it.
        return
    knowledge = load()
    named = {f"factors/{factor.key}.yaml": factor.signals for factor in knowledge.factors.values()}
    named |= {f"mitigations/{mitigation.key}.yaml": mitigation.moves for mitigation in knowledge.mitigations.values()}
    for file, names in named.items():
        for name in names:
            made = name in (ORDER, HOST.name) or name.startswith(PREFIX)  # by a run itself, whatever the layers
            shown = (
                layer.column(name) or any(fnmatchcase(one.name, name) for one in layer.columns) for layer in layers
            )
            if not made and not any(shown):
                yield f"{file}: no layer has the column {name}. Correct the name, or add the column to a layer."


def tools() -> Iterator[str]:
    """Find tools that a planner could misunderstand or call with words that nobody checks."""
    from ...tools.registry import TOOLS

    for name, tool in TOOLS.items():
        if not tool.help.strip():
            yield f"The tool {name} has no help: a planner reads it."
        if tool.arguments.model_config.get("extra") != "forbid":
            yield f"The tool {name} takes arguments that it does not know: derive them from Arguments."
        properties = tool.arguments.model_json_schema().get("properties", {})
        for argument in (key for key, schema in properties.items() if schema.keys() <= {"title"}):
            yield f"The tool {name} does not say what type {argument} has: annotate it."
