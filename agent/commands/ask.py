"""ask: questions about a finished run in plain words; answered from its record and from what is known."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from ...knowledge.errors import VgoError
from ..terminal import answer, printable, raw
from .options import OfRun, place

if TYPE_CHECKING:
    from ..answers.answer import QuestionAnswer
    from ..answers.conversation import Conversation
    from ..answers.of_experiment import ExperimentAnswer
    from ..run_folder import RunFolder
    from ..settings import UserSettings

    Ask = Callable[[str], QuestionAnswer | ExperimentAnswer]


@dataclass(frozen=True, kw_only=True)
class AskCommand(OfRun):
    """Questions about a finished run in plain words; answered from its record and from what is known."""

    EPILOG = """\
examples:
  vgo-agent ask vgo-runs/20250314-092653-bench.sh why is this slow
  vgo-agent ask vgo-runs/20250314-092653-bench.sh "would huge pages help?" --json
  vgo-agent ask vgo-runs/20250314-092653-bench.sh < questions.txt

Without a QUESTION each line of standard input is one, up to an empty line or the end; with --json each answer is then
one line. Every sentence names what it rests on: a call of the run with its event, or a source. Nothing is run, and no
number is anybody's but the record's. With --model (or where a model is configured) a language model chooses what is
said, among sentences that are true, and writes none; without one, templates answer. The exit code is 1 where nothing is
known. Of what is no diagnosis its own sentences are told, whatever is asked.
"""
    USAGE = "[OPTIONS] RUN [QUESTION]"
    SETTINGS = ("out", "model")

    words: tuple[str, ...] = place("QUESTION", "in words of your own; none: read them, line by line", default=())

    def run(self) -> int:
        """Answer one question, or one after the other."""
        from ..model.chosen import model_choice
        from ..run_folder import experiment_in, place_meant, run_meant
        from ..settings import effective

        settings, origins = effective(self.flags)
        place = place_meant(self.run_name, settings.out)
        question = " ".join(" ".join(self.words).split())
        if self.words and not question:
            raise _nothing_asked()
        if experiment_in(place):
            from ..answers.of_experiment import experiment_answer

            return _answered(partial(experiment_answer, place), question, settings, self.json)
        request = model_choice(settings.model, settings) if settings.model else None  # refused before anything is read
        conversation = conversation_on(run_meant(self.run_name, settings.out))
        from ..answers.speaker import speaking

        demanded = origins["model"] == "flag"
        with conversation, speaking(request, settings.decision_timeout_s, demanded) as conversation.speaker:
            return _answered(conversation.ask, question, settings, self.json)


def conversation_on(folder: RunFolder) -> Conversation:
    """Read a run that has ended; nothing in its folder is changed."""
    from ..record import bodies
    from ..transcript import RunStart, Transcript, read

    events = read(folder.transcript)
    started = bodies(events, RunStart)
    if not started:
        raise VgoError(f"{folder.path} has not begun; go on with `vgo-agent resume {folder.path}`.")
    from ...knowledge.loader import load
    from ..answers.conversation import Conversation
    from ..conduct import finished_run

    known = started[0].plan.known(load())
    return Conversation(finished_run(folder, Transcript(None, events), known), started[0].knowledge)


def _answered(ask: Ask, question: str, settings: UserSettings, as_json: bool | str) -> int:
    if not question:
        return _talk(ask, settings, as_json)
    found = ask(question)
    answer(found.values(), found.text(), as_json)
    return 0 if found.known else 1


def _talk(ask: Ask, settings: UserSettings, as_json: bool | str) -> int:
    """Answer each line; 1 where no question was answered."""
    import json

    asked = answered = 0
    for question in _lines(prompting=not settings.quiet and sys.stdin.isatty()):
        found = ask(question)
        asked, answered = asked + 1, answered + found.known
        if as_json:
            raw(json.dumps(found.values()))
        else:
            said = "" if sys.stdin.isatty() else f"> {printable(question.strip())}\n"
            answer({}, f"{said}{found.text()}", False)
            raw("")
    if not asked:
        raise _nothing_asked()
    return 0 if answered else 1


def _lines(prompting: bool) -> Iterator[str]:
    """Read questions up to an empty line; what is no text is read as far as it goes."""
    while True:
        if prompting:
            print("? ", end="", file=sys.stderr, flush=True)
        line = sys.stdin.buffer.readline().decode(errors="replace")
        if not line.strip():
            return
        yield line


def _nothing_asked() -> VgoError:
    return VgoError('There is no question: ask, for example, vgo-agent ask RUN "why is this slow?".')
