"""Calls of one function are counted, and looking never makes a program fail or slow for long."""

import pytest

from tests.layers.test_region import compiled
from vgo_agent.layers.probes.base import SpawnCommand
from vgo_agent.tools.execution.launch import Launch

PROGRAM = """
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile int done;
__attribute__((noinline)) void work(void) { done++; }
static void *rest(void *none) { usleep(60000); return none; }
int main(int count, char **words) {
    for (int i = 0; i < atoi(words[1]); i++) work();
    if (count > 2) {
        pthread_t thread;
        pthread_create(&thread, 0, rest, 0);
        pthread_join(thread, 0);
    }
    pid_t child = fork();
    if (child == 0) { work(); _exit(0); }
    int status = 1;
    return child < 0 || waitpid(child, &status, 0) != child || status != 0;
}
"""


@pytest.fixture
def counted(spawner, opened, tmp_path):
    """Counts calls of `work` in a run of the program with some words; gives its cells and the probe."""
    program = compiled(tmp_path, PROGRAM, "-pthread")
    probe = opened(f"calls:function=work,binary={program},most=300")

    def run(*words: str):
        command = probe.wrap(SpawnCommand((program, *words), {}))
        done = spawner.run(Launch(command.argv), [probe], timeout_s=30)
        assert done.exit_code == 0, "with an inherited uprobe it could not fork"
        return probe.values()

    return run, probe


def test_calls_of_the_first_thread_are_counted_once_any_run_had_some(counted):
    run, probe = counted
    assert run("0") == {} and "has not called it in any run" in probe.absent()["calls.*"]
    assert [run(calls) for calls in ("7", "0", "250")] == [{"calls.work": count} for count in (7, 0, 250)]
    assert not probe.absent()


@pytest.mark.parametrize(("words", "why"), [(("200000",), "more than 300 times"), (("5", "thread"), "several threads")])
def test_where_counting_costs_too_much_or_tells_too_little_it_ends_for_good(counted, words, why):
    run, probe = counted
    assert run(*words) == {} and why in probe.absent()["calls.*"]
    assert run("7") == {}, "it is not followed any more"


def test_a_function_that_nobody_names_or_a_file_does_not_have_is_absent_with_the_cure(opening, tmp_path):
    from vgo_agent.layers.loader import find_layer

    program = compiled(tmp_path, PROGRAM, "-pthread")
    for words, cure in (("", "calls:function=NAME,binary=PATH"), (f":function=wrok,binary={program}", "nm -D")):
        assert cure in opening(find_layer(f"calls{words}")).absent()["calls.*"]
