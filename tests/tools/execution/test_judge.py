"""What a run gave is read, or why it does not count is said."""

from vgo_agent.tools.execution.launch import Run
from vgo_agent.tools.execution.outcomes import judge
from vgo_agent.tools.subject import Subject

PLAIN = Subject(command=("x",), argv=("/bin/x",), directory="/")
METRIC = PLAIN.model_copy(update={"metric": "took ([0-9]+)"})


def ended(**given):
    return Run(wall_ns=2_000_000_000, exit_code=0, counters={}, **given)


def test_a_program_that_stood_still_at_its_limit_is_told_from_one_that_was_slow():
    stood = judge(ended(timed_out=True, stopped=True), PLAIN, limit_s=2.0)
    assert stood.failure.startswith("the program stopped itself (SIGSTOP), did not end within 2 s")
    assert judge(ended(timed_out=True), PLAIN, limit_s=2.0).failure.startswith("the program did not end within 2 s")


def test_of_much_output_the_last_match_counts_and_where_there_is_none_that_is_said():
    much = ended(output=b"took 1\ntook 22\n", output_left_out=900_000_000)
    assert judge(much, METRIC).outcome == 22
    nothing = judge(ended(output=b"noise\n", output_left_out=900_000_000), METRIC).failure
    assert "printed 'noise', and 900 MB more that are not kept, where --metric" in nothing


def test_samples_of_which_some_would_be_lost_are_refused():
    samples = METRIC.model_copy(update={"metric": "t", "per_iteration": "csv"})
    much = ended(output=b"t\n1\n", output_left_out=900_000_000)
    assert "printed 900 MB, of which 0 MB are kept: samples would be lost" in judge(much, samples).failure
    assert not judge(ended(output=b"t\n1\n"), samples).failure
