"""Settings of the machine, kept by what sets them at boot: sysctl.d(5), tmpfiles.d(5), udev(7), TuneD, the boot line.

Options were looked up in the manual pages of systemd 252 (`w-` and `-key` pass over what fails), in the kernel's
documentation (`sysctl.*=`, transparent_hugepage=) and in the source of TuneD's plug-ins (sysfs takes patterns).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from ...knowledge.actions import Apply, Gpu, Write
from .by_hand import held
from .kernel_settings import KernelSetting
from .permanent_draft import PROC_SYS, FormatLines, PermanentTarget, in_groups, key_of, no_setting, quoted, settings

GOVERNOR = re.compile(r"/sys/devices/system/cpu/(cpu\*/cpufreq|cpufreq/policy\*)/scaling_governor")
BOOT_NOTES = (
    "Add it to the kernel's command line (GRUB_CMDLINE_LINUX in /etc/default/grub, then update-grub or "
    "grub2-mkconfig), and boot again; /proc/cmdline shows it.",
)
PROFILE_NOTES = (
    "Then: tuned-adm profile with the name of this folder; it can include= the profile that is active now.",
)
ALTERNATIVES = "Not every machine has all of these files: one that is missing is passed over."
FORGOTTEN = "The driver forgets it with its last client unless it persists (gpu_persistence)."
_THP = "/sys/kernel/mm/transparent_hugepage/enabled"
_LATENCY = "/dev/cpu_dma_latency"
_INTEL_ONLY = "TuneD sets it where the driver is intel_pstate; with another one use the format systemd."
_HERE_ONLY = "Values and paths were read on this machine: ask again on another."
_BELOW_SYS = "TuneD's sysfs plug-in refuses what is not below /sys"
_READ = re.compile(r"\{(?:(?P<which>max|min)|(?P<share>\d+)%):(?P<file>[\w./-]+)\}")
_CLOCK = re.compile(r"/sys/devices/system/cpu/cpufreq/policy\*/scaling_(max|min)_freq")
_HIGHEST = ("cpuinfo_max_freq", "scaling_max_freq")


def sysctl(target: PermanentTarget) -> FormatLines:
    """Write lines of sysctl.d for what lies below /proc/sys."""
    return _each(_of_sysctl, "below /proc/sys", "sysctl --system", target)


def tmpfiles(target: PermanentTarget) -> FormatLines:
    """Write `w` lines for what lies below /sys or /proc/irq; a pattern stays one."""
    return _each(_of_tmpfiles, "below /sys", "systemd-tmpfiles --create", target)


def udev(target: PermanentTarget) -> FormatLines:
    """Write rules for disks and network cards, which can appear after boot."""
    return _each(_rule, "of a disk or a network card", "udevadm control --reload && udevadm trigger", target)


def _each(line: Callable[[KernelSetting], str], place: str, then: str, target: PermanentTarget) -> FormatLines:
    """Write one line for each setting that has one; it counts after a boot, or after the command `then`."""
    found, missing = settings(target)
    lines = {one: text for one in found if (text := line(one))}
    if lines:
        return FormatLines(tuple(lines.values()), (f"At once: {then}", *_of(lines), *_left_out(missing)))
    if missing:
        return FormatLines(why="; ".join(missing))
    elsewhere = len(in_groups(target.apply)) < len(target.apply.write)
    return FormatLines(why=f"what it sets is not {place}" if elsewhere else no_setting(target.apply))


def _of_sysctl(one: KernelSetting) -> str:
    return f"{'-' * one.optional}{key_of(one)} = {one.value}" if one.path.startswith(PROC_SYS) else ""


def _of_tmpfiles(one: KernelSetting) -> str:
    if one.path.startswith(PROC_SYS):
        return ""
    # What tmpfiles.d reads as a specifier or an escape is doubled.
    path, value = (text.replace("%", "%%").replace("\\", "\\\\") for text in (one.path, one.value))
    return f"w{'-' * one.optional} {path} - - - - {value}"


def _rule(one: KernelSetting) -> str:
    for pattern, subsystem in ((r"/sys/block/([^/]+)/(.+)", "block"), (r"/sys/class/net/([^/]+)/(.+)", "net")):
        if found := re.fullmatch(pattern, one.path):
            disk = ', ENV{DEVTYPE}=="disk"' if subsystem == "block" else ""
            named = f'KERNEL=="{found[1]}"{disk}, ATTR{{{found[2]}}}="{one.value}"'
            return f'ACTION=="add|change", SUBSYSTEM=="{subsystem}", {named}'
    return ""


def tuned(target: PermanentTarget) -> FormatLines:
    """Write a profile: the plug-ins sysctl, sysfs, vm and cpu."""
    apply = target.apply
    found, missing = settings(target)
    unwritten = [one for one in found if not one.path.startswith(("/sys/", PROC_SYS))]
    sections: dict[str, list[str]] = {}
    for one in found:
        if one not in unwritten:
            section, line = _plugin(one)
            sections.setdefault(section, []).append(line)
    for hold in apply.hold:
        if hold.path == _LATENCY:
            sections.setdefault("cpu", []).append(f"force_latency={hold.int32}")
    if missing and (shares := [*_performance(apply)]):  # of files that this machine has not
        sections["cpu"], missing = [*sections.get("cpu", ()), *shares], missing[len(shares) :]
    missing = [*missing, *([_BELOW_SYS] if unwritten else [])]
    if not sections:
        return FormatLines(why="; ".join(missing) or no_setting(apply))
    lines = ["[main]", f"summary={target.mitigation.name}"]
    for section, options in sections.items():
        lines += ["", f"[{section}]", *options]
    driver = (_INTEL_ONLY,) if any("_perf_pct=" in line for line in lines) else ()
    return FormatLines(tuple(lines), (*PROFILE_NOTES, *driver, *_of(found), *_left_out(missing)))


def _plugin(one: KernelSetting) -> tuple[str, str]:
    if one.path == _THP:
        return "vm", f"transparent_hugepages={one.value}"
    if GOVERNOR.fullmatch(one.path):
        return "cpu", f"governor={one.value}"
    if one.path.startswith(PROC_SYS):
        return "sysctl", f"{key_of(one)}={one.value}"
    return "sysfs", f"{one.path}={one.value}"


def cmdline(target: PermanentTarget) -> FormatLines:
    """Write words of the kernel's command line: those that the kernel has, and `sysctl.` before any sysctl."""
    found, missing = settings(target)
    words = [_word(one) for one in found if one.path.startswith(PROC_SYS) and "*" not in one.path]
    words += [f"transparent_hugepage={one.value}" for one in found if one.path == _THP]
    if not words:
        why = "; ".join(missing) or ("the kernel has no boot parameter for it" if found else "")
        return FormatLines(why=why or no_setting(target.apply))
    return FormatLines((" ".join(words),), (*BOOT_NOTES, *_of(found)))


def _word(one: KernelSetting) -> str:
    word = f"sysctl.{key_of(one)}={one.value}"
    return f'"{word}"' if re.search(r"\s", one.value) else word


def _of(found: Iterable[KernelSetting]) -> Iterator[str]:
    kept = list(found)
    if any(one.here_only for one in kept):
        yield _HERE_ONLY
    if any(one.optional for one in kept):
        yield ALTERNATIVES


def _left_out(missing: Iterable[str]) -> Iterator[str]:
    yield from (f"Left out: {one}." for one in missing)


def computed(apply: Apply) -> list[Write]:
    """Give the writes whose value a shell can read where it runs."""
    return [write for write in apply.write if write.path.startswith("/") and _READ.fullmatch(write.value)]


def computing(apply: Apply) -> Iterator[str]:
    """Give the shell commands that do them; they fail where the file is not there, unless the write is optional."""
    for write in apply.write:
        if not (read := _READ.fullmatch(write.value)) or not write.path.startswith("/"):
            continue
        beside = read["file"] if read["file"].startswith("/") else f"${{knob%/*}}/{read['file']}"
        end = "head" if read["which"] == "min" else "tail"
        value = f"""$(tr -s '[:space:]' '\\n' < "{beside}" | grep . | sort -n | {end} -n 1)"""
        asked = f"$((found * {read['share']} / 100))" if read["share"] else "$found"
        refusing = " || :" if write.optional else " || exit"
        yield f'for knob in {write.path}; do found={value} && echo "{asked}" > "$knob"{refusing}; done'


def _performance(apply: Apply) -> Iterator[str]:
    """Give the options of TuneD's cpu plug-in for clocks that are a share of the highest one."""
    for write in apply.write:
        clock, read = _CLOCK.fullmatch(write.path), _READ.fullmatch(write.value)
        if clock and read and read["file"] in _HIGHEST and read["which"] != "min":
            yield f"{clock[1]}_perf_pct={read['share'] or 100}"


def unit(target: PermanentTarget) -> FormatLines:
    """Write a service for what outlives no process, or no boot; nothing where there is no such thing."""
    apply = target.apply
    sets = [*gpu_commands(apply.gpu), *computing(apply)]
    holds = [held(hold, at) for at, hold in enumerate(apply.hold, start=8)]
    if not (sets or holds):
        return FormatLines()
    command = " && ".join((*sets, *holds, *(["exec sleep infinity"] if holds else [])))
    kind = ("Type=exec",) if holds else ("Type=oneshot", "RemainAfterExit=yes")
    after = ("After=nvidia-persistenced.service",) if apply.gpu != Gpu() else ()
    name = f"vgo-agent-{target.mitigation.key.replace('_', '-')}.service"
    lines = (
        *("[Unit]", f"Description={target.mitigation.name.replace('%', '%%')}", *after, ""),
        *("[Service]", *kind, f"ExecStart=/bin/sh -c {quoted(command)}", ""),
        *("[Install]", "WantedBy=multi-user.target"),
    )
    forgotten = (FORGOTTEN,) if apply.gpu != Gpu() and not apply.gpu.persistence else ()
    notes = (f"Then: systemctl daemon-reload && systemctl enable --now {name}", *forgotten)
    return FormatLines(lines, notes, path=f"/etc/systemd/system/{name}")


def gpu_commands(gpu: Gpu) -> Iterator[str]:
    """Give the shell commands that set every GPU; the highest values are asked of each GPU."""
    commands = {
        "nvidia-smi -pm 1": gpu.persistence,
        "nvidia-smi -c EXCLUSIVE_PROCESS": gpu.exclusive,
        _each_gpu("power.max_limit", '-pl "$value"'): gpu.power_limit,
        "nvidia-smi -lgc tdp,tdp": gpu.lock_clocks == "base",
        _each_gpu("clocks.max.graphics", '-lgc "$value,$value"'): gpu.lock_clocks == "max",
        _capped(gpu.clock_cap_mhz): gpu.clock_cap_mhz,
        _each_gpu("clocks.max.memory", '-lmc "$value,$value"'): gpu.lock_memory_clock,
    }
    yield from (command for command, asked in commands.items() if asked)


def _each_gpu(asked: str, option: str) -> str:
    query = f"nvidia-smi --query-gpu=index,{asked} --format=csv,noheader,nounits"
    return f"{query} | while IFS=', ' read -r gpu value; do nvidia-smi -i \"$gpu\" {option} || exit; done"


def _capped(cap: str) -> str:
    """Lock to the range from the lowest clock to the cap; `max-2` is the third of the list from the highest down."""
    listed = 'listed=$(nvidia-smi -i "$gpu" --query-supported-clocks=gr --format=csv,noheader,nounits | sort -nru)'
    most = f'echo "$listed" | sed -n {int(cap.partition("-")[2] or 0) + 1}p'
    cap = f"$({most})" if cap.startswith("max") else cap
    lock = f'nvidia-smi -i "$gpu" -lgc "$(echo "$listed" | tail -n 1),{cap}"'
    return f"nvidia-smi --query-gpu=index --format=csv,noheader | while read -r gpu; do {listed}; {lock} || exit; done"
