"""Every setting that changes a diagnosis, as an option: what its flag is called, takes and means."""

from __future__ import annotations

from typing import Any

from ...tools.statistics.stopping.rules import DEFAULT, RULES


def _setting(words: str, **more: Any) -> dict[str, Any]:
    return {"help": words, **more}


SETTINGS = {
    "allow": _setting(
        "mitigations that may be applied without asking: none at all, those that touch only the program, "
        "or also those that change the system (default process)",
        choices=("none", "process", "system"),
    ),
    "accept": _setting(
        "apply this mitigation although it changes what the program promises, as that data are safe; repeatable",
        action="append",
        metavar="MITIGATION",
    ),
    "budget": _setting(
        "seconds by the clock, from the start of the command to its answer (default 600)", type=float, metavar="S"
    ),
    "timeout": _setting("end a run after so many seconds, and count it as failed", type=float, metavar="S"),
    "on-failure": _setting(
        "what a failed run of the program as it is given does: it is counted and told, or it ends all (default count)",
        choices=("count", "stop"),
    ),
    "min-runs": _setting("runs of one condition at least (default 30)", type=int, metavar="N"),
    "max-runs": _setting("runs of one condition at most (default 500)", type=int, metavar="N"),
    "stop": _setting(
        "which rule says that the baseline has enough runs: `vgo-agent config --help` tells what each looks at; "
        f"--max-runs and --budget hold beside it (default {DEFAULT.name})",
        choices=tuple(RULES),
    ),
    "stop-at": _setting("target of that rule, in its own unit: see `vgo-agent config --help`", type=float, metavar="X"),
    "target-ratio": _setting("stop when the spread is proved below this share (default 0.66)", type=float, metavar="R"),
    "steady-cv": _setting("spread over mean that needs no reduction (default 0.01)", type=float, metavar="CV"),
    "alpha": _setting("chance of a wrong claim (default 0.05)", type=float, metavar="P"),
    "max-mitigations": _setting("mitigations tried at most (default 12)", type=int, metavar="N"),
    "layer": _setting(
        "metric layer to profile with: NAME, NAME:parameter=value,..., or ./FILE.yaml; all: every one that is there; "
        "auto: the light ones, then the heavy ones if those show nothing; default: process and ledger, with stacks in "
        "30 more runs; repeatable (without it: default)",
        action="append",
        dest="layers",
        metavar="NAME",
    ),
    "launcher": _setting(
        "what starts the program: NAME or NAME:parameter=value,... (see `vgo-agent layers`; default local)",
        metavar="SPEC",
    ),
    "root": _setting(
        "where the /proc and /sys of the machine are, as /host in a container; counters of the machine and the survey "
        "are read there (default /)",
        metavar="DIR",
    ),
    "seed": _setting("seed of all that is drawn at random (default 1)", type=int, metavar="N"),
    "planner": _setting(
        "who chooses the next step: the rule policy, or a language model; without it, a model where one is named",
        choices=("rules", "llama"),
    ),
    "model": _setting(
        "the language model: a GGUF file, a name in the folder of models, the address of a server, shipped, or none",
        metavar="SPEC",
    ),
    "decision-timeout": _setting(
        "seconds for a model to decide; then the rules do (default 60)", type=float, metavar="S"
    ),
    "think": _setting("let the model write freely before it chooses", action="store_true"),
    "out": _setting("the parent of run folders (default vgo-runs)", metavar="DIR"),
    "quiet": _setting("tell no progress, only the answer", short="-q", action="store_true", exclusive="voice"),
}
"""By its flag: each may stand in the settings file and the environment, too."""
EVERY = tuple(key for key in SETTINGS if key != "quiet")
