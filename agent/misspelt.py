"""What was meant by a word that is no command: the nearest commands, or what is done instead."""

from __future__ import annotations

from collections.abc import Sequence

from ..knowledge.bm25 import did_you_mean, near_names
from .commands import COMMANDS

_EVERYDAY = {
    "apply": ("try",),
    "bench": ("measure", "diagnose"),
    "benchmark": ("measure", "diagnose"),
    "clean": ("restore",),
    "continue": ("resume",),
    "convert": ("analyze",),
    "diff": ("compare",),
    "doctor": ("check", "layers"),
    "fix": ("try",),
    "history": ("runs",),
    "list": ("runs", "mitigations", "layers"),
    "ls": ("runs",),
    "open": ("chat",),
    "optimise": ("try", "sweep"),
    "optimize": ("try", "sweep"),
    "reset": ("restore",),
    "revert": ("restore",),
    "run": ("diagnose", "measure"),
    "settings": ("config",),
    "show": ("chat", "explain"),
    "start": ("diagnose", "demo"),
    "tui": ("chat",),
    "undo": ("restore",),
    "view": ("chat",),
    "why": ("diagnose", "ask"),
}
"""Words that other tools have for it."""
_FORMER = {
    "cluster": "layers --on ADDRESS -- COMMAND",
    "completion": "config completion SHELL",
    "export": "mitigations MITIGATION --keep FORMAT",
    "import": "analyze FILE --read-only",
    "nodes": "analyze FILE --by node",
    "power": "compare FILE --plan RATIO",
    "profile": "measure --layer NAME -- COMMAND",
    "ranks": "analyze FILE --by rank",
    "replay": "verify RUN --recompute",
    "search": "explain WORDS",
    "study": "sweep openmp [OPTIONS] -- COMMAND",
    "tune": "try MITIGATION --search PARAM=LEVELS -- COMMAND",
}
"""What commands that there were before are written as now."""


def instead(words: Sequence[str]) -> str:
    """Say what to type instead of a command that does not exist."""
    if words[0] == "report":
        return _report(words[1:])
    if words[0] == "help":
        return "`vgo-agent --help` lists the commands, and `vgo-agent COMMAND --help` tells of one"
    if words[0] in _FORMER:
        return f"write `vgo-agent {_FORMER[words[0]]}`"
    if several := [name for name in COMMANDS if name.partition(" ")[0] == words[0]]:
        return f"there are {', '.join(several)}"
    texts = {name: f"{name} {command.words}" for name, command in COMMANDS.items()}
    near = near_names(words[0], list(COMMANDS), texts, _EVERYDAY.get(words[0].lower(), ()))
    return did_you_mean(near, "`vgo-agent --help` lists them")


def _report(named: Sequence[str]) -> str:
    """Say where the report of a run is, or that of the last run which has one."""
    from .run_folder import run_meant
    from .settings import effective

    out = effective({})[0].out
    folders = [run_meant(named[0], out).path] if named else list(out.glob("*/"))
    reports = [report for folder in folders if (report := folder / "report.html").is_file()]
    if not reports and named:
        return f"{folders[0]} has no report yet: `vgo-agent resume {folders[0]}` goes on to it"
    if not reports:
        return f"{out} holds no report yet: a run of `vgo-agent diagnose COMMAND` ends with one"
    last = max(reports, key=lambda report: report.stat().st_mtime)
    whose = "the report of that run" if named else "the report of your last run"
    return f"{whose} is {last} (as text: {last.with_name('report.md')})"
