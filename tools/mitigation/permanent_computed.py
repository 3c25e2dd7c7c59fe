"""Values that are read beside the file they go into, as shell commands that read them on the machine they run on."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...knowledge.actions import Apply, Write

_READ = re.compile(r"\{(?:(?P<which>max|min)|(?P<share>\d+)%):(?P<file>[\w./-]+)\}")
_CLOCK = re.compile(r"/sys/devices/system/cpu/cpufreq/policy\*/scaling_(max|min)_freq")
_HIGHEST = ("cpuinfo_max_freq", "scaling_max_freq")


def computed(apply: Apply) -> list[Write]:
    """Give the writes whose value a shell can read where it runs."""
    return [write for write in apply.write if write.path.startswith("/") and _READ.fullmatch(write.value)]


def computing(apply: Apply) -> Iterator[str]:
    """Give the shell commands that do them; they fail where the file is not there, unless the write is optional."""
    for write in computed(apply):
        read = _READ.fullmatch(write.value)
        if read is None:
            continue
        beside = read["file"] if read["file"].startswith("/") else f"${{knob%/*}}/{read['file']}"
        end = "head" if read["which"] == "min" else "tail"
        value = f"""$(tr -s '[:space:]' '\\n' < "{beside}" | grep . | sort -n | {end} -n 1)"""
        asked = f"$((found * {read['share']} / 100))" if read["share"] else "$found"
        refusing = " || :" if write.optional else " || exit"
        yield f'for knob in {write.path}; do found={value} && echo "{asked}" > "$knob"{refusing}; done'


def without_computed(apply: Apply) -> Apply:
    """Leave the other actions."""
    return apply.model_copy(update={"write": tuple(one for one in apply.write if one not in computed(apply))})


def performance(apply: Apply) -> Iterator[str]:
    """Give the options of TuneD's cpu plug-in for clocks that are a share of the highest one."""
    for write in computed(apply):
        clock, read = _CLOCK.fullmatch(write.path), _READ.fullmatch(write.value)
        if clock and read and read["file"] in _HIGHEST and read["which"] != "min":
            yield f"{clock[1]}_perf_pct={read['share'] or 100}"
