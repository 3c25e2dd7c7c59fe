"""The subcommands, in the order of `vgo-agent --help`; the module of one is imported when it is chosen."""

from __future__ import annotations


class Subcommand:
    """A subcommand: `module` has `EPILOG`, `configure(parser)` and `run(arguments) -> int`."""

    # A plain class: dataclasses or typing alone would take longer to import than the rest of `vgo-agent --help`.
    def __init__(self, name: str, words: str, module: str = "") -> None:
        """Name the module as a string, since the rooms above this one may bring commands too."""
        self.name = name
        self.words = words
        self.module = module or f"{__name__}.{name}"


COMMANDS = {
    command.name: command
    for command in (
        Subcommand("diagnose", "find why some runs of a command are slow, and prove what makes them stop"),
        Subcommand("chat", "diagnose in a terminal app: talk, look at the runs as they come, decide"),
        Subcommand("mitigations", "list what can be done about a factor, what applies here, and why the rest does not"),
        Subcommand("try", "apply one mitigation, prove it, compare in pairs, put it back", f"{__name__}.try_"),
        Subcommand("tune", "search a parameter of a mitigation, and confirm the best level"),
        Subcommand("study", "say which thread settings make a parallel program steady, and at what cost"),
        Subcommand("sweep", "run a command over a space of settings, each until its spread is known"),
        Subcommand("measure", "run a command until its spread is known, and nothing else"),
        Subcommand("profile", "run a command with metric layers on, and nothing else"),
        Subcommand("demo", "diagnose a built-in program whose cause is known", "vgo_agent.evals.demo"),
        Subcommand(
            "eval", "score the agent where the cause is known: on recorded cases, or live", "vgo_agent.evals.eval"
        ),
        Subcommand("analyze", "look for causes in runs that were recorded elsewhere"),
        Subcommand("nodes", "say which machine of many is slow or unsteady, and what goes with it"),
        Subcommand("ranks", "say which rank of an MPI program the others wait for, and whether it makes runs slow"),
        Subcommand("compare", "say whether recorded runs of one condition vary less than of another"),
        Subcommand("import", "show what is understood of recorded runs, and convert them", f"{__name__}.import_"),
        Subcommand("surface", "model the spread as a function of settings, and find the steadiest configuration"),
        Subcommand("power", "say how many runs it takes to show that the spread fell"),
        Subcommand("machine", "profile this machine, compare it with another, and make it as slow as that one"),
        Subcommand("resume", "go on with a diagnosis that was cut off"),
        Subcommand("runs", "list the runs so far"),
        Subcommand("verify", "check that a run folder is as it was written"),
        Subcommand("replay", "compute a run again from its recorded measurements, and compare"),
        Subcommand("restore", "put back what a killed vgo-agent left changed on this machine"),
        Subcommand("ask", "answer questions about a finished run, in plain words and with what each answer rests on"),
        Subcommand("explain", "say what is known of a factor, a mitigation or a column, with its sources"),
        Subcommand("search", "find what is known by a question in words of your own"),
        Subcommand("export", "print how to make a mitigation permanent"),
        Subcommand("model", "list, choose, fetch and try language models"),
        Subcommand("layers", "list what can be measured on this machine, what not and why, and the cost"),
        Subcommand("cluster", "say for each host of a cluster what can be measured there, and what differs"),
        Subcommand("config", "show every setting and where it comes from"),
        Subcommand("check", "check all knowledge, layers, prompts and tools"),
        Subcommand("completion", "print the completion script for a shell"),
    )
}
