"""Write the pages of docs/reference that follow from what the program declares.

python -m benchmarks.reference            # fails where one of them is old
python -m benchmarks.reference --write    # make them anew
"""

from __future__ import annotations

import argparse
import ast
import inspect
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic_core import to_jsonable_python

from vgo_agent.agent.commands import COMMANDS, Subcommand
from vgo_agent.agent.commands.setting_options import SETTINGS
from vgo_agent.agent.parser import parser_of
from vgo_agent.agent.settings import KEYS, PREFIX, UserSettings
from vgo_agent.knowledge.loader import load
from vgo_agent.knowledge.schema import KnownFactor
from vgo_agent.layers.loader import load_launchers, load_layers
from vgo_agent.layers.schema import Layer
from vgo_agent.tools.statistics.stopping.rules import RULES

FOLDER = Path(__file__).parents[1] / "docs/reference"
MADE = "Written by `python -m benchmarks.reference --write` from what the program declares; do not edit."


def table(header: str, rows: Iterable[Iterable[object]]) -> str:
    """Lay out a table; its header is written with bars between the titles."""
    titles = header.split(" | ")
    lines = [titles, ["---"] * len(titles), *([_cell(value) for value in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(value: object) -> str:
    return " ".join(str(value).split()).replace("|", "\\|").replace("*", "\\*").replace("<", "&lt;")


def commands() -> str:
    """Every command, with its options and what its help says below them."""
    rows = [(f"[`{one.name}`](#vgo-agent-{one.name.replace(' ', '-')})", one.sentence) for one in COMMANDS.values()]
    return "\n\n".join(["# Commands", MADE, table("command | what it does", rows), *map(_command, COMMANDS.values())])


def _command(one: Subcommand) -> str:
    declared = parser_of(one)
    flags = {flag for action in declared.declared for flag in action.option_strings}
    shared = [f"`--{flag}`" for flag in SETTINGS if f"--{flag}" in flags]
    rows = [
        (_spelt(action), str(action.help).replace("%%", "%"))
        for action in declared.declared
        if not (action.option_strings and action.option_strings[-1][2:] in SETTINGS)
    ]
    parts = [f"## vgo-agent {one.name}", one.sentence, table("option | meaning", rows) if rows else ""]
    parts += [f"[Settings](settings.md): {', '.join(shared)}." if shared else ""]
    parts += [f"```text\n{declared.epilog.rstrip()}\n```" if declared.epilog else ""]
    return "\n\n".join(filter(None, parts))


def _spelt(action: argparse.Action) -> str:
    """Write an option, or a word without a flag, as it is typed."""
    value = action.metavar or (
        "{" + ",".join(map(str, action.choices)) + "}" if action.choices else action.dest.upper()
    )
    if not action.option_strings:
        return f"`{value}`"
    return f"`{', '.join(action.option_strings)}{'' if action.nargs == 0 else f' {value}'}`"


def all_settings() -> str:
    """Every setting, where it may stand, and its default."""
    held = {one.alias or name: getattr(UserSettings(), name) for name, one in UserSettings.model_fields.items()}
    words = {key: str(SETTINGS[_flag(key)]["help"]) if _flag(key) in SETTINGS else _documented()[key] for key in KEYS}
    rows = [
        (
            f"`{key}`",
            f"`--{_flag(key)}`" if _flag(key) in SETTINGS else "",
            f"`{PREFIX}{key.upper()}`",
            _default(held[key]),
            words[key],
        )
        for key in KEYS
    ]
    rules = [(f"`{rule.name}`", f"{rule.target:g}", rule.meaning) for rule in RULES.values()]
    return "\n\n".join(
        [
            "# Settings",
            MADE,
            "A flag goes before an environment variable, that before the settings file"
            " (`~/.config/vgo-agent/config.toml`, or below `XDG_CONFIG_HOME`),"
            " that before the default. `vgo-agent config` shows which won.",
            table("in the file | flag | variable | default | meaning", rows),
            "## Rules for --stop",
            "What `--stop-at` means to each; no rule is asked before `--min-runs`.",
            table("rule | default | target", rules),
        ]
    )


def _flag(key: str) -> str:
    return "layer" if key == "layers" else key.replace("_", "-")


def _default(value: Any) -> str:
    shown = to_jsonable_python(value)
    return ", ".join(shown) if isinstance(shown, list) else "" if shown is None else str(shown).removesuffix(".0")


def _documented() -> Mapping[str, str]:
    """What is written below a setting that has no flag."""
    [declared] = ast.parse(inspect.getsource(UserSettings)).body
    assert isinstance(declared, ast.ClassDef)
    found = {}
    for field, words in zip(declared.body, declared.body[1:], strict=False):
        match field, words:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                found[name.removesuffix("_s")] = text
    return found


def layers() -> str:
    """Every layer and launcher, and the columns of each layer."""
    metric, launchers = load_layers(), load_launchers()
    return "\n\n".join(
        [
            "# Layers",
            MADE,
            "What is here and what is not: `vgo-agent layers`. The format, and a layer of your own: "
            "[layers/README.md](../../layers/README.md). What they cost: [results](../results/layers.md).",
            table("layer | columns | what it shows | where it is not available", map(_layer, metric.values())),
            "## Launchers",
            table(
                "launcher | parameters | where the program runs | where it is not available",
                ((f"`{one.key}`", ", ".join(one.parameters), one.description, one.cure) for one in launchers.values()),
            ),
            *(part for one in metric.values() if one.columns for part in _columns(one)),
        ]
    )


def _layer(one: Layer) -> tuple[object, ...]:
    name = f"[`{one.key}`](#{one.key})" if one.columns else f"`{one.key}`"
    return name, len(one.columns), one.description + (" Heavy." if one.heavy else ""), one.cure


def _columns(one: Layer) -> tuple[str, str]:
    rows = ((f"`{column.name}`", column.unit, column.role, column.description) for column in one.columns)
    return f"## {one.key}", table("column | unit | role | what it says", rows)


def mitigations() -> str:
    """Every factor and mitigation."""
    known = load()
    helps = defaultdict[str, list[str]](list)
    for factor in known.factors.values():
        for key in factor.mitigations:
            helps[key].append(f"`{factor.key}`")
    return "\n\n".join(
        [
            "# Factors and mitigations",
            MADE,
            "All that is known of one, with its sources: `vgo-agent explain KEY`, or its file. What applies on this"
            " machine: `vgo-agent mitigations`. How to add one: [knowledge/README.md](../../knowledge/README.md).",
            "## Factors",
            table("factor | what it is | mitigations, in the order to try them", map(_factor, known.factors.values())),
            "## Mitigations",
            table(
                "mitigation | what it is | scope | what it no longer promises | of factors",
                (
                    (_file("mitigations", one.key), one.name, one.scope, one.changes_promise, ", ".join(helps[one.key]))
                    for one in known.mitigations.values()
                ),
            ),
        ]
    )


def _factor(one: KnownFactor) -> tuple[object, ...]:
    return _file("factors", one.key), one.name, ", ".join(f"`{key}`" for key in one.mitigations)


def _file(folder: str, key: str) -> str:
    return f"[`{key}`](../../knowledge/{folder}/{key}.yaml)"


PAGES = {"commands.md": commands, "settings.md": all_settings, "layers.md": layers, "mitigations.md": mitigations}


def main() -> None:
    """Compare or write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write the pages that are old")
    write = parser.parse_args().write
    for name in old():
        if not write:
            raise SystemExit(f"docs/reference/{name} is old: python -m benchmarks.reference --write")
        (FOLDER / name).write_text(PAGES[name]())
        print(f"docs/reference/{name}")


def old() -> list[str]:
    """Name the pages that are not as they should be."""
    return [
        name for name, make in PAGES.items() if not (FOLDER / name).exists() or (FOLDER / name).read_text() != make()
    ]


if __name__ == "__main__":
    main()
