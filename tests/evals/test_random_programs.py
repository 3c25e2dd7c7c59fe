"""Programs made at random: composed by the seed alone, with mechanisms that cost what they say, and a sealed truth."""

from __future__ import annotations

import json
import os
import re
import resource
import stat
import subprocess
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from vgo_agent.agent.cli import main
from vgo_agent.agent.render.text import markdown_page
from vgo_agent.evals import random_programs
from vgo_agent.evals.programs import compose as composing
from vgo_agent.evals.programs.compose import NULLS, PAIRS, alone, compose
from vgo_agent.evals.programs.costs import cost as cost_of
from vgo_agent.evals.programs.costs import costs_document
from vgo_agent.evals.programs.maker import (
    DRAWN,
    NOTHING,
    BuiltProgram,
    lacking,
    limited_group,
    made,
    neighbour,
    with_effects,
    written,
)
from vgo_agent.evals.programs.parts import Language, Mechanism, Trigger, languages, parts
from vgo_agent.evals.programs.program_truth import InsertedMechanism, ProgramTruth
from vgo_agent.evals.scores.random_scores import RandomRow, judged_program
from vgo_agent.evals.scores.score import BY_RULE
from vgo_agent.evals.workloads.build import compile_to, compiler
from vgo_agent.knowledge.loader import load
from vgo_agent.knowledge.time_states import MEASURED, ON_CPU_KINDS, TimeState
from vgo_agent.tools.claim import Claim
from vgo_agent.tools.findings import Findings
from vgo_agent.tools.ranking import RankedFactor, RankResult
from vgo_agent.tools.record import NO_FILES, Record
from vgo_agent.tools.statistics.values import IntervalEstimate
from vgo_agent.tools.verdict import (
    Cause,
    Confirmed,
    Diagnosis,
    Explained,
    Found,
    Located,
    NotTried,
    NotVisible,
    Remedy,
    Undecided,
    Unusable,
    to_json,
)

from ..examples import examples

MANY = [compose("many", number) for number in range(400)]
DOSED = [
    pytest.param(one, language, id=f"{one.key}-{language}") for one in parts().mechanisms for language in one.languages
]


@settings(max_examples=examples(0.2), deadline=None)
@given(seed=st.text(max_size=9), number=st.integers(0, 99))
def test_a_program_comes_from_its_seed_and_number_alone(seed: str, number: int) -> None:
    one = compose(seed, number)
    assert one == compose(seed, number)
    assert one.text != compose(seed + "x", number).text
    assert "@" not in one.source(0, "/group")


@pytest.mark.parametrize(("kind", "share"), [("null", NULLS), ("two", PAIRS)])
def test_the_shares_of_nulls_and_pairs_are_kept(kind: str, share: float) -> None:
    for programs in (MANY, MANY[:40]):
        found = sum(one.truth.kind == kind for one in programs)
        assert binom.cdf(found, len(programs), share) > 0.01 and binom.sf(found - 1, len(programs), share) > 0.01
    assert NULLS >= 0.4


def test_everything_is_drawn() -> None:
    drawn = Counter(one.key for program in MANY for one in program.truth.inserted)
    assert drawn.keys() == {one.key for one in parts().mechanisms}
    assert len(drawn) >= 24
    told = " ".join(program.truth.told for program in MANY)
    for decoy in parts().decoys:
        assert decoy.what in told
    for name, language in languages().items():
        for part in (*language.loads, *language.skeletons):
            assert re.search(rf"\b{name}\b.*\b{part}\b", told)
    assert {one.trigger for program in MANY for one in program.truth.inserted} == {*get_args(Trigger)}


def test_programs_beside_and_control_groups_are_one_each() -> None:
    known = {one.key: one for one in (*parts().mechanisms, *parts().decoys)}
    for program in MANY:
        inserted = [known[one.key] for one in program.truth.inserted]
        assert sum(bool(one.beside) for one in inserted) <= 1 and sum(bool(one.group) for one in inserted) <= 1
        assert program.group == next((one.group for one in inserted if one.group), "")
        always = any(one.rest is not None for one in inserted)
        assert (program.own_neighbour is not None) == any("beside" in one.triggers for one in inserted)
        assert not always or "random.uniform(0.00, 2 * 0.00)" in program.neighbour


def test_what_a_mechanism_costs_is_measured(tmp_path: Path) -> None:
    found = cost_of(parts().mechanisms[0], "python", 5.0, tmp_path / "one", runs=2)
    assert (found.key, found.language, found.planned_ms) == ("extra_rounds", "python", 5.0)
    assert found.off_ms > 0 and found.cost_ms == found.on_ms - found.off_ms
    assert "| python | 5 |" in markdown_page(costs_document([found], runs=2))


def test_a_source_tells_nothing_of_its_mechanism() -> None:
    for program in MANY:
        said = program.source(-1, "/group").replace(languages()[program.language].prelude, "")
        said = re.sub(r"^(#include|import) .*$", "", said, flags=re.M)
        words = {*re.findall(r"[A-Za-z]\w*", said)}
        for one in program.truth.inserted:
            assert not {word for word in one.key.split("_") if len(word) > 3} & words, program.truth
        assert "//" not in said and "/*" not in said and " # " not in said


def test_the_truth_names_what_is_known() -> None:
    known = load()
    for one in parts().mechanisms:
        assert {*one.factors} <= known.factors.keys() and {*one.remedies} <= known.mitigations.keys()
        assert {*one.states} <= {*MEASURED, *ON_CPU_KINDS} and one.states and one.factors
        acts = known.factors[one.factors[0]].acts_on
        assert not acts or {*acts} & {*one.states}, one.key


@pytest.mark.parametrize("skeleton", [*languages()["c"].skeletons])
def test_what_is_composed_in_c_compiles(skeleton: str, tmp_path: Path) -> None:
    if not (cc := compiler()):
        pytest.skip("no C compiler was found")
    program = next(one for one in MANY if f"c, {skeleton}, " in one.truth.told and one.truth.inserted)
    (tmp_path / "p.c").write_text(program.source(-1, "/group"))
    compile_to(tmp_path / "p", tmp_path / "p.c", cc, ("-O0", "-pthread", "-Werror"))


class CostOfRun(NamedTuple):
    """What one run took."""

    cpu_s: float
    wall_s: float
    switches: int
    read_blocks: int
    faults: int


def cost(built: BuiltProgram) -> CostOfRun:
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), os.times().elapsed
    done = subprocess.run(built.command, cwd=built.folder, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    names = ("ru_nvcsw", "ru_inblock", "ru_minflt")
    cpu = sum(getattr(after, name) - getattr(before, name) for name in ("ru_utime", "ru_stime"))
    return CostOfRun(cpu, os.times().elapsed - began, *(getattr(after, n) - getattr(before, n) for n in names))


PAUSED = (TimeState.SLEEP, TimeState.PIPE, TimeState.POLL, TimeState.SOCKET, TimeState.FILE_LOCK, TimeState.THROTTLED)
"""In these a run waits for pauses that are asked for in ms, so that no machine makes it shorter."""
ROUGH = ("broken_page", "coarse_timers", "shared_line", "subnormal_operands", "random_branches", "split_number")
"""Of these the processor and its memory decide what they cost: 20 huge pages took 138 ms to split, later 26 ms."""


@pytest.mark.slow
@pytest.mark.parametrize(("one", "language"), DOSED)
def test_a_mechanism_that_is_forced_on_takes_its_state(one: Mechanism, language: Language, disk: Path) -> None:
    if lacks := {*one.needs, language} & lacking():
        pytest.skip(f"this machine lacks {', '.join(sorted(lacks))}")
    program = alone(one, language, base_ms=10.0, planned_ms=80.0)
    [inserted] = program.truth.inserted
    builds = written(program, disk / "program", disk / "sealed")
    off, on, built = (builds[forced] for forced in (NOTHING, 1, DRAWN))
    with limited_group(built.group), neighbour(built, 0):
        slow, fast = (min(cost(each) for each in [side] * 2) for side in (on, off))
    assert not [path for path in built.folder.iterdir() if path.name not in ("p", "p.py", "p.sh", "d0", "d1")]
    if one.key in ROUGH or one.beside:
        return
    assert shows(one.states[0], slow, fast, inserted.planned_ms / 1e3, one.file)


def shows(state: TimeState, slow: CostOfRun, fast: CostOfRun, planned_s: float, reads: bool) -> bool:
    """Tell whether a run with the mechanism shows it by what a busy machine does not change."""
    if state in PAUSED:
        return slow.wall_s > 0.6 * planned_s
    works = slow.cpu_s > fast.cpu_s + 0.2 * planned_s
    if state == TimeState.SYSTEM:  # the kernel counts short stretches of its own by ticks
        return works or slow.wall_s > fast.wall_s + 0.2 * planned_s
    if state in (*ON_CPU_KINDS, TimeState.CHILD, TimeState.QUEUE_OWN):
        return works
    return works or slow.switches >= fast.switches or reads  # whoever holds a lock may work meanwhile


def test_the_truth_is_sealed(tmp_path: Path) -> None:
    program = next(one for one in MANY if one.language == "sh" and one.truth.kind == "one" and not one.file_mb)
    built = made(program, tmp_path / "programs" / "1", tmp_path / "sealed" / "1", runs=1)
    truth = tmp_path / "sealed" / "1" / "truth.json"
    assert stat.S_IMODE(truth.stat().st_mode) == 0o600
    told = json.loads(built.model_dump_json())
    assert f"{tmp_path}/sealed" not in json.dumps({name: told[name] for name in ("folder", "command", "group")})
    [one] = program.truth.inserted
    words = {one.key, *one.states, *one.factors} - {"sleep"}  # which is a command, too
    assert [path.name for path in built.folder.iterdir()] == ["p.sh"]
    assert not [word for word in words if word in (built.folder / "p.sh").read_text()]


CONVOY = InsertedMechanism(
    key="one_mutex",
    what="takes one lock",
    states=(TimeState.LOCK,),
    factors=("lock_contention",),
    remedies=(),
    unseen=False,
    trigger="random",
    share=0.5,
    planned_ms=9.0,
    effect_ms=10.0,
)
FAULTS = CONVOY.model_copy(
    update={"states": (TimeState.PAGE_FAULT,), "factors": ("page_faults",), "remedies": ("glibc_hugetlb",)}
)
NULL = ProgramTruth(number=3, kind="null", told="c, one, sort", base_ms=50, noise_ms=0.2, runs=15)
NOT_TRIED = NotTried(why="made")
SILENT = NotVisible(groups=9, p_value=0.4, runs=60)


def truth(*inserted: InsertedMechanism, **more: Any) -> ProgramTruth:
    return NULL.model_copy(update={"kind": "one", "inserted": inserted, **more})


def test_a_mechanism_that_costs_nothing_measurable_is_a_decoy() -> None:
    off = [50.0, 51.0, 49.0, 50.5, 49.5, 50.2, 49.8]
    on = [each + 9.0 for each in off]
    both = truth(CONVOY, FAULTS)
    dear = with_effects(both, off, [on, off])
    assert (dear.kind, dear.inserted, dear.base_ms) == ("one", (CONVOY.model_copy(update={"effect_ms": 9.0}),), 50.0)
    assert dear.allowed == ("page_faults",) and FAULTS.what in dear.told
    cheaper = [each - 9.0 for each in off]
    null = with_effects(both, off, [off, cheaper])
    assert (null.kind, null.inserted, null.allowed) == ("null", (), ("lock_contention", "page_faults"))
    assert with_effects(both, off, [on, on]).kind == "two"


def located(state: TimeState, gap_ms: float = 9.0) -> Located:
    interval = IntervalEstimate(low=gap_ms / 2, high=gap_ms * 2)
    return Located(state=state, name=f"in {state}", gap_ms=gap_ms, gap_interval=interval, share=0.8)


def found(factor: str, *held: Located) -> Explained:
    return Explained(parts=(Found(factor=factor, name=factor, column=factor, held=held),))


def helped(mitigation: str) -> Confirmed:
    numbers: dict[str, Any] = {"low": 0.1, "high": 0.3, "level": 0.95, "p_value": 0.001, "units": (60, 60)}
    claim = Claim(measure="spread", ratio=0.2, design="randomised", margin=0.66, **numbers)
    return Confirmed(mitigation=mitigation, claim=claim, comparison="c009", command="./p")


def judged(
    about: ProgramTruth, cause: Cause, remedy: Remedy = NOT_TRIED, wall_s: float = 50.0, beside: bool = False
) -> RandomRow:
    said = {
        "verdict": to_json(Diagnosis(cause=cause, remedy=remedy, evidence=())),
        "headline": "Because.",
        "warnings": [],
        "runs": 300,
        "run_dir": "vgo-runs/1",
    }
    return judged_program(about, said, wall_s, 60.0, beside)


def values(row: RandomRow, *names: str) -> list[float | None]:
    return [row.value(name) for name in names]


def test_a_right_answer() -> None:
    row = judged(truth(CONVOY), found("lock_contention", located(TimeState.LOCK)))
    assert values(row, "verdict", "state", "factor", "share", "remedy", "in_budget", "hung") == [1, 1, 1, 1, 1, 1, 0]
    assert values(row, "harm") == [0] and values(judged(truth(CONVOY), SILENT, helped("thp_always")), "harm") == [1]
    assert (row.why, row.paragraph) == ("", "")


@pytest.mark.parametrize(
    ("cause", "remedy", "lost"),
    [
        (SILENT, NOT_TRIED, "not measured or not material"),
        (found("lock_contention", located(TimeState.LOCK)), NOT_TRIED, "another state is claimed"),
        (
            Explained(parts=(located(TimeState.LOCK), located(TimeState.PAGE_FAULT))),
            NOT_TRIED,
            "ranked too low",
        ),
        (Explained(parts=(located(TimeState.PAGE_FAULT),)), NOT_TRIED, "no factor is named"),
        (
            found("copy_on_write", located(TimeState.PAGE_FAULT)),
            NOT_TRIED,
            "the state is right, its factor is not",
        ),
        (found("page_faults", located(TimeState.PAGE_FAULT)), NOT_TRIED, "remedy not offered"),
        (found("page_faults", located(TimeState.PAGE_FAULT)), helped("pin_to_cpu"), "another remedy is claimed"),
        (
            found("page_faults", located(TimeState.PAGE_FAULT)),
            Undecided(untried=("glibc_hugetlb",)),
            "remedy not tried for lack of budget",
        ),
    ],
)
def test_a_miss_says_where_it_was_lost(cause: Cause, remedy: Remedy, lost: str) -> None:
    row = judged(truth(FAULTS), cause, remedy)
    assert (row.value("verdict"), row.why) == (0, lost)
    for words in ("003 (c, one, sort; 50 ms with noise of 0.2 ms)", "it takes one lock: 10 ms", f"Lost: {lost}."):
        assert words in row.paragraph


def test_an_answer_that_the_data_cannot_give_says_so() -> None:
    said = {"verdict": to_json(Unusable(why="9 runs", cure="wait", evidence=())), "headline": "", "warnings": []}
    row = judged_program(truth(CONVOY), said | {"runs": 9}, 50.0, 60.0, beside=False)
    assert (row.value("verdict"), row.why) == (0, "too little was measured to say anything")


def test_a_faint_mechanism_need_not_be_found() -> None:
    faint = truth(CONVOY.model_copy(update={"effect_ms": 0.1}))
    assert values(judged(faint, SILENT), "verdict", "state", "factor", "remedy", "share") == [1, 1, 1, 1, None]
    assert judged(truth(CONVOY), SILENT).value("verdict") == 0


def test_what_no_counter_shows_needs_no_factor() -> None:
    hidden = truth(CONVOY.model_copy(update={"states": (TimeState.USER,), "unseen": True}))
    assert judged(hidden, SILENT.model_copy(update={"held": (located(TimeState.USER),)})).value("cause") == 1
    assert judged(hidden, SILENT).value("cause") == 0


def test_a_claim_of_a_null_is_an_alarm_and_a_place_is_not() -> None:
    assert judged(NULL, found("page_faults")).value("false_alarm") == 1
    assert judged(NULL, SILENT, helped("thp_always")).value("false_alarm") == 1
    assert judged(NULL, Explained(parts=(located(TimeState.USER),))).value("false_alarm") == 0
    allowed = NULL.model_copy(update={"allowed": ("different_work",)})
    assert judged(allowed, found("different_work")).value("false_alarm") == 0
    assert judged(NULL, found("run_queue_wait")).machine


STEAL = found("cpu_steal", located(TimeState.STOLEN))


@pytest.mark.parametrize("beside", [False, True])
def test_what_the_host_takes_is_no_alarm_of_a_null(beside: bool) -> None:
    assert judged(NULL, STEAL, beside=beside).value("false_alarm") == 0
    also = Explained(parts=(*STEAL.parts, *found("page_faults").parts))
    assert judged(NULL, also, beside=beside).value("false_alarm") == 1
    assert judged(NULL, STEAL, helped("thp_always"), beside=beside).value("false_alarm") == 1


def test_a_queue_beside_a_neighbour_is_an_alarm_of_a_null_and_else_the_machine() -> None:
    queue = found("run_queue_wait", located(TimeState.QUEUE_OTHERS))
    assert [judged(NULL, queue, beside=one).value("false_alarm") for one in (False, True)] == [0, 1]


def test_what_the_host_takes_is_no_right_cause_and_hides_none() -> None:
    """Also where it is told with a state that the mechanism has, since steal acts on queues."""
    queued = truth(CONVOY.model_copy(update={"states": (TimeState.QUEUE_NOBODY,)}))
    for steal in (STEAL, found("cpu_steal"), found("cpu_steal", located(TimeState.QUEUE_NOBODY))):
        assert values(judged(queued, steal), "state", "factor", "verdict") == [0, 0, 0]
        both = Explained(parts=(*steal.parts, *found("lock_contention", located(TimeState.QUEUE_NOBODY)).parts))
        assert values(judged(queued, both), "state", "factor", "verdict") == [1, 1, 1]
    faint = truth(CONVOY.model_copy(update={"effect_ms": 0.1}))
    assert judged(faint, STEAL).value("verdict") == 1


def test_simpler_rules_are_judged_by_the_same_truth() -> None:
    """Of a ranking in which a column that means nothing is the surest, and a model needs the one that is right."""
    factor: Any = RankedFactor.model_construct
    result: Any = RankResult.model_construct
    wrong = factor(factor="page_faults", auc=0.9, importance=0.0)
    right = factor(factor="lock_contention", auc=0.8, importance=0.3)
    ranking = result(factors=(wrong, right), ledger=None)
    names = [BY_RULE[rule] for rule in ("constant", "greedy", "paper", "ledger")]
    said = {"verdict": to_json(Diagnosis(cause=SILENT, remedy=NOT_TRIED, evidence=())), "headline": "", "warnings": []}
    row = judged_program(truth(CONVOY), said | {"runs": 9}, 50.0, 60.0, beside=False, ranking=ranking)
    assert values(row, *names) == [0, 0, 1, 0]
    null = judged_program(NULL, said | {"runs": 9}, 50.0, 60.0, beside=False, ranking=ranking)
    assert values(null, *names) == [1, 0, 0, 1]


def test_no_answer_in_time_is_hung_and_over_its_budget() -> None:
    row = judged_program(truth(CONVOY), {"error": "stopped: no answer within 9 s"}, 200.0, 60.0, beside=False)
    assert values(row, "verdict", "in_budget", "hung") == [0, 0, 1]
    assert row.why == "no answer"


Vgo = Callable[..., Any]


def test_a_dry_run_lists_and_tells_no_truth(capsys: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["eval", "--random", "5", "--seed", "x", "--dry-run", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [one["number"] for one in told["programs"]] == [1, 2, 3, 4, 5]
    assert told["programs"][0].keys() == {"number", "language", "lines", "sha256"}
    assert list(tmp_path.iterdir()) == []


def test_programs_are_made_diagnosed_and_scored(capsys: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(composing, "BASE_MS", (5.0, 6.0))
    asked: list[tuple[list[str], Path]] = []

    def answered(words: list[str], limit_s: float, folder: Path) -> dict[str, Any]:
        asked.append((words, folder))
        return {"error": "stopped: no answer within 3 s"} if len(asked) == 2 else said

    said = {
        "verdict": to_json(Diagnosis(cause=found("page_faults"), remedy=NOT_TRIED, evidence=())),
        "headline": "Because.",
        "warnings": [],
        "runs": 300,
        "run_dir": "runs/1",
    }
    monkeypatch.setattr(random_programs, "answered", answered)
    monkeypatch.setattr(random_programs, "found_in", lambda run: Findings(Record((), NO_FILES)))
    monkeypatch.setattr(random_programs, "made", partial(made, runs=1))
    line = ["eval", "--random", "2", "--seed", "x", "--budget", "9", "--allow", "system"]
    assert main([*line, "--save", "made.json", "--markdown", "made.md"]) == 0
    shown = capsys.readouterr().out
    for words in ("made by `vgo-agent", "Seed x, budget 9 s", "in_budget", "cause_ledger", "Lost: no answer"):
        assert words.lower() in " ".join(shown.lower().split())
    rows = json.loads(Path("made.json").read_text())["rows"]
    assert [row["case"] for row in rows] == ["001", "002"]
    for typed, folder in asked:
        assert folder.parent == tmp_path / "vgo-runs" / "random-x" / "programs"
        assert typed[0] == "diagnose" and typed[typed.index("--allow") + 1] == "system"
        assert not [word for word in typed if "sealed" in word]
    assert main(line) == 1
    assert "its programs are made already" in capsys.readouterr().err


def test_the_seed_by_commit_is_of_what_is_committed(capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(random_programs, "commit", lambda: "0123456789ab-dirty")
    assert main(["eval", "--random", "1", "--seed", "commit", "--dry-run"]) == 1
    assert "all is committed" in capsys.readouterr().err
    monkeypatch.setattr(random_programs, "commit", lambda: "0123456789ab")
    assert main(["eval", "--random", "1", "--seed", "commit", "--dry-run", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["seed"] == "0123456789ab"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--random", "2", "--live"), "--live runs workloads and --random makes programs"),
        (("--random", "2", "--planner", "rules"), "--planner is an option of recorded cases, not of --random"),
        (("--random", "2", "--steady"), "--steady is an option of --live, not of --random"),
        (("--live", "steady", "--seed", "1"), "--seed is an option of --random, not of --live"),
        (("--dry-run",), "--dry-run is an option of --random, not of recorded cases"),
        (("--random", "0"), "--random 0 makes nothing"),
        (("--random", "1", "--seed", "../x"), "--seed ../x: a seed names a folder"),
    ],
)
def test_strange_options_are_refused(words: tuple[str, ...], said: str, capsys: Any) -> None:
    assert main(["eval", *words]) == 1
    assert said in capsys.readouterr().err
