"""The cores as lines: busy and stolen time as a bar, interrupts, frequency."""

from __future__ import annotations

from .canvas import TextCanvas
from .cores import NOT_LINUX, CoreRates

NUMBERS = 40
"""Cells of the numbers beside the bar."""


def cores_page(canvas: TextCanvas, rates: tuple[CoreRates, ...], first: int = 0, known: bool = True) -> None:
    """Draw one line a core, from the `first` on; `known`: the kernel tells about its cores."""
    if not rates:
        canvas.write(0, 0, "Reading the cores." if known else NOT_LINUX)
        return
    bar = max(canvas.width - NUMBERS, 4)
    marks = canvas.marks
    head = f"{'core':>5} {'busy':>6} {'steal':>6} {'irq/s':>9} {'MHz':>6}  {marks.bar} busy {marks.slow_bar} stolen"
    canvas.write(0, 0, head, "faint")
    for row, core in enumerate(rates[first : first + max(canvas.height - 1, 0)], 1):
        canvas.write(row, 0, _numbers(core))
        busy, steal = round((core.busy or 0.0) * bar), round((core.steal or 0.0) * bar)
        canvas.write(row, NUMBERS - 2, marks.bar * (busy - steal), "fast")
        canvas.write(row, NUMBERS - 2 + max(busy - steal, 0), marks.slow_bar * steal, "slow")


def _numbers(core: CoreRates) -> str:
    mhz = "-" if core.mhz is None else f"{core.mhz:.0f}"
    return f"{core.core:>5} {_share(core.busy):>6} {_share(core.steal):>6} {core.interrupts_s:>9.0f} {mhz:>6}"


def _share(share: float | None) -> str:
    return "-" if share is None else f"{share:.0%}"
