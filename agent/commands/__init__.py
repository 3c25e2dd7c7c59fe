"""The subcommands, in the order of `vgo-agent --help`; the module of one is imported when it is chosen."""

from __future__ import annotations


class Command:
    """A subcommand: `module` has `configure(parser)` and `run(arguments) -> int`."""

    # A plain class: dataclasses or typing alone would take longer to import than the rest of `vgo-agent --help`.
    def __init__(self, name: str, words: str, module: str = "") -> None:
        """Name the module as a string, since the rooms above this one may bring commands too."""
        self.name = name
        self.words = words
        self.module = module or f"{__name__}.{name}"


COMMANDS = {
    command.name: command
    for command in (
        Command("diagnose", "find why some runs of a command are slow, and prove what makes them stop"),
        Command("chat", "diagnose in a terminal app: talk, look at the runs as they come, decide"),
        Command("mitigations", "list what can be done about a factor, what applies here, and why the rest does not"),
        Command("try", "apply one mitigation, prove it, compare in pairs, put it back", f"{__name__}.try_"),
        Command("tune", "search a parameter of a mitigation, and confirm the best level"),
        Command("study", "say which thread settings make a parallel program steady, and at what cost"),
        Command("sweep", "run a command over a space of settings, each until its spread is known"),
        Command("measure", "run a command until its spread is known, and nothing else"),
        Command("profile", "run a command with metric layers on, and nothing else"),
        Command("demo", "diagnose a built-in program whose cause is known", "vgo_agent.evals.demo"),
        Command("eval", "score the agent where the cause is known: on recorded cases, or live", "vgo_agent.evals.eval"),
        Command("analyze", "look for causes in runs that were recorded elsewhere"),
        Command("nodes", "say which machine of many is slow or unsteady, and what goes with it"),
        Command("ranks", "say which rank of an MPI program the others wait for, and whether it makes runs slow"),
        Command("compare", "say whether recorded runs of one condition are steadier than of another"),
        Command("import", "show what is understood of recorded runs, and convert them", f"{__name__}.import_"),
        Command("surface", "model the spread as a function of settings, and find the steadiest configuration"),
        Command("power", "say how many runs it takes to show that the spread fell"),
        Command("machine", "profile this machine, compare it with another, and make it as slow as that one"),
        Command("resume", "go on with a diagnosis that was cut off"),
        Command("runs", "list the runs so far"),
        Command("verify", "check that a run folder is as it was written"),
        Command("replay", "compute a run again from its recorded measurements, and compare"),
        Command("restore", "put back what a killed vgo-agent left changed on this machine"),
        Command("ask", "answer questions about a finished run, in plain words and with what each answer rests on"),
        Command("explain", "say what is known of a factor, a mitigation or a column, with its sources"),
        Command("search", "find what is known by a question in words of your own"),
        Command("export", "print how to make a mitigation permanent"),
        Command("model", "list, choose, fetch and try language models"),
        Command("layers", "list what can be measured on this machine, what not and why, and the cost"),
        Command("cluster", "say for each host of a cluster what can be measured there, and what differs"),
        Command("config", "show every setting and where it comes from"),
        Command("check", "check all knowledge, layers, prompts and tools"),
        Command("completion", "print the completion script for a shell"),
    )
}
