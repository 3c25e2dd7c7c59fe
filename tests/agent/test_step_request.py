"""A profile that shall be short has fewer runs, and never too few to tell anything."""

from hypothesis import given
from hypothesis import strategies as st

from vgo_agent.agent.step import LEAST, StepRequest
from vgo_agent.tools.experiment.schedules import bare_runs
from vgo_agent.tools.statistics.ratio_test import FEWEST
from vgo_agent.tools.subject import Limits, Subject

ASKED = StepRequest(
    subject=Subject(command=("true",), argv=("/bin/true",), directory="/"),
    limits=Limits(),
    kind="profile",
    arguments={"layers": ("ledger",), "runs": 30},
    why="",
    within_s=5.0,
)


@given(st.floats(0.001, 100))
def test_as_many_runs_as_fit_and_never_fewer_than_a_ledger_needs(run_s: float) -> None:
    runs = ASKED.fitted(run_s).arguments["runs"]
    assert FEWEST < LEAST <= runs <= 30
    assert runs == LEAST or (runs + bare_runs(runs, runs)) * run_s <= 5
    assert runs == 30 or (runs + 1 + bare_runs(runs + 1, runs + 1)) * run_s > 5


def test_what_has_no_such_wish_keeps_its_runs() -> None:
    assert ASKED.model_copy(update={"within_s": None}).fitted(100) == ASKED.model_copy(update={"within_s": None})
