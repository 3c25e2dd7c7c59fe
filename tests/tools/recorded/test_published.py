"""Recorded data that others published: each set is read and turned into a design."""

from pathlib import Path

import numpy as np
import pytest

from vgo_agent.knowledge.errors import VgoError
from vgo_agent.tools.recorded.design import ColumnOptions, Observations, designs
from vgo_agent.tools.recorded.read import read

DATA = Path(__file__).parents[4] / "shared" / "data"
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason=f"the published data are not here ({DATA})")
SETS = {
    "moana-half/sample_input4d.csv": ColumnOptions("throughput_variance", settings=("threads", "freq_khz")),
    "sharp-runlogs/ls.csv": ColumnOptions(),
    "sharp-runlogs/nope_test.csv": ColumnOptions(),
    "sharp-runlogs/sleep.csv": ColumnOptions(),
    "sharp-runlogs/sleep_fast.csv": ColumnOptions(),
    "sharp-runlogs/sleep_slow.csv": ColumnOptions(),
    "pyperf-json/telco.json": ColumnOptions(),
    "rajaperf-trials/rajaperf_quartz_trials.csv.gz": ColumnOptions(
        "time_s", group=("kernel",), settings=("compiler", "opt")
    ),
    "compression-cloud/bzip2.csv.gz": ColumnOptions("time_compress", settings=("server",)),
    "compression-cloud/gzip.csv.gz": ColumnOptions("time_compress", group=("server",)),
    "smt-atomic-queue/ryzen_5825u_runs.csv.gz": ColumnOptions(
        "value", group=("kind",), settings=("smt", "queue", "threads")
    ),
    "stressng-profiles/results.csv.gz": ColumnOptions("result", group=("test",)),
    "stressng-profiles/machines.csv": ColumnOptions("cores"),
}


@pytest.mark.parametrize("name", SETS)
def test_a_published_set_is_read_and_designed(name: str) -> None:
    recorded = read(DATA / name)
    for _, design in designs(recorded, SETS[name]):
        assert np.isfinite(design.outcome).all() and np.isfinite(design.values).all()
        assert design.values.shape == (len(design.outcome), len(design.names))
        assert not set(design.names) & set(design.set_aside)
        answered = {*design.names, *design.set_aside, *design.groups, design.outcome_name}
        assert set(recorded.frame.columns) <= answered


def test_every_published_set_is_tried() -> None:
    tables = {path for kind in ("*.csv", "*.csv.gz", "*.json") for path in DATA.glob(f"*/{kind}")}
    assert {str(path.relative_to(DATA)) for path in tables} == set(SETS)


def test_the_published_traps_are_seen() -> None:
    queue = read(DATA / "smt-atomic-queue/ryzen_5825u_runs.csv.gz")
    with pytest.raises(VgoError, match="several units"):
        designs(queue, ColumnOptions("value"))
    latency, throughput = (design for _, design in designs(queue, ColumnOptions("value", group=("kind",))))
    assert latency.lower_is_better and not throughput.lower_is_better
    stressed: Observations = designs(
        read(DATA / "stressng-profiles/results.csv.gz"), ColumnOptions("result", group=("test",))
    )[0][1]
    assert stressed.set_aside["timestamp"].startswith("a date or time")
