"""The subcommands, in the order of `vgo-agent --help all`; the module of one is imported when it is chosen."""

from __future__ import annotations

from importlib import import_module
from itertools import starmap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .options import DeclaredCommand


class Subcommand:
    """A subcommand: its name, of two words where one does several things, and what it does."""

    # A plain class: dataclasses or typing alone would take longer to import than the rest of `vgo-agent --help`.
    def __init__(self, name: str, words: str, place: str) -> None:
        """Name module and class as text, since the rooms above this one bring commands too."""
        self.name = name
        self.words = words
        self.place = place

    @property
    def sentence(self) -> str:
        """What it does, as its own help says it."""
        return f"{self.words[0].upper()}{self.words[1:]}."

    def load(self) -> type[DeclaredCommand]:
        """Import what it declares."""
        module, _, name = self.place.partition(":")
        command: type[DeclaredCommand] = getattr(
            import_module(module if "." in module else f"{__name__}.{module}"), name
        )
        return command


_COMMANDS = (
    ("demo", "diagnose a built-in program whose cause is known", "vgo_agent.evals.demo:DemoCommand"),
    (
        "diagnose",
        "find why some runs of a command are slow, and prove what makes them stop",
        "diagnose:DiagnoseCommand",
    ),
    ("chat", "diagnose in a terminal app: talk, look at the runs as they come, decide", "chat:ChatCommand"),
    (
        "try",
        "apply one mitigation, or search the best level of it, prove it, compare in pairs, put it back",
        "try_:TryCommand",
    ),
    (
        "measure",
        "run a command until its spread is known, or with metric layers on, and nothing else",
        "measure:MeasureCommand",
    ),
    ("analyze", "look for causes in runs that were recorded elsewhere, by machine or rank", "analyze:AnalyzeCommand"),
    (
        "compare",
        "say whether recorded runs of one condition vary less than of another, or how many runs show it",
        "compare:CompareCommand",
    ),
    (
        "ask",
        "answer questions about a finished run, in plain words and with what each answer rests on",
        "ask:AskCommand",
    ),
    (
        "mitigations",
        "list what can be done about a factor, what applies here, and how to keep it",
        "mitigations:MitigationsCommand",
    ),
    ("sweep", "run a command over a space of settings, each until its spread is known", "sweep:SweepCommand"),
    (
        "sweep openmp",
        "say which settings of OpenMP threads make a program steady, and at what cost",
        "sweep:StudyCommand",
    ),
    (
        "surface",
        "model the spread as a function of settings, and find the steadiest configuration",
        "surface:SurfaceCommand",
    ),
    (
        "machine profile",
        "run a battery of stress-ng stressors and keep the rates of this machine",
        "machine:MachineProfileCommand",
    ),
    (
        "machine compare",
        "say how many times as fast machine B is as machine A, stressor by stressor",
        "machine:MachineCompareCommand",
    ),
    (
        "machine calibrate",
        "find the CPU quota that brings this machine closest to another",
        "machine_quota:MachineCalibrateCommand",
    ),
    (
        "machine run",
        "run a command under such a quota, and prove that it was in force",
        "machine_quota:MachineRunCommand",
    ),
    ("resume", "go on with what was cut off", "runs:ResumeCommand"),
    ("runs", "list the runs so far", "runs:RunsCommand"),
    ("verify", "check that a run folder is as it was written, or compute it again", "runs:VerifyCommand"),
    ("restore", "put back what a killed vgo-agent left changed on this machine", "runs:RestoreCommand"),
    (
        "explain",
        "say what is known of a factor, a mitigation, a column or a question, with its sources",
        "explain:ExplainCommand",
    ),
    ("model", "list, choose, fetch and try language models", "model:ModelCommand"),
    ("layers", "list what can be measured here or on hosts, what not and why, and the cost", "layers:LayersCommand"),
    ("config", "show every setting and where it comes from", "config:ConfigCommand"),
    ("config completion", "print the completion script for a shell", "config:CompletionCommand"),
    ("check", "check all knowledge, layers, prompts and tools", "check:CheckCommand"),
    (
        "eval",
        "score the agent where the cause is known: on recorded cases, live, or on programs made at random",
        "vgo_agent.evals.eval:EvalCommand",
    ),
    (
        "eval record",
        "make a recorded case of a workload, or of a program of your own",
        "vgo_agent.evals.record_command:RecordCommand",
    ),
)
COMMANDS = {command.name: command for command in starmap(Subcommand, _COMMANDS)}
SHOWN_FIRST = 8
"""So many of them stand in `vgo-agent --help`."""
