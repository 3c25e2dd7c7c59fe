"""Ten questions of a sceptical user over a run: `python benchmarks/conversation.py RUN [--model SPEC] [--save]`.

The answers are those of `vgo-agent ask`; with --model, of which any number may be given, each model is asked as well.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

QUESTIONS = (
    "why is this slow?",
    "what did you try?",
    "did it help?",
    "would huge pages help?",
    "how sure are you?",
    "did you put everything back?",
    "how do I reproduce it?",
    "what should I do on the cluster?",
    "what was not measured?",
    "who won the world cup?",
)
PAGE = Path(__file__).parents[1] / "docs/results/conversation.md"
COMMAND = Path(sys.executable).with_name("vgo-agent")
WIDTH = 120
HEAD = """\
Written by `python benchmarks/conversation.py RUN --save`: `vgo-agent ask RUN` with ten questions of a sceptical user,
one after the other, {who}. The program is `{command}`, and the run was made with
`--planner {planner}`. RUN stands for its folder; folders of programs are left out.
"""
PROGRAM_FOLDER = r"/[\w./-]+/(?=(?:python|\w+\.py)\b)"
RANDOM = """\
random.gguf has random weights (`random_gguf.py`): what it picks among the sentences that may be said is chance, so
it shows the worst that a model can say.
"""


def main() -> int:
    """Ask, print, and write the page where that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("--model", action="append", default=[], metavar="SPEC")
    parser.add_argument("--save", action="store_true", help=f"write {PAGE.name}")
    arguments = parser.parse_args()
    page = re.sub(PROGRAM_FOLDER, "", written(arguments.run, arguments.model))
    print(page)
    if arguments.save:
        PAGE.write_text(page, encoding="utf-8")
    return 0


def written(run: Path, models: Sequence[str]) -> str:
    """Write the page: each question with what templates answer, then what each model does."""
    request = json.loads((run / "request.json").read_text())
    command = " ".join(request["subject"]["command"])
    who = "without a model" + (f", and with {', '.join(Path(one).name for one in models)}" if models else "")
    head = " ".join(HEAD.format(who=who, command=command, planner=request["planner"]).split())
    wrapped = textwrap.fill(head, WIDTH, break_long_words=False, break_on_hyphens=False)
    parts = [f"# A conversation over a finished run\n\n{wrapped}\n"]
    parts += [RANDOM] if "random.gguf" in who else []
    for title, options in (("Without a model", ()), *((f"With {Path(one).name}", ("--model", one)) for one in models)):
        parts.append(f"## {title}\n\n```text\n{ask(run, options).rstrip()}\n```\n")
    return "\n".join(parts)


def ask(run: Path, options: Sequence[str]) -> str:
    """Ask all of them in one conversation."""
    asked: dict[str, Any] = {"input": "\n".join(QUESTIONS), "capture_output": True, "text": True, "check": True}
    said: str = subprocess.run([str(COMMAND), "ask", *options, str(run)], **asked).stdout
    return said.replace(str(run.resolve()), "RUN")


if __name__ == "__main__":
    sys.exit(main())
