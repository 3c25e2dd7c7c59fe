"""A service of its own that sets the GPU or a clock at boot, or holds a file open as long as the machine runs.

NVIDIA has on its pages on persistence, MPS and NVML `-pm`, `-c` and the clocks `tdp,tdp`; `-pl`, `-lgc`, `-lmc` and
the names of `--query-gpu` were looked up in scripts in public use.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...knowledge.actions import Apply, Gpu
from .by_hand import held
from .permanent_computed import computing
from .permanent_draft import FormatLines, PermanentTarget, quoted

FORGOTTEN = "The driver forgets it with its last client unless it persists (gpu_persistence)."
SHELL = "/bin/sh"


def unit(apply: Apply, target: PermanentTarget) -> FormatLines:
    """Write a service for what outlives no process, or no boot; nothing where there is no such thing."""
    sets = [*gpu_commands(apply.gpu), *computing(apply)]
    holds = [held(hold, at) for at, hold in enumerate(apply.hold, start=8)]
    if not (sets or holds):
        return FormatLines()
    command = " && ".join((*sets, *holds, *(["exec sleep infinity"] if holds else [])))
    kind = ("Type=exec",) if holds else ("Type=oneshot", "RemainAfterExit=yes")
    after = ("After=nvidia-persistenced.service",) if apply.gpu != Gpu() else ()
    name = f"vgo-agent-{target.mitigation.key.replace('_', '-')}.service"
    lines = ("[Unit]", f"Description={target.mitigation.name.replace('%', '%%')}", *after)
    lines = (*lines, "", "[Service]", *kind, f"ExecStart={SHELL} -c {quoted(command)}")
    lines = (*lines, "", "[Install]", "WantedBy=multi-user.target")
    return FormatLines(lines, tuple(_notes(apply, name)), path=f"/etc/systemd/system/{name}")


def _notes(apply: Apply, name: str) -> Iterator[str]:
    yield f"Then: systemctl daemon-reload && systemctl enable --now {name}"
    if apply.gpu != Gpu() and not apply.gpu.persistence:
        yield FORGOTTEN


def gpu_commands(gpu: Gpu) -> Iterator[str]:
    """Give the shell commands that set every GPU; the highest values are asked of each GPU."""
    if gpu.persistence:
        yield "nvidia-smi -pm 1"
    if gpu.exclusive:
        yield "nvidia-smi -c EXCLUSIVE_PROCESS"
    if gpu.power_limit:
        yield _each("power.max_limit", '-pl "$value"')
    if gpu.lock_clocks == "base":
        yield "nvidia-smi -lgc tdp,tdp"
    if gpu.lock_clocks == "max":
        yield _each("clocks.max.graphics", '-lgc "$value,$value"')
    if gpu.clock_cap_mhz:
        yield _capped(gpu.clock_cap_mhz)
    if gpu.lock_memory_clock:
        yield _each("clocks.max.memory", '-lmc "$value,$value"')


def _capped(cap: str) -> str:
    """Lock to the range from the lowest clock to the cap; `max-2` is the third of the list from the highest down."""
    listed = 'listed=$(nvidia-smi -i "$gpu" --query-supported-clocks=gr --format=csv,noheader,nounits | sort -nru)'
    most = f'echo "$listed" | sed -n {int(cap.partition("-")[2] or 0) + 1}p'
    cap = f"$({most})" if cap.startswith("max") else cap
    lock = f'nvidia-smi -i "$gpu" -lgc "$(echo "$listed" | tail -n 1),{cap}"'
    return f"nvidia-smi --query-gpu=index --format=csv,noheader | while read -r gpu; do {listed}; {lock} || exit; done"


def _each(asked: str, option: str) -> str:
    query = f"nvidia-smi --query-gpu=index,{asked} --format=csv,noheader,nounits"
    return f"{query} | while IFS=', ' read -r gpu value; do nvidia-smi -i \"$gpu\" {option} || exit; done"
