"""What is said about a run after its end breaks no seal."""

from vgo_agent.agent.chat.words import ChatReply, Exchange, keep
from vgo_agent.agent.clock import BudgetClock
from vgo_agent.agent.run_folder import RunFolder
from vgo_agent.agent.session import append_end
from vgo_agent.agent.transcript import RunEnd, Transcript


def test_the_end_record_seals_what_was_made_and_not_what_is_said(tmp_path) -> None:
    folder = RunFolder.create(tmp_path, "run")
    (folder.path / "report.md").write_text("made")
    keep(folder, Exchange("why?", ChatReply("because"), 0))
    transcript = Transcript.in_memory()
    append_end(transcript, folder, BudgetClock())
    end = transcript.events[-1].body
    assert isinstance(end, RunEnd) and [*end.outputs] == ["report.md"]
