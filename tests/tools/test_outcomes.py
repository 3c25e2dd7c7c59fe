"""What a change does to the program is its result: it fails, hangs or becomes far slower under it, and is refuted."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vgo_agent.knowledge.schema import Mitigation
from vgo_agent.tools.execution.bench import Bench
from vgo_agent.tools.execution.expected import Expected, Seen, broke
from vgo_agent.tools.execution.launch import Launch
from vgo_agent.tools.execution.spawn import Spawner
from vgo_agent.tools.failures import broken_by, failures_of
from vgo_agent.tools.machine import Machine
from vgo_agent.tools.subject import Subject
from vgo_agent.tools.survey import survey

from .conftest import Draws
from .levels import most

KNOWN = Expected(longest_s=0.2, runs=60, failed=0)
FLAKY = Expected(longest_s=0.2, runs=60, failed=6)
WELL, FAILED, SLOW = Seen(0.2, ""), Seen(0.1, "exit 1, OSError: busy"), Seen(0.9, "")


@pytest.fixture(scope="module")
def spawner() -> Iterator[Spawner]:
    with Spawner() as opened:
        yield opened


@pytest.fixture
def proved(tmp_path: Path, spawner: Spawner) -> Iterator[Callable[[str], tuple[str, int]]]:
    """Prove a variable for a line of sh; give what it did to the program, and the runs that this took.

    A program that ends before it is looked at, as one of a millisecond does on a busy machine, is run once more.
    """
    opened: list[Bench] = []

    def prove(line: str) -> tuple[str, int]:
        argv = ("/bin/sh", "-c", f"echo >> {tmp_path}/runs; {line}")
        subject = Subject(command=argv, argv=argv, directory=str(tmp_path))
        bench = Bench(subject, spawner, tmp_path, Launch(argv, directory=tmp_path, environment=dict(os.environ)))
        opened.append(bench)
        bench.expect(KNOWN)
        machine: Machine = survey(subject, (), root=Path("/"))
        with bench.change(CHANGED, machine) as change:
            proof = bench.prove(change)
        return proof.broke, len((tmp_path / "runs").read_text().splitlines())

    yield prove
    for bench in opened:
        bench.close()


CHANGED = Mitigation.model_validate(
    {
        "key": "changed",
        "name": "A variable",
        "description": "Set.",
        "scope": "process",
        "when": "Never.",
        "hurts": "Nothing.",
        "apply": {"environment": {"CHANGED": "1"}},
    }
)


def test_a_change_that_breaks_the_program_is_refuted_by_its_second_run(proved):
    said = proved('sleep 0.3; [ "$CHANGED" ] && { echo "OSError: busy" >&2; exit 1; }; exit 0')
    assert said == ("breaks the program: exit 1, OSError: busy", 2)


def test_a_change_that_hangs_the_program_is_ended_and_refuted(proved):
    words, runs = proved('[ "$CHANGED" ] && sleep 1000; exit 0')
    assert words.startswith("made a run hang: ended after 2") and words.endswith("the baseline's longest was 0.2 s")
    assert runs == 2


def test_a_change_that_leaves_the_program_alone_is_screened_by_one_run(proved):
    assert proved("sleep 0.3") == ("", 1)


def test_a_program_that_fails_now_and_then_is_looked_at_again():
    assert broke([FAILED], FLAKY) is None
    assert broke([FAILED, WELL], FLAKY) == ""
    assert broke([FAILED] * 2, FLAKY) is None
    assert broke([FAILED] * 3, FLAKY) == "breaks the program: exit 1, OSError: busy"
    assert broke([FAILED], Expected()) is None, "nothing is known of it"
    assert broke([FAILED] * 3, Expected()) == "breaks the program: exit 1, OSError: busy"


def test_one_slow_run_may_be_bad_luck_and_two_are_not():
    assert broke([SLOW], KNOWN) is None
    assert broke([SLOW, WELL], KNOWN) == ""
    assert broke([SLOW, SLOW], KNOWN) == "made the program take 4.5 times the baseline's slowest run"


def row(condition: str, failure: str = "", wall_s: float = 0.1) -> dict[str, object]:
    return {"condition": condition, "ok": int(not failure), "exit_code": 0, "wall_s": wall_s, "failure": failure}


def test_runs_that_the_kernel_kills_from_the_second_on_refute_and_a_late_one_is_counted():
    killed = [row("baseline"), row("it"), row("baseline"), row("it", "signal 9")]
    assert broken_by("it", killed, KNOWN) == ""
    assert broken_by("it", [*killed, *killed[2:], *killed[2:]], KNOWN) == "breaks the program: signal 9"
    late = [row(condition) for _ in range(40) for condition in ("baseline", "it")] + [row("it", "signal 9")]
    assert broken_by("it", late, KNOWN) == ""
    both = [row(condition, failure) for failure in ("exit 1", "") for condition in ("baseline", "it")]
    assert broken_by("it", both, FLAKY) == "", "the baseline fails as much"


def test_failures_are_grouped_by_what_was_said_numbers_apart():
    said = ["exit 1, pid 17: no space", "exit 1, pid 4: no space", "exit 2, pid 4: no space", "signal 9"]
    found = failures_of([row("baseline", reason) for reason in said] + [row("baseline")])
    assert [(one.reason, one.runs) for one in found] == [
        ("exit 1, pid 17: no space", 2),
        ("exit 2, pid 4: no space", 1),
        ("signal 9", 1),
    ]


@pytest.mark.parametrize("failed", [0, 1, 2])
def test_a_change_that_always_fails_is_refuted_by_three_runs_where_twenty_are_known(failed: int):
    assert broke([FAILED] * 3, Expected(longest_s=0.2, runs=20, failed=failed))


def test_twelve_innocent_changes_are_seldom_refuted(draws: Draws):
    """As `benchmarks/false_refutals.py` has it, in diagnoses at a level of .06."""
    rng, known, count = random.Random(3), Expected(longest_s=0.2, runs=20, failed=2), draws(30, 150)
    refuted = sum(any(unlucky(rng, known) for _ in range(12)) for _ in range(count))
    assert refuted <= most(count, 0.06), refuted


def unlucky(rng: random.Random, known: Expected) -> bool:
    """Screen a change that does nothing to a program that fails in a tenth of its runs, then run 30 pairs."""
    seen = list[Seen]()
    while len(seen) < 4:
        seen.append(FAILED if rng.random() < 0.1 else WELL)
        if (said := broke(seen, known)) is not None:
            break
    if said:
        return True
    runs = failed = 0
    for _ in range(30):
        known = known.and_also(Expected(runs=1, failed=int(rng.random() < 0.1)))
        runs, failed = runs + 1, failed + (rng.random() < 0.1)
        if known.fails_more(runs, failed):
            return True
    return False


@given(st.integers(0, 40), st.integers(0, 40), st.integers(1, 10), st.data())
def test_more_failures_never_speak_less_against_a_change(ended: int, failed: int, runs: int, data: st.DataObject):
    known = Expected(longest_s=1, runs=ended + failed, failed=failed)
    some = data.draw(st.integers(0, runs - 1))
    assert known.fails_more(runs, some) <= known.fails_more(runs, some + 1)
    assert not known.fails_more(runs, 0)
