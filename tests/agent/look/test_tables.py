"""Tables in the process that computes: the same answers as the tools give, in time, whatever else is asked."""

import asyncio
import os
import signal

import numpy as np
import polars as pl
import pytest

from vgo_agent.agent.look.computer import Computer
from vgo_agent.agent.look.fits import MOST_DRAWN
from vgo_agent.agent.look.messages import Failed, OpenFile, ReadPage, Refit, Refitted, TablePage
from vgo_agent.agent.look.open_table import open_file
from vgo_agent.knowledge.errors import VgoError
from vgo_agent.tools.analysis.analyse import analyse
from vgo_agent.tools.analysis.analysis import AnalysisOptions
from vgo_agent.tools.recorded.design import ColumnOptions, designs
from vgo_agent.tools.recorded.read import read
from vgo_agent.tools.statistics.labels.cut_search import CutRule

RNG = np.random.default_rng(7)
VALUES = RNG.normal(size=(120, 6))
TIMES = 1.0 + 0.05 * RNG.normal(size=120) + (VALUES[:, 2] > 0.8)
NAMES = ("a", "b", "c", "d", "e", "f")


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "runs.csv"
    columns = {"time_s": TIMES, **{name: VALUES[:, place] for place, name in enumerate(NAMES)}}
    pl.DataFrame(columns | {"host": ["x", "y"] * 60}).write_csv(path)
    return path


def test_an_exact_refit_is_what_analyze_says_of_that_cut(table):
    found = open_file(table, "time_s").fits.refit(Refit(1.4, exact=True))
    ((_, design),) = designs(read(table), ColumnOptions(outcome="time_s"))
    asked = analyse(design, AnalysisOptions(cut=CutRule("given", (1.4,))))
    assert asked.tree is not None and found.tree == asked.tree
    assert [(one.name, one.p_value, one.auc, one.visible) for one in found.factors] == [
        (one.factor.name, one.factor.p_value, one.factor.auc, one.factor.visible) for one in asked.findings
    ]
    assert found.factors[0].name == "c" and found.factors[0].visible


def test_a_quick_refit_names_the_same_factor(table):
    opened = open_file(table, "time_s")
    quick, exact = opened.fits.refit(Refit(1.4)), opened.fits.refit(Refit(1.4, exact=True))
    assert quick.factors[0].name == exact.factors[0].name == "c"
    assert (quick.n_slow, quick.tree) == (exact.n_slow, exact.tree)


def test_a_cut_beside_the_runs_is_answered_with_a_sentence(table):
    found = open_file(table, "time_s").fits.refit(Refit(99.0))
    assert (found.n_slow, found.tree) == (0, None)
    assert found.reason == "The cut leaves 0 runs on one side, which needs 5."


def test_a_page_is_a_part_of_the_sorted_table(table):
    opened = open_file(table, "time_s")
    page = opened.page(ReadPage(5, 7, "b", True))
    assert (page.total, len(page.rows)) == (120, 7)
    assert [row[2] for row in page.rows] == sorted(VALUES[:, 1], reverse=True)[5:12]
    with pytest.raises(VgoError, match="no column nowhere to sort by"):
        opened.page(ReadPage(by="nowhere"))


def test_a_column_of_many_runs_is_thinned_and_keeps_its_r2(tmp_path):
    many = RNG.normal(size=3 * MOST_DRAWN)
    pl.DataFrame({"time_s": many, "x": 2 * many}).write_csv(tmp_path / "many.csv")
    opened = open_file(tmp_path / "many.csv", "time_s")
    column = opened.fits.column("x")
    assert column.values.size == MOST_DRAWN
    assert np.array_equal(column.values, 2 * column.outcomes.values) and column.r2 == pytest.approx(1.0)
    with pytest.raises(VgoError, match="no column of numbers named y"):
        opened.fits.column("y")


def test_the_newest_cut_wins_and_a_process_that_was_killed_is_started_again(table):
    answers = []

    async def ask() -> None:
        computer = Computer(lambda question, answer: answers.append((question, answer)))
        computer.open(OpenFile(str(table), "time_s"))
        for cut in np.linspace(1.1, 1.9, 40):
            computer.ask(Refit(float(cut)))
        computer.ask(ReadPage(count=1))
        await rest(computer)
        kinds = [type(answer) for _, answer in answers]
        assert kinds.count(Refitted) == 1 and TablePage in kinds
        refitted = next(answer for _, answer in answers if isinstance(answer, Refitted))
        assert refitted.cut == 1.9
        os.kill(pid_of(computer), signal.SIGKILL)
        computer.ask(Refit(1.4))
        await rest(computer)
        assert isinstance(answers[-1][1], Failed) and "SIGKILL" in answers[-1][1].sentence
        computer.ask(Refit(1.5))
        await rest(computer)
        assert isinstance(answers[-1][1], Refitted) and answers[-1][1].n_slow == refitted.n_slow
        pid = pid_of(computer)
        await computer.close()
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)

    asyncio.run(ask())


def pid_of(computer: Computer) -> int:
    return computer._lanes[False].desk._child.pid


async def rest(computer: Computer) -> None:
    while computer.busy:
        await asyncio.sleep(0.01)


def test_a_file_that_is_not_there_is_answered_with_a_sentence(tmp_path):
    with pytest.raises(VgoError, match="There is no file .*none.csv: check the path."):
        open_file(tmp_path / "none.csv")
