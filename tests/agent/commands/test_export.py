"""`mitigations --keep` prints files that the programs they are for accept, and says why a format cannot say it."""

import configparser
import json
import re
import shutil
import subprocess

import pytest

from vgo_agent.agent.commands.mitigation_arguments import this_machine
from vgo_agent.agent.commands.mitigations import FORMATS
from vgo_agent.knowledge.actions import Apply, ControlGroup, DeadlinePolicy, Gpu, Hold, ResourceLimits, Spawn, Write
from vgo_agent.knowledge.errors import VgoError
from vgo_agent.knowledge.loader import load
from vgo_agent.knowledge.schema import Mitigation
from vgo_agent.tools.mitigation.parameters import with_values
from vgo_agent.tools.mitigation.permanent import FORMATS as ALL
from vgo_agent.tools.mitigation.permanent import permanent

PROGRAM = ("/usr/bin/env", "printf", "%s a'b\n", "two words")


@pytest.fixture(scope="module")
def every():
    """Export everything that this machine can give values to, by mitigation and format."""
    known = load()
    machine = this_machine(known)
    found = {}
    for key, mitigation in known.mitigations.items():
        try:
            whole = with_values(mitigation, {}, machine)
        except VgoError:  # a default that this machine has not
            continue
        found[key] = {one.format: one for one in permanent(whole, machine, PROGRAM)}
    return found


class CaseKept(configparser.ConfigParser):
    """Option names stay as they are, as TuneD reads them."""

    def optionxform(self, optionstr: str) -> str:
        return optionstr


def texts(every, format):
    return {key: kept[format].text for key, kept in every.items() if kept[format].text}


def made(apply, machine, program=PROGRAM):
    mitigation = Mitigation(
        key="mine", name="Mine", description="", scope="process", when="", hurts="", apply=Apply.model_validate(apply)
    )
    return {one.format: one for one in permanent(mitigation, machine, program)}


def need(program, package):
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed: apt install {package}")


def test_the_formats_of_the_help_are_those_of_the_knowledge():
    assert set(FORMATS) == set(ALL)


def test_every_mitigation_has_a_way_or_a_reason_in_every_format(every):
    assert len(every) > 100
    for key, kept in every.items():
        assert set(kept) == set(ALL)
        for one in kept.values():
            assert bool(one.text) != bool(one.why), f"{key} as {one.format}"


def test_every_applied_mitigation_can_be_kept_somehow(every):
    known = load()
    without = {
        key for key, kept in every.items() if known.mitigations[key].apply and not any(k.text for k in kept.values())
    }
    # A value that is read where it is set is exported there; the fan and the wait for each run are vgo-agent's own.
    elsewhere = {key for key in without if "ask there" in every[key]["tmpfiles"].why}
    assert without - elsewhere <= {"cool_down", "gpu_fan_fixed"}


def test_nothing_that_stands_for_a_value_is_printed(every):
    for key, kept in every.items():
        for one in kept.values():
            assert not re.search(r"\{(\d+%|max|min):|_but_quiet\}|\{cgroup", one.text + one.why), (
                f"{key} as {one.format}"
            )


def test_what_the_knowledge_adds_for_systemd_is_options():
    for key, mitigation in load().mitigations.items():
        for line in mitigation.permanent.get("systemd", "").splitlines():
            assert re.fullmatch(r"[A-Z][A-Za-z]+=\S*", line), f"{key}: {line}"
        for line in mitigation.permanent.get("slurm", "").splitlines():
            assert re.fullmatch(r"#SBATCH --[a-z-]+(=\S+)?", line), f"{key}: {line}"


def test_systemd_accepts_every_drop_in(every, tmp_path):
    need("systemd-analyze", "systemd")
    for key, text in texts(every, "systemd").items():
        unit = tmp_path / f"{key.replace('_', '-')}.service"
        if every[key]["systemd"].path.endswith(".service"):
            unit.write_text(text)
            continue
        unit.write_text("[Service]\nExecStart=/bin/true\n")
        folder = tmp_path / f"{unit.name}.d"
        folder.mkdir()
        (folder / "50.conf").write_text(text)
    units = [str(path) for path in tmp_path.glob("*.service")]
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", *units], capture_output=True, text=True)
    ours = [line for line in done.stderr.splitlines() if str(tmp_path) in line]
    assert not ours, "\n".join(ours)


def test_systemd_analyze_would_refuse_a_wrong_drop_in(tmp_path):
    need("systemd-analyze", "systemd")
    unit = tmp_path / "wrong.service"
    unit.write_text("[Service]\nExecStart=/bin/true\nCPUSchedulingPolicy=deadline\n")
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", str(unit)], capture_output=True, text=True)
    assert str(tmp_path) in done.stderr


def test_sysctl_accepts_every_file(every, tmp_path):
    need("sysctl", "procps")
    for key, text in texts(every, "sysctl").items():
        path = tmp_path / f"{key}.conf"
        path.write_text(text)
        done = subprocess.run(["sysctl", "--dry-run", "-e", "-p", str(path)], capture_output=True, text=True)
        assert done.returncode == 0, f"{key}: {done.stderr}"
        lines = [line for line in text.splitlines() if not line.startswith("#")]
        assert all(re.fullmatch(r"[\w./*-]+ = \S.*", line) for line in lines), text


def test_systemd_tmpfiles_accepts_every_file_and_writes_its_value(every, tmp_path):
    need("systemd-tmpfiles", "systemd")
    for key, text in texts(every, "tmpfiles").items():
        root = tmp_path / key
        lines = [line.split(" ", 6) for line in text.splitlines() if re.match("w-? ", line)]
        assert lines, text
        for _, path, *_ in lines:
            file = root / path.lstrip("/").replace("*", "0")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.touch()
        config = tmp_path / f"{key}.conf"
        config.write_text(text)
        done = subprocess.run(
            ["systemd-tmpfiles", "--create", f"--root={root}", str(config)], capture_output=True, text=True
        )
        assert done.returncode == 0, f"{key}: {done.stderr}"
        for _, path, *_, value in lines:
            assert (root / path.lstrip("/").replace("*", "0")).read_text().strip() == value


def test_a_tuned_profile_has_each_section_once(every):
    for key, text in texts(every, "tuned").items():
        profile = CaseKept(strict=True, interpolation=None, delimiters=("=",), comment_prefixes=("#",))
        profile.read_string(text)
        assert profile["main"]["summary"], key
        assert len(profile.sections()) > 1 or profile["main"].get("include"), text


@pytest.mark.parametrize("format", ["slurm", "openmp", "shell"])
def test_a_shell_reads_every_script(every, format, tmp_path):
    for key, text in texts(every, format).items():
        done = subprocess.run(["bash", "-n"], input=text, capture_output=True, text=True)
        assert done.returncode == 0, f"{key}: {done.stderr}\n{text}"
        if format == "slurm":
            assert text.startswith("#!/bin/sh\n"), "sbatch refuses a script whose first line is no #!"


def test_options_of_slurm_stand_before_the_first_command(every):
    for text in texts(every, "slurm").values():
        lines = text.splitlines()
        first = next(at for at, line in enumerate(lines) if not line.startswith("#"))
        assert not any(line.startswith("#SBATCH") for line in lines[first:])


def test_what_names_a_cpu_says_that_it_holds_here_only(every):
    for format in ("systemd", "docker", "shell"):
        assert "this machine only" in every["pin_to_cpu"][format].text


@pytest.mark.parametrize(
    ("apply", "format", "line"),
    [
        ({"spawn": Spawn(policy="fifo", priority=7)}, "systemd", "CPUSchedulingPriority=7"),
        ({"spawn": Spawn(nice=-5)}, "systemd", "Nice=-5"),
        ({"spawn": Spawn(io_class="best_effort", io_level=0)}, "systemd", "IOSchedulingClass=best-effort"),
        ({"spawn": Spawn(timer_slack_ns=1)}, "systemd", "TimerSlackNSec=1"),
        ({"spawn": Spawn(limits=ResourceLimits(memlock="unlimited"))}, "systemd", "LimitMEMLOCK=infinity"),
        ({"spawn": Spawn(limits=ResourceLimits(stack="8388608"))}, "slurm", "ulimit -s 8192"),
        ({"spawn": Spawn(group=ControlGroup(cpu_weight=1000))}, "systemd", "CPUWeight=1000"),
        ({"spawn": Spawn(group=ControlGroup(cpu_weight=200))}, "docker", "--cpu-shares=2048"),
        ({"environment": {"A": 'x "y" 5%'}}, "systemd", 'Environment="A=x \\"y\\" 5%%"'),
        ({"environment": {"A": "b c"}}, "docker", "ENV A='b c'"),
        ({"write": [Write(path="{cgroup.cpu}/cpu.max", value="150000 100000")]}, "systemd", "CPUQuota=150%"),
        ({"write": [Write(path="/proc/sys/net/core/somaxconn", value="4096")]}, "docker", "net.core.somaxconn=4096"),
        (
            {"write": [Write(path="/proc/sys/net/ipv4/conf/eth0.1/x", value="1")]},
            "sysctl",
            "net/ipv4/conf/eth0.1/x = 1",
        ),
        ({"write": [Write(path="/sys/a", value="1", optional=True)]}, "tmpfiles", "w- /sys/a - - - - 1"),
        ({"write": [Write(path="/proc/sys/a/b", value="1", optional=True)]}, "sysctl", "-a.b = 1"),
        ({"write": [Write(path="/sys/a*/b", value="1")]}, "tuned", "[sysfs]\n/sys/a*/b=1"),
        ({"hold": [Hold(path="/dev/cpu_dma_latency", int32=3)]}, "tuned", "[cpu]\nforce_latency=3"),
        ({"gpu": Gpu(lock_clocks="base")}, "shell", "nvidia-smi -lgc tdp,tdp"),
        ({"gpu": Gpu(exclusive=True)}, "systemd", 'ExecStart=/bin/sh -c "nvidia-smi -c EXCLUSIVE_PROCESS"'),
        ({"clear_environment": True, "environment": {"A": "b c"}}, "systemd", 'LANG=${LANG} "A=b c" /usr/bin/env'),
        ({"clear_environment": True}, "slurm", "srun env -i "),
        ({"spawn": Spawn(thp_disable=True)}, "slurm", "srun python3 -c "),
        ({"tmpfs_directory": True}, "systemd", "WorkingDirectory=%t/vgo-agent-copy"),
        ({"prewarm_inputs": True}, "systemd", "if=INPUT of=/dev/null"),
        ({"wrap": ["numactl", "--interleave=all"]}, "docker", "--cap-add=SYS_NICE"),
        ({"write": [Write(path="/sys/a", value="5% \\n")]}, "tmpfiles", "w /sys/a - - - - 5%% \\\\n"),
        ({"write": [Write(path="/sys/block/*/queue/scheduler", value="none")]}, "udev", 'ATTR{queue/scheduler}="none"'),
        ({"write": [Write(path="/proc/sys/vm/swappiness", value="1")]}, "cmdline", "sysctl.vm.swappiness=1"),
    ],
)
def test_a_typed_action_becomes_the_option_of_the_format(apply, format, line):
    text = made(apply, this_machine(load()))[format].text
    assert line in text


def test_what_systemd_has_no_option_for_is_started_by_a_launcher():
    machine = this_machine(load())
    text = made({"spawn": Spawn(fixed_layout=True)}, machine, ("/bin/true",))["systemd"].text
    assert re.search(r"ExecStart=\nExecStart=/\S*setarch -R /bin/true", text)
    deadline = Spawn(policy="deadline", deadline=DeadlinePolicy(runtime_us=1000, period_us=5000))
    assert "CPUSchedulingPolicy" not in made({"spawn": deadline}, machine)["systemd"].text


def test_a_value_that_this_machine_cannot_give_is_exported_where_it_can():
    write = Write(path="/sys/devices/none*/limit", value="{80%:most}")
    made_here = made({"write": [write]}, this_machine(load()))
    for format in ("sysctl", "tmpfiles", "tuned"):
        assert not made_here[format].text
        assert "ask there" in made_here[format].why


def test_tuned_is_given_no_file_that_it_refuses():
    kept = made({"write": [Write(path="/proc/irq/*/smp_affinity_list", value="0")]}, this_machine(load()))
    assert "below /sys" in kept["tuned"].why
    assert "w /proc/irq/*/smp_affinity_list - - - - 0" in kept["tmpfiles"].text


def test_all_formats_are_shown_with_the_reasons_of_the_others(vgo):
    text = vgo("mitigations", "swappiness_low", "--keep", "all", "--", "/usr/bin/solver").stdout
    assert "== sysctl: /etc/sysctl.d/90-vgo-agent-swappiness-low.conf" in text
    assert "Not as:" in text


def test_one_format_is_printed_as_it_belongs_in_the_file(vgo):
    done = vgo("mitigations", "swappiness_low", "--keep", "sysctl")
    assert re.search(r"^vm\.swappiness = \d+$", done.stdout, re.M)
    assert "==" not in done.stdout


def test_json_holds_every_format(vgo):
    said = json.loads(vgo("mitigations", "pin_to_cpu", "--keep", "all", "--json").stdout)
    assert {one["format"] for one in said["formats"]} == set(ALL)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["sched_fifo", "--keep", "sysctl"], "Keep it with --keep systemd"),
        (["sched_fifo", "thp_always"], "--keep prints how to keep one mitigation"),
        (["sched_fifo", "--", ""], "names no program"),
        (["sched_fifo", "--"], "names no program"),
        (["sched_fifo", "--root", "/nowhere"], "/nowhere has no folder proc"),
        (["no_such_thing"], "There is no mitigation"),
        (["sched_fifo", "--param", "x=1"], "no parameter"),
        (["sched_fifo", "--param", "x"], "not name=value"),
        (["reserve_cores", "--param", "cores=0"], "it is at least 1 CPUs."),
        (["reserve_cores", "--param", "cores=some"], "it is a number of CPUs."),
    ],
)
def test_what_makes_no_sense_is_refused_with_the_cure(vgo, words, told):
    done = vgo("mitigations", "--keep", "all", *words)
    assert done.returncode == 1
    assert told in done.stderr
    assert "Traceback" not in done.stderr


def test_the_example_of_the_refusal_can_be_typed(vgo):
    refused = vgo("mitigations", "--keep", "all")
    example = re.search(r"`vgo-agent (.*)`", refused.stderr)
    assert example and vgo(*example[1].split()).returncode == 0


def test_a_line_for_a_shell_is_given_to_one(vgo):
    done = vgo("mitigations", "plain_nice", "--keep", "shell", "--shell", "--", "a|b")
    assert "/bin/sh -c 'a|b'" in done.stdout, done.stderr


def test_the_machine_is_that_of_the_root(vgo, tmp_path):
    policy = tmp_path / "sys/devices/system/cpu/cpufreq/policy0"
    policy.mkdir(parents=True)
    (tmp_path / "proc").mkdir()
    for name in ("scaling_max_freq", "scaling_min_freq"):
        (policy / name).write_text("1234567\n")
    done = vgo("mitigations", "highest_minimum_frequency", "--keep", "tmpfiles", "--root", str(tmp_path))
    assert re.search(r"^w-? /sys/\S*/policy0/scaling_min_freq - - - - 1234567$", done.stdout, re.M), done


def test_a_value_is_not_held_against_the_cpus_of_this_machine(vgo):
    done = vgo("mitigations", "reserve_cores", "--param", "cores=4000", "--keep", "slurm")
    assert "#SBATCH --core-spec=4000" in done.stdout, done.stderr
    assert "# cores is at most cpus-1: 4000 was not checked against that" in done.stdout
    said = json.loads(vgo("mitigations", "reserve_cores", "--param", "cores=4000", "--keep", "all", "--json").stdout)
    for one in said["formats"]:
        if one["format"] in ("systemd", "openmp", "docker", "shell"):
            assert "ask on the machine it is for" in one["why"], one


def test_a_value_that_is_counted_from_the_cpus_says_so(vgo):
    text = vgo("mitigations", "omp_threads", "--keep", "openmp").stdout
    assert re.search(r"threads is cpus-1, which is \d+ on this machine", text)


@pytest.mark.parametrize(
    ("key", "values", "option"),
    [
        ("raise_memory_limit", {}, "docker run --memory=0 IMAGE"),
        ("raise_memory_limit", {"bytes": "2147483648"}, "docker run --memory=2147483648 IMAGE"),
        ("raise_cpu_quota", {}, "docker run --cpus=0 IMAGE"),
        ("raise_cpu_quota", {"quota": "150000"}, "docker run --cpus=1.5 IMAGE"),
    ],
)
def test_limits_of_a_container_are_options_of_docker_run(key, values, option):
    known = load()
    machine = this_machine(known)
    kept = {one.format: one for one in permanent(with_values(known.mitigations[key], values, machine), machine)}
    assert option in kept["docker"].text
    assert ("0 is no limit" in kept["docker"].text) == (not values)


def test_a_job_asks_for_the_memory_that_a_limit_allows():
    known = load()
    machine = this_machine(known)
    filled = with_values(known.mitigations["raise_memory_limit"], {"bytes": "2147483648"}, machine)
    kept = {one.format: one for one in permanent(filled, machine)}
    assert "#SBATCH --mem=2097152K" in kept["slurm"].text


def test_what_no_starter_can_set_in_a_control_group_is_not_sent_to_another(every):
    assert every["cpu_burst"]["docker"].why == "docker run has no option for it"
    assert every["cpu_burst"]["systemd"].why == "systemd has no option for it"
