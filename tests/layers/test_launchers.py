"""Launchers: where the program runs, what arrives there, and what is refused in one sentence."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vgo_agent.knowledge.errors import VgoError
from vgo_agent.layers.launcher import Launcher, find_launcher, line, open_launcher
from vgo_agent.layers.loader import find_layer, load_launchers
from vgo_agent.layers.probes.base import SpawnCommand
from vgo_agent.layers.reading import trust
from vgo_agent.tools.layers_here import LayerStatus, here

from .sshd import free_port, ssh_server

LAST_CPU = str(max(os.sched_getaffinity(0)))
WORD = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12)
NAME = st.from_regex(r"[A-Z][A-Z0-9_]{0,7}", fullmatch=True).map("VGO_{}".format)


@pytest.fixture(scope="module")
def ssh(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start a server for the tests of this file and give the launcher's spec."""
    with ssh_server(tmp_path_factory.mktemp("ssh")) as spec:
        yield spec


@pytest.fixture
def mpirun() -> None:
    """Skip where Open MPI is not installed."""
    if not shutil.which("mpirun"):
        pytest.skip("needs mpirun: apt install openmpi-bin")


def run(
    spec: str, *words: str, directory: Path | None = None, environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    command = open_launcher(spec).wrap(SpawnCommand(words, dict(os.environ) | (environment or {})), directory)
    return subprocess.run(
        command.argv, env=dict(command.environment), capture_output=True, text=True, timeout=120, check=False
    )


def composed(spec: str, *words: str, **environment: str) -> tuple[str, ...]:
    """Compose a command line of a launcher that may not be installed."""
    launcher = Launcher(spec, find_launcher(spec), os.environ)
    return launcher.wrap(SpawnCommand(words, {**os.environ, **environment}), Path("/w d")).argv


def test_local_starts_the_program_and_nothing_else() -> None:
    assert composed("local", "/bin/echo", "a b") == ("/bin/echo", "a b")


def test_taskset_keeps_the_program_on_the_cpus() -> None:
    said = run(f"taskset:cpus={LAST_CPU}", "grep", "Cpus_allowed_list", "/proc/self/status").stdout
    assert said.split() == ["Cpus_allowed_list:", LAST_CPU]


def test_copies_run_at_once_and_one_that_fails_is_told(tmp_path: Path) -> None:
    meet = f"echo > {tmp_path}/$$; until [ $(ls {tmp_path} | wc -l) = 3 ]; do sleep .01; done"
    assert run("copies:copies=3", "sh", "-c", meet).returncode == 0
    fails = f"mkdir {tmp_path}/first || exit 3"
    assert run("copies:copies=2", "sh", "-c", fails, environment={"failed": "7", "all": "1"}).returncode == 3


@pytest.mark.parametrize("copies", ["0", "-1", "some", "1.5"])
def test_no_copies_are_no_run(copies: str, tmp_path: Path) -> None:
    assert run(f"copies:copies={copies}", "touch", str(tmp_path / "ran")).returncode == 125
    assert not (tmp_path / "ran").exists()


def test_numactl_binds_cpus_and_memory() -> None:
    if not shutil.which("numactl"):
        pytest.skip("needs numactl: apt install numactl")
    said = run("numactl:node=0", "cat", "/proc/self/numa_maps")
    if "set_mempolicy" in said.stderr or said.returncode:
        pytest.skip(f"this kernel sets no memory policy: {said.stderr.strip()}")
    assert "bind:0" in said.stdout
    assert (
        run(f"numactl:cpus={LAST_CPU}", "grep", "Cpus_allowed_list", "/proc/self/status").stdout.split()[1] == LAST_CPU
    )


@pytest.mark.parametrize("shell", ["sh", "bash"])
@given(
    words=st.lists(WORD, max_size=4),
    variables=st.dictionaries(NAME, WORD, max_size=3),
    place=st.sampled_from(["/", "/usr"]),
)
@settings(deadline=None, derandomize=True)
def test_any_words_arrive_unchanged_through_the_shell_of_the_other_side(
    shell: str, words: list[str], variables: dict[str, str], place: str
) -> None:
    names = " ".join(f'"${name}"' for name in variables)
    script = f'printf "%s\\0" "$PWD" {names} "$@"'
    sent = line(("/bin/sh", "-c", script, "sh", *words), variables, place)
    said = subprocess.run([shell, "-c", sent], capture_output=True, check=True).stdout.decode()
    assert said.split("\0")[:-1] == [place, *variables.values(), *words]


@pytest.mark.parametrize("place", ["/", "/usr"])
def test_ssh_enters_the_directory_and_carries_words_and_variables(ssh: str, place: str) -> None:
    strange = "a  b\n'c'\"$HOME\" é `x` \\ *"
    script = 'printf "%s|" "$PWD" "$VGO_STRANGE" "$@"'
    said = run(ssh, "sh", "-c", script, "sh", strange, "", directory=Path(place), environment={"VGO_STRANGE": strange})
    assert said.stdout == f"{place}|{strange}|{strange}||"


def test_ssh_takes_another_directory_when_one_is_named(ssh: str) -> None:
    assert run(f"{ssh}".replace("ssh:", "ssh:directory=/usr,"), "pwd", directory=Path("/")).stdout == "/usr\n"


@pytest.mark.parametrize(("script", "code"), [("exit 0", 0), ("exit 7", 7), ("kill -9 $$", 137), ("kill -11 $$", 139)])
def test_ssh_keeps_the_exit_code_and_tells_a_signal_as_a_shell_does(ssh: str, script: str, code: int) -> None:
    assert run(ssh, "sh", "-c", script).returncode == code


def test_ssh_to_this_machine_says_its_name_and_leaves_out_what_it_cannot_see(ssh: str) -> None:
    launcher = open_launcher(ssh)
    assert launcher.hosts == (os.uname().nodename,)
    assert not launcher.elsewhere
    unseen = launcher.unseen(find_layer("process"))
    assert "minor_faults" in unseen and "cpu.steal" not in unseen
    assert "leave the launcher out" in unseen["minor_faults"]
    # The program would be one of the others, and seem to be the cause of its own slowness.
    assert "interference.others" in launcher.unseen(find_layer("interference"))


def test_a_host_that_does_not_answer_is_named(tmp_path: Path) -> None:
    if not shutil.which("ssh"):
        pytest.skip("needs ssh: apt install openssh-client")
    with pytest.raises(VgoError, match="could not reach the host.*Connection refused"):
        open_launcher(f"ssh:host=127.0.0.1,port={free_port()}").ask()


def test_a_host_that_does_not_know_the_key_is_not_asked_for_a_password(ssh: str, tmp_path: Path) -> None:
    other = tmp_path / "other"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(other)], check=True)
    spec = ",".join(f"identity={other}" if part.startswith("identity=") else part for part in ssh.split(","))
    with pytest.raises(VgoError, match="Permission denied"):
        open_launcher(spec).ask()


def test_every_rank_gets_words_and_variables(mpirun: None) -> None:
    strange = "a  b\n'c' é;,$HOME"
    script = 'printf "%s|%s|%s\\0" $OMPI_COMM_WORLD_RANK "$VGO_STRANGE" "$1"'
    said = run("mpirun:ranks=2", "sh", "-c", script, "sh", strange, environment={"VGO_STRANGE": strange})
    assert said.returncode == 0, said.stderr
    assert sorted(said.stdout.split("\0")[:-1]) == [f"{rank}|{strange}|{strange}" for rank in (0, 1)]


def test_the_hosts_of_the_ranks_are_told(mpirun: None) -> None:
    launcher = open_launcher("mpirun:ranks=2")
    assert (launcher.hosts, launcher.away) == ((os.uname().nodename,), "")


def test_more_ranks_than_there_is_room_for_are_refused_in_the_words_of_mpirun(mpirun: None) -> None:
    with pytest.raises(VgoError, match="not enough slots.* \\.\\.\\.: .*mpirun:ranks=8,options=--oversubscribe"):
        open_launcher("mpirun:ranks=4000").ask()


@pytest.mark.parametrize(("script", "code"), [("kill -9 $$", 137), ("exit 5", 5)])
def test_a_rank_that_dies_ends_all_with_its_code(mpirun: None, script: str, code: int) -> None:
    died = run("mpirun:ranks=2", "sh", "-c", f"[ $OMPI_COMM_WORLD_RANK = 0 ] || {script}; sleep 1000")
    assert died.returncode == code


def test_the_other_launchers_compose_what_their_manuals_say() -> None:
    srun, *asked = composed("srun:nodes=2,tasks=4,options=--exclusive", "./p", "a b")
    assert Path(srun).name == "srun"
    assert asked == ["--chdir=/w d", "--nodes=2", "--ntasks=4", "--exclusive", "./p", "a b"]
    for name in ("docker", "podman"):
        program, *words = composed(f"{name}:image=debian:12,cpus=0,1", "./p", "a b", VGO_X="y z")
        assert Path(program).name == name
        assert words == [
            *("run", "--rm", "--init", "--mount", "type=bind,source=/w d,target=/w d", "--workdir=/w d"),
            *("--cpuset-cpus=0,1", "--env", "VGO_X=y z", "debian:12", "./p", "a b"),
        ]
    assert composed("ssh:host=me@there,options=-J gate", "p")[1:-1] == (
        *("-o", "BatchMode=yes", "-J", "gate"),
        *("--", "me@there"),
    )


@pytest.mark.parametrize("name", ["srun", "docker", "podman"])
def test_what_is_not_installed_is_refused_with_the_cure(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(VgoError, match=rf"The launcher {name} cannot be used: {name} is not installed: apt install"):
        open_launcher(f"{name}:image=x" if name != "srun" else "srun")


def test_a_daemon_that_is_not_there_is_told_in_the_words_of_docker() -> None:
    if not shutil.which("docker"):
        pytest.skip("needs the docker client: apt install docker.io")
    said = run("docker:image=debian:12,options=--pull=never", "true", environment={"DOCKER_HOST": "unix:///nowhere"})
    assert said.returncode == 125
    assert "Docker daemon" in said.stderr
    assert "see that its daemon runs" in find_launcher("docker").exits[125]


@pytest.mark.parametrize("name", ["docker", "podman"])
def test_a_client_whose_service_does_not_answer_is_refused_before_the_first_run_and_so_listed(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = tmp_path / name
    client.write_text("#!/bin/sh\necho 'Cannot connect to the daemon' >&2\n[ $1 = run ]\n")
    client.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    words = rf"`{name} info` ended with 1 and said 'Cannot connect to the daemon': "
    with pytest.raises(VgoError, match=f"The launcher {name} cannot be used: {words}"):
        open_launcher(f"{name}:image=x").ask()
    listed = here(find_launcher(name), Path("/"), None)
    assert listed.state == "no"
    assert re.match(words, listed.why[""])
    client.write_text("#!/bin/sh\n")
    assert here(find_launcher(name), Path("/"), None) == LayerStatus("yes", {})
    assert open_launcher(f"{name}:image=x").ask() == (os.uname().nodename,)


def test_what_a_launcher_of_the_user_would_ask_is_shown_before_it_is_trusted(tmp_path: Path) -> None:
    mine = tmp_path / "mine.yaml"
    mine.write_text("{key: mine, kind: launcher, description: Mine., run: $CMD $ARGS, asks: {touch seen: do}}")
    with pytest.raises(VgoError, match="it would run: .*asks: touch seen"):
        open_launcher(str(mine))


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("nothing", "There is no launcher nothing: name one of these: copies, docker, local, mpirun, numactl"),
        ("process", "There is no launcher process"),
        ("ssh", "The launcher ssh needs host: --launcher ssh:host=HOST"),
        ("taskset", "The launcher taskset needs cpus"),
        ("ssh:host=x,speed=1", "has no parameter speed: it has host, port"),
    ],
)
def test_what_cannot_be_meant_is_refused(spec: str, words: str) -> None:
    with pytest.raises(VgoError, match=words):
        open_launcher(spec)


def test_a_metric_layer_in_a_file_is_no_launcher(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(
        "key: mine\ndescription: x\ncolumns: [{name: mine.x, unit: s, description: x, extract: {regex: x}}]"
    )
    with pytest.raises(VgoError, match="is a metric layer: give it with --layer"):
        open_launcher(str(tmp_path / "mine.yaml"))


def test_a_launcher_of_the_user_is_found_by_its_name_once_it_is_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    path = tmp_path / "vgo-agent/layers/launchers/slowly.yaml"
    path.parent.mkdir(parents=True)
    path.write_text("key: slowly\nkind: launcher\ndescription: With less priority.\nrun: nice -n 5 $CMD $ARGS\n")
    with pytest.raises(VgoError, match=r"not trusted.*nice -n 5 \$CMD \$ARGS"):
        open_launcher("slowly")
    trust([path])
    assert run("slowly", "nice").stdout == "5\n"


def test_every_launcher_starts_the_program_with_its_words_last() -> None:
    for name, layer in load_launchers().items():
        given = {parameter: "1" for parameter in layer.required}
        spec = f"{name}:{','.join(f'{key}={value}' for key, value in given.items())}" if given else name
        assert composed(spec, "/bin/p", "x y")[-1].endswith(("x y", "'x y'; exit $?"))


def test_what_speaks_to_mpirun_goes_to_it_and_not_through_it() -> None:
    launcher = Launcher("mpirun", find_launcher("mpirun:ranks=2,map=core,bind=none,cpus=0"), {"HOME": "/h"})
    given = {"HOME": "/h", "OMPI_MCA_hwloc_base_binding_policy": "core", "PRTE_MCA_x": "1", "MINE": "2"}
    started = launcher.wrap(SpawnCommand(("./solver", "-n"), given))
    words = "-n 2 --map-by core --bind-to none --cpu-set 0 -x MINE=2 ./solver -n"
    assert started.argv[1:] == tuple(words.split())
    assert {name: started.environment[name] for name in given if "MCA" in name} == {
        "OMPI_MCA_hwloc_base_binding_policy": "core",
        "PRTE_MCA_x": "1",
    }
    assert "MINE" not in started.environment
