"""config: every setting in force and where it comes from; the script that completes commands in a shell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...tools.statistics.stopping.rules import RULES
from .options import Answering, DeclaredCommand, place
from .setting_options import EVERY

if TYPE_CHECKING:
    from ..parser import Parser


@dataclass(frozen=True, kw_only=True)
class ConfigCommand(Answering):
    """Every setting in force and where it comes from."""

    EPILOG = """\
example:
  VGO_AGENT_BUDGET=120 vgo-agent config --max-runs 200

A flag goes before an environment variable (VGO_AGENT_ and the setting in capitals), that before the settings file
(TOML, ~/.config/vgo-agent/config.toml or below XDG_CONFIG_HOME), that before the default.

Rules for --stop, and what --stop-at means to each (default); no rule is asked before --min-runs:
{rules}
""".format(rules="\n".join(f"  {rule.name:18}  {rule.meaning} ({rule.target:g})" for rule in RULES.values()))
    SETTINGS = EVERY

    def run(self) -> int:
        """Show."""
        from pydantic_core import to_jsonable_python

        from ..settings import KEYS, config_file, effective
        from ..terminal import table

        settings, origins = effective(self.flags)
        # A dump leaves out what a transcript does not record, as an empty --accept.
        held = (to_jsonable_python(getattr(settings, name)) for name in type(settings).model_fields)
        values = dict(zip(KEYS, held, strict=True))
        file = config_file()
        rows = [(key, _words(values[key]), origin) for key, origin in origins.items()]
        described = {key: {"value": values[key], "origin": origin} for key, origin in origins.items()}
        there = "" if file.exists() else " (not there)"
        shown = f"{table(('SETTING', 'VALUE', 'FROM'), rows)}\n\nfile: {file}{there}"
        return self.answer({"file": str(file), "settings": described}, shown)


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


@dataclass(frozen=True, kw_only=True)
class CompletionCommand(DeclaredCommand):
    """The script that completes commands and options in a shell."""

    EPILOG = """\
examples:
  vgo-agent config completion bash > ~/.local/share/bash-completion/completions/vgo-agent
  vgo-agent config completion zsh > ~/.zfunc/_vgo-agent
"""

    shell: str = place("SHELL", "bash, zsh or tcsh: the shell that will read it", choices=("bash", "zsh", "tcsh"))

    def run(self) -> int:
        """Print it."""
        import shtab

        from ..terminal import raw

        raw(shtab.complete(whole_parser(), shell=self.shell))
        return 0


def whole_parser() -> Parser:
    """Make the parser of all commands at once, which only completion needs."""
    import shtab

    from ..cli import DESCRIPTION
    from ..parser import Parser
    from . import COMMANDS

    kinds = {"run_name": shtab.DIRECTORY, "out": shtab.DIRECTORY, "input": shtab.FILE, "command": shtab.FILE}
    whole = Parser("vgo-agent", DESCRIPTION, DeclaredCommand)
    below = {"": whole.add_subparsers(parser_class=Parser)}
    parsers: dict[str, Parser] = {}
    for command in COMMANDS.values():
        group, _, last = command.name.rpartition(" ")
        if group not in below:
            within = ", ".join(name.split()[-1] for name in COMMANDS if name.startswith(f"{group} "))
            above = parsers.get(group) or below[""].add_parser(
                group, help=within, description=within, command=DeclaredCommand
            )
            below[group] = above.add_subparsers(parser_class=Parser)
        parser = below[group].add_parser(last, help=command.words, description=command.sentence, command=command.load())
        parsers[command.name] = parser
        for action in parser.declared:
            if action.dest in kinds:
                action.complete = kinds[action.dest]  # type: ignore[attr-defined]
    return whole
