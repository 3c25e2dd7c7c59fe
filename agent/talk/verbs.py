"""Everything that can be said: its name, what follows it, and what it does."""

from __future__ import annotations

from typing import NamedTuple


class Verb(NamedTuple):
    """One thing to do."""

    name: str
    takes: str
    """What follows it, as its help shows it."""
    does: str
    """One sentence for the help, without its full stop."""


VERBS = {
    verb.name: verb
    for verb in (
        Verb("diagnose", "COMMAND", "find why some runs are slow, and prove what makes them stop"),
        Verb("measure", "[COMMAND]", "run it until its spread is known, and nothing else"),
        Verb("profile", "[COMMAND]", "run it with the metric layers on, and nothing else"),
        Verb("label", "[CUT]", "say where slow begins: auto, median, p90, or a number"),
        Verb("tree", "", "show the tree that explains which runs are slow"),
        Verb("rank", "", "show the factors that go with the slow runs"),
        Verb("try", "MITIGATION", "apply a mitigation, prove it, compare in pairs, put it back"),
        Verb("compare", "[RUN RUN]", "hold two runs or files side by side; without names, baseline and mitigated"),
        Verb("explain", "NAME", "say what is known of a factor, a mitigation or a column"),
        Verb("report", "", "show the report"),
        Verb("undo", "", "take back the last change of the cut, or put back what was left changed"),
        Verb("open", "RUN|FILE", "open a run or recorded runs"),
        Verb("runs", "", "list the runs so far"),
        Verb("resume", "[RUN]", "go on with a diagnosis that was cut off"),
        Verb("delete", "RUN", "delete the folder of a run, after a question"),
        Verb("pause", "", "hold after the run that goes on now"),
        Verb("go", "", "go on after a pause"),
        Verb("stop", "", "end the diagnosis, put settings back, keep what was measured"),
        Verb("budget", "[MINUTES|N runs]", "show or change what may still be spent"),
        Verb("approve", "[once|run]", "allow the change that is asked about, once or for this run"),
        Verb("deny", "[REASON]", "refuse the change that is asked about; the planner sees the reason"),
        Verb("done", "", "say that the steps have been taken by hand"),
        Verb("copy", "", "copy the command line that won"),
        Verb("save", "[FOLDER]", "save the report there"),
        Verb("export", "[FILE]", "save the table of runs, as CSV or Parquet"),
        Verb("screenshot", "[FILE]", "save a picture of the screen, as SVG or PNG"),
        Verb("ask", "QUESTION", "answer a question from the record and what is known"),
        Verb("help", "[NAME]", "say what can be said"),
        Verb("quit", "", "leave; a diagnosis that goes on is stopped first"),
    )
}


class Said(NamedTuple):
    """What is to be done, and with what."""

    verb: str
    """One of `VERBS`; empty where the line says nothing."""
    rest: str = ""
    problem: str = ""
    """Why it cannot be done, in one sentence with the cure; empty where it can."""
