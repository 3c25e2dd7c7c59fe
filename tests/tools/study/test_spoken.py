"""What OpenMP runtimes print about themselves, as GCC's and LLVM's do."""

from __future__ import annotations

from vgo_agent.tools.study.warm_up import understood

LIBGOMP = """
OPENMP DISPLAY ENVIRONMENT BEGIN
  _OPENMP = '201511'
  OMP_NUM_THREADS = '2'
  OMP_PROC_BIND = '{bind}'
  OMP_WAIT_POLICY = 'PASSIVE'
  GOMP_SPINCOUNT = '300000'
OPENMP DISPLAY ENVIRONMENT END
vgo-study 1 0 2 {{0}}
vgo-study 1 1 2 {{1}}
"""
LIBOMP = """
OPENMP DISPLAY ENVIRONMENT BEGIN
   _OPENMP='201611'
  [host] KMP_BLOCKTIME='200'
  [host] OMP_NUM_THREADS: value is not defined
  [host] OMP_WAIT_POLICY='PASSIVE'
OPENMP DISPLAY ENVIRONMENT END
vgo-study 1 0 4 {0-3}
"""


def test_libgomp_and_libomp_are_told_apart() -> None:
    first, second = understood(LIBGOMP.format(bind="CLOSE")), understood(LIBOMP)
    assert (first.runtime, first.threads) == ("libgomp", 2)
    assert (second.runtime, second.threads) == ("libomp", 4)
    assert second.settings == {"OMP_WAIT_POLICY": "PASSIVE", "KMP_BLOCKTIME": "200"}


def test_a_preloaded_runtime_is_the_one_that_is_used() -> None:
    assert understood(LIBGOMP.partition("vgo-study")[0] + LIBOMP).runtime == "libomp"


def test_close_and_spread_are_alike_where_the_threads_have_the_same_places() -> None:
    close, spread = understood(LIBGOMP.format(bind="CLOSE")), understood(LIBGOMP.format(bind="SPREAD"))
    assert close.alike(spread)
    assert not close.alike(understood(LIBGOMP.format(bind="SPREAD").replace("{1}", "{2}")))


def test_without_a_parallel_region_nothing_is_called_alike() -> None:
    silent = understood(LIBGOMP.format(bind="CLOSE").partition("vgo-study")[0])
    assert (silent.runtime, silent.threads) == ("libgomp", None)
    assert not silent.alike(silent)


def test_what_no_runtime_said_is_no_runtime() -> None:
    assert understood("warning: OMP is not here\n").runtime == ""
