"""config: every setting in force and where it comes from."""

from __future__ import annotations

import argparse

from ...tools.statistics.stopping.rules import RULES
from ..terminal import answer, table
from .options import add_manners, add_settings

EPILOG = """\
example:
  VGO_AGENT_BUDGET=120 vgo-agent config --max-runs 200

A flag goes before an environment variable (VGO_AGENT_ and the setting in capitals), that before the settings file
(TOML, ~/.config/vgo-agent/config.toml or below XDG_CONFIG_HOME), that before the default.

Rules for --stop, and what --stop-at means to each (default); no rule is asked before --min-runs:
{rules}
""".format(rules="\n".join(f"  {rule.name:18}  {rule.meaning} ({rule.target:g})" for rule in RULES.values()))


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_settings(parser)
    add_manners(parser)


def run(arguments: argparse.Namespace) -> int:
    """Show."""
    from pydantic_core import to_jsonable_python

    from ..settings import KEYS, config_file, effective

    settings, origins = effective(vars(arguments))
    # A dump leaves out what a transcript does not record, as an empty --accept.
    held = (to_jsonable_python(getattr(settings, name)) for name in type(settings).model_fields)
    values = dict(zip(KEYS, held, strict=True))
    file = config_file()
    shown = table(("SETTING", "VALUE", "FROM"), [(key, _words(values[key]), origin) for key, origin in origins.items()])
    described = {key: {"value": values[key], "origin": origin} for key, origin in origins.items()}
    there = "" if file.exists() else " (not there)"
    answer({"file": str(file), "settings": described}, f"{shown}\n\nfile: {file}{there}", arguments.json)
    return 0


def _words(value: object) -> str:
    match value:
        case None | []:
            return "none"
        case "":
            return "not set"
        case bool():
            return str(value).lower()
        case list():
            return ", ".join(map(str, value))
        case _:
            return f"{value:g}" if isinstance(value, float) else str(value)
