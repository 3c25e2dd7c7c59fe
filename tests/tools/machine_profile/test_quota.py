"""The quota: chosen within the kernel's bounds, and written as version 2 below a fake root wants it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vgo_agent.knowledge.errors import VgoError
from vgo_agent.tools.machine_profile.quota import counted, limited_group, quota_of, set_quota, share_of


@given(st.floats(0.002, 1024))
def test_every_share_has_a_quota_that_the_kernel_takes(cpus: float) -> None:
    found = quota_of(cpus)
    assert found.quota_us >= 1000 and 1000 <= found.period_us <= 1_000_000
    assert found.cpus == pytest.approx(cpus, rel=0.01)


def test_an_ordinary_share_has_the_period_of_the_paper() -> None:
    assert (quota_of(0.6372).quota_us, quota_of(0.6372).period_us) == (6372, 10000)


@pytest.mark.parametrize("cpus", [0, -1, 0.001, float("nan"), 1e9])
def test_what_is_no_share_is_refused(cpus: float) -> None:
    with pytest.raises(VgoError, match="cannot be set"):
        quota_of(cpus)


def test_a_period_that_is_too_short_for_the_share_is_refused() -> None:
    with pytest.raises(VgoError, match="1000 us at least"):
        quota_of(0.1, 5000)


def test_shares_are_percent_or_cpus() -> None:
    assert share_of("60%") == share_of("0.6")
    with pytest.raises(VgoError, match="no CPU quota"):
        share_of("most")


def test_version_2_has_one_file(tmp_path: Path) -> None:
    top = tmp_path / "sys/fs/cgroup"
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text("0::/\n")
    top.mkdir(parents=True)
    (top / "cgroup.controllers").write_text("cpu\n")
    (top / "cgroup.subtree_control").write_text("cpu\n")
    with limited_group(quota_of(0.6), ahead=True, root=tmp_path) as group:
        assert (group.folder / "cpu.max").read_text() == "6000 10000"
        assert (group.folder / "cpu.weight").read_text() == "10000"
        set_quota(group, quota_of(0.25))
        assert (group.folder / "cpu.max").read_text() == "2500 10000"
        (group.folder / "cpu.stat").write_text("usage_usec 5\nnr_periods 9\nnr_throttled 4\n")
        assert counted(group.folder)["nr_throttled"] == 4
        for file in group.folder.iterdir():  # the kernel's own go with the folder
            file.unlink()
    assert not group.folder.exists()


def test_without_the_controller_the_cure_is_named(tmp_path: Path) -> None:
    with (
        pytest.raises(VgoError, match="No control group with the controller cpu"),
        limited_group(quota_of(0.6), root=tmp_path),
    ):
        pass
