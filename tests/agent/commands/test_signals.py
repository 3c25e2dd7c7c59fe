"""Command by phase by signal: each ends within a second, leaves nothing running and nothing changed, and says so.

Each case waits for an event of its own phase: a line that the command says, an event in its transcript, a row that was
kept, a process that it started, a setting that is on, a library that it has loaded.
"""

from __future__ import annotations

import fcntl
import json
import os
import pty
import shutil
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from uuid import uuid4

import pytest

from vgo_agent.evals import run as evaluation

from ...conftest import COMMAND, entries, settings
from ..answers.run_made import written
from ..report.conftest import MAKERS

ENDS_S = 60.0
"""How long a process that was signalled is waited for; the programs that it runs would go on for 1000 s and more."""
WATCHDOG, WATCHDOG_S = "vgo_agent.tools.mitigation.guard", 30.0
PATIENCE_S = 240.0
"""For a phase to begin."""
CODE = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}
SAID = {
    signal.SIGINT: "vgo-agent: stopped by Ctrl-C",
    signal.SIGTERM: "vgo-agent: ended by SIGTERM",
    signal.SIGHUP: "vgo-agent: ended by SIGHUP",
}
PROGRAM = """
import os, time
block = b"x" * ((8 << 20) if os.urandom(1)[0] < 90 else (1 << 18))
time.sleep(0.002)
"""
COMMANDS = """
import hashlib, signal, subprocess, sys, threading, time
from vgo_agent.agent.ending import run

def swallows():  # as a library may that is loaded just then
    while True:
        try:
            print("on", flush=True)
            time.sleep(1000)
        except BaseException:
            pass

def computes():
    print("on", flush=True)
    hashlib.pbkdf2_hmac("sha256", b"", b"", (1 << 31) - 1)

def reads():  # and was about to wait when the signal came: another thread is woken
    threading.Thread(target=time.sleep, args=(1000,)).start()
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    print("on", flush=True)
    sys.stdin.readline()

def command():
    subprocess.Popen(["setsid", "sleep", "1000"])
    globals()[sys.argv[1]]()

run(command)
"""
THP = Path("/sys/kernel/mm/transparent_hugepage/enabled")
root = pytest.mark.skipif(os.geteuid() != 0 or not os.access(THP, os.W_OK), reason="needs a setting to change")


@dataclass
class Going:
    """A command that goes on, in a session of its own, marked so that all it starts is found again."""

    process: subprocess.Popen[str]
    folder: Path
    mark: str

    def alive(self, *words: str) -> list[str]:
        """Command lines of all that was started by it and lives, with these words in it; not its own."""
        others = (place for place in Path("/proc").glob("[0-9]*") if place.name != str(self.process.pid))
        found = (cmdline(place) for place in others if self.mark in read(place / "environ"))
        return [line for line in found if line and all(word in line for word in words)]

    def left(self) -> list[str]:
        """All of these but the watchdog, which looks after what is left when the agent has gone, and then ends."""
        return [line for line in self.alive() if WATCHDOG not in line]

    def nothing_left(self) -> None:
        """See that nothing is left, and that the watchdog ends by itself."""
        assert not self.left()
        deadline = time.monotonic() + WATCHDOG_S
        while going := self.alive():
            assert time.monotonic() < deadline, going
            time.sleep(0.01)

    def text(self, pattern: str) -> str:
        """What stands in the files of its folder that match."""
        return "".join(read(path) for path in sorted(self.folder.glob(pattern)))

    def end(self, number: signal.Signals, whole_group: bool = True) -> tuple[float, str, str]:
        """Signal as a terminal does; give how long it took, and what it said."""
        begun = time.monotonic()
        (os.killpg if whole_group else os.kill)(self.process.pid, number)
        self.process.wait(timeout=ENDS_S)
        took_s = time.monotonic() - begun
        return took_s, *self.process.communicate(timeout=10)


def read(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


def cmdline(place: Path) -> str:
    return read(place / "cmdline").replace("\0", " ").strip()


def until(event: Callable[[], object], going: Going) -> None:
    """Wait for an event; a look may go through all processes, so that it takes a fifth of the time at most."""
    deadline = (begun := time.monotonic()) + PATIENCE_S
    while not event():
        assert going.process.poll() is None, f"it ended before: {read(going.folder / 'said')}"
        assert time.monotonic() < deadline, "the phase did not begin"
        time.sleep(max(0.002, 4 * (time.monotonic() - begun)))
        begun = time.monotonic()


Begin = Callable[..., Going]


@pytest.fixture
def begin(tmp_path: Path) -> Iterator[Begin]:
    """Start commands in an empty folder; end what a failure leaves."""
    started: list[Going] = []
    program_in(tmp_path)

    def one(words: Sequence[str], deaf: bool = False, stdin: int = subprocess.DEVNULL) -> Going:
        """`deaf`: SIGINT is ignored, as for a job that a script starts in the background."""
        mark = f"MARK={uuid4().hex}"
        process = subprocess.Popen(
            [str(word) for word in words],
            cwd=tmp_path,
            env=os.environ
            | {"XDG_CONFIG_HOME": str(tmp_path / "config"), "XDG_CACHE_HOME": str(tmp_path / "cache")}
            | dict([mark.split("=")]),
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=(tmp_path / "said").open("w"),
            text=True,
            start_new_session=True,
            preexec_fn=lambda: as_a_shell_leaves_them(deaf),
        )
        started.append(Going(process, tmp_path, mark))
        return started[-1]

    yield one
    for going in started:
        for place in Path("/proc").glob("[0-9]*"):
            if going.mark in read(place / "environ"):
                with suppress(ProcessLookupError):
                    os.kill(int(place.name), signal.SIGKILL)
        going.process.wait()
        assert going.process.stdout
        going.process.stdout.close()


def program_in(folder: Path) -> None:
    """Write the program that is diagnosed."""
    program = folder / "program.py"
    program.write_text(f"#!{sys.executable} -IS{PROGRAM}")
    program.chmod(0o755)


def as_a_shell_leaves_them(deaf: bool) -> None:
    """Whatever the tests were started with: `nohup` would keep SIGHUP ignored."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN if deaf else signal.SIG_DFL)


def heard(going: Going) -> bool:
    """It has taken the signals upon itself, SIGHUP last: the first thing that a command does."""
    status = read(Path(f"/proc/{going.process.pid}/status"))
    caught = next((line.split()[1] for line in status.splitlines() if line.startswith("SigCgt")), "0")
    return bool(int(caught, 16) >> (signal.SIGHUP - 1) & 1)


def loaded(*libraries: str) -> Callable[[Going], object]:
    return lambda going: all(one in read(Path(f"/proc/{going.process.pid}/maps")) for one in libraries)


def says(words: str) -> Callable[[Going], object]:
    return lambda going: words in read(going.folder / "said")


def decides(tool: str) -> Callable[[Going], object]:
    return lambda going: f'"tool":"{tool}"' in going.text("vgo-runs/*/transcript.jsonl")


def keeps(pattern: str, rows: int = 3) -> Callable[[Going], object]:
    return lambda going: going.text(pattern).count("\n") >= rows


def starts(*words: str) -> Callable[[Going], object]:
    return lambda going: going.alive(*words)


def notes(event: str) -> Callable[[Going], object]:
    return lambda going: event in going.text("vgo-runs/*/t*.jsonl")


def both(*events: Callable[[Going], object]) -> Callable[[Going], object]:
    return lambda going: all(event(going) for event in events)


@dataclass(frozen=True)
class Case:
    """A command, a phase of it, and a signal."""

    name: str
    words: tuple[str, ...]
    phase: Callable[[Going], object]
    number: signal.Signals
    goes_on: str = ""
    """What the last line names to go on with."""
    deaf: bool = False
    before: str = ""
    """A tool of the diagnosis that `made` gives: the command finds it as it was before that tool was first chosen."""


def diagnosis(name: str, phase: Callable[[Going], object], number: signal.Signals, **more: object) -> Case:
    words = ("diagnose", "--max-runs", "60", "--budget", "300", "--seed", "1", "./program.py")
    return Case(f"diagnose, {name}", words, phase, number, GOES_ON, **more)  # type: ignore[arg-type]


def going_on(name: str, before: str, phase: Callable[[Going], object], number: signal.Signals) -> Case:
    words = ("resume", "vgo-runs/made", "--budget", "300")
    return Case(f"diagnose, {name}", words, phase, number, f"{GOES_ON}made", before=before)


GOES_ON = "vgo-agent resume vgo-runs/"
INT, TERM, HUP = signal.SIGINT, signal.SIGTERM, signal.SIGHUP
ENDLESS = ("--", "sleep", "86399")
CLUSTER = ("--on", "local.yaml")
CASES = (
    *(Case("mitigations, at once", ("mitigations",), heard, number) for number in CODE),
    Case("mitigations, deaf", ("mitigations",), loaded("pydantic_core"), INT, deaf=True),
    Case("diagnose, a trial", ("diagnose", "--budget", "300", *ENDLESS), starts("sleep 86399"), INT, deaf=True),
    Case("diagnose, a trial", ("diagnose", "--budget", "300", *ENDLESS), starts("sleep 86399"), TERM),
    diagnosis("loading", both(says("kept in vgo-runs/"), loaded("numpy")), HUP),
    diagnosis("survey", notes('"conducting"'), INT),
    diagnosis("baseline", keeps("vgo-runs/*/partial/c001.jsonl"), INT, deaf=True),
    going_on("profile", "profile", keeps("vgo-runs/*/partial/*.jsonl"), TERM),
    going_on("analysis", "rank_factors", decides("rank_factors"), HUP),
    going_on("look-up", "look_up", decides("look_up"), TERM),
    going_on("screening", "apply_mitigation", decides("apply_mitigation"), HUP),
    going_on("pairs", "apply_mitigation", keeps("vgo-runs/*/partial/*.jsonl"), INT),
    going_on("comparison", "compare", decides("compare"), TERM),
    going_on("verdict", "conclude", decides("conclude"), INT),
    going_on("report", "conclude", notes('"kind":"verdict"'), HUP),
    Case("diagnose --on", ("diagnose", *CLUSTER, "--budget", "300", "./program.py"),
         keeps("vgo-runs/*/partial/*.jsonl"), TERM, GOES_ON),
    Case("measure", ("measure", "--max-runs", "9999", "--stop", "count", "--stop-at", "9000", "./program.py"),
         says("measure:"), TERM, GOES_ON),
    Case("profile", ("measure", "--runs", "9000", "--layer", "process", "./program.py"),
         says("profile:"), HUP, GOES_ON),
    Case("sweep", ("sweep", "a=1,2,3", "--", "./program.py", "{a}"), keeps("vgo-runs/*/log.jsonl"), INT,
         GOES_ON),
    Case("study", ("sweep", "openmp", *ENDLESS), starts("sleep 86399"), TERM),
    Case("tune", ("try", "reserve_cores", "--search", "cores=1..1", "./program.py"),
         keeps("vgo-runs/*/partial/*.jsonl"), HUP, GOES_ON),
    Case("eval", ("eval", "--cases", "cpu-hops*", "--jobs", "1"), starts("multiprocessing.spawn"), INT),
    Case("demo", ("demo",), keeps("vgo-runs/*/partial/c001.jsonl"), TERM, GOES_ON),
    Case("eval record", ("eval", "record", "--out", "a case", "page-faults"), keeps("**/*.jsonl"), TERM,
         "vgo-agent eval record --resume --out 'a case' page-faults"),
    Case("verify --recompute", ("verify", "--recompute", "vgo-runs/made"), loaded("numpy"), HUP, before="never"),
    Case("explain", ("explain", "slow", "run"), lambda going: any(going.folder.glob("cache/vgo-agent/*")), INT),
    Case("analyze", ("analyze", "big.csv", "--outcome", "time_s"), loaded("scipy"), HUP),
    Case("compare", ("compare", "big.csv", "--metric", "time_s", "--pair", "c0"), loaded("scipy"), INT),
    Case("surface", ("surface", "fit", "big.csv", "--settings", "c0,c1", "--outcome", "time_s"), loaded("sklearn"),
         TERM),
    Case("machine profile", ("machine", "profile", "--quick"), keeps("vgo-runs/*/partial/*.jsonl"), HUP, GOES_ON),
    Case("ask", ("ask", "run-0", "why is it slow?", "--out", "."), loaded("pydantic_core"), TERM),
    Case("layers --on", ("layers", *CLUSTER, "--", "./program.py"), starts("multiprocessing.spawn"), INT),
    Case("measure --on", ("measure", *CLUSTER, "--max-runs", "9999", "./program.py"), says("measure:"), HUP, GOES_ON),
    Case("chat, plain", ("chat", "--plain", "--max-runs", "40", "./program.py"), starts("agent.worker"), INT,
         "vgo-agent chat vgo-runs/"),
)  # fmt: skip
AT_ONCE = (("layers",), ("check",), ("restore",), ("runs",), ("explain", "page_faults"),
           ("mitigations", "thp_always", "--keep", "all"),
           ("verify", "vgo-runs/made"), ("analyze", "big.csv", "--read-only"), ("analyze", "big.csv", "--by", "node"),
           ("analyze", "big.csv", "--by", "rank"),
           ("compare", "1", "--plan", "0.5"), ("config",))  # fmt: skip
"""Commands that end soon, or refuse what they are given: they are cut off before they do either."""
needs_model = pytest.mark.skipif(find_spec("llama_cpp") is None, reason="llama_cpp is not installed")


ALWAYS = ("mitigations, at once, SIGHUP", "mitigations, deaf, SIGINT, deaf", "diagnose, a trial, SIGTERM",
          "diagnose, baseline, SIGINT, deaf", "measure, SIGTERM", "sweep, SIGINT")  # fmt: skip
"""What stands for all in the check: each signal before, in and between runs, heard and deaf."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One signal for each phase; with --all every signal, as far as it ends a command (a closed chat works on)."""
    if "case" not in metafunc.fixturenames:
        return
    short = [Case(f"{' '.join(words)}, at once", words, heard, number)
             for place, words in enumerate(AT_ONCE) for number in [list(CODE)[place % 3]]]  # fmt: skip
    cases = {(case.name, case.number, case.deaf): case for case in (*CASES, *short)}
    if metafunc.config.getoption("--all"):
        every = [replace(case, number=number, deaf=False) for case in cases.values() for number in CODE]
        cases |= {(case.name, case.number, False): case for case in every if "chat" not in case.name}
    named = {f"{case.name}, {case.number.name}{', deaf' * case.deaf}": case for case in cases.values()}
    assert named.keys() >= {*ALWAYS}
    slow = ((), pytest.mark.slow)
    each = [pytest.param(case, id=name, marks=slow[name not in ALWAYS]) for name, case in named.items()]
    metafunc.parametrize("case", each)


@pytest.fixture(scope="module")
def big(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table that takes a while."""
    path = tmp_path_factory.mktemp("big") / "big.csv"
    header = ",".join(["time_s", *(f"c{n}" for n in range(20))])
    rows = (",".join(str((place * (n + 7)) % 1009 / 7) for n in range(21)) for place in range(40_000))
    path.write_text("\n".join([header, *rows]))
    return path


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A diagnosis that has ended."""
    folder = tmp_path_factory.mktemp("made")
    program_in(folder)
    words = ("diagnose", "--max-runs", "40", "--budget", "300", "--seed", "1", "--max-mitigations", "1", "./program.py")
    subprocess.run([COMMAND, *words], cwd=folder, capture_output=True, check=True, stdin=subprocess.DEVNULL)
    (run,) = folder.glob("vgo-runs/*")
    return run


def cut_off(made: Path, run: Path, tool: str) -> None:
    """Copy a diagnosis as it would be, had it been killed before a tool was first chosen."""
    shutil.copytree(made, run)
    lines = (made / "transcript.jsonl").read_text().splitlines(keepends=True)
    place = next((at for at, line in enumerate(lines) if f'"tool":"{tool}"' in line), len(lines))
    (run / "transcript.jsonl").write_text("".join(lines[:place]))


def test_it_ends_at_once_and_leaves_nothing(
    case: Case, begin: Begin, big: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    (tmp_path / "local.yaml").write_text("cluster: local\nnodes: 1\n")
    (tmp_path / "big.csv").symlink_to(big)
    if case.name == "ask":
        written(MAKERS["confirmed"](), tmp_path / "run-0")
    if case.before:
        cut_off(request.getfixturevalue("made"), tmp_path / "vgo-runs/made", case.before)
    before = settings()
    going = begin((COMMAND, *case.words), deaf=case.deaf)
    until(lambda: case.phase(going), going)
    ends(going, case.number, case.goes_on)
    as_before(before)


def as_before(before: dict[str, str]) -> None:
    """See that every setting is back; tests beside this one set some too, and put them back."""
    deadline = time.monotonic() + WATCHDOG_S
    while settings() != before:
        assert time.monotonic() < deadline
        time.sleep(0.01)


@needs_model
@pytest.mark.parametrize(
    ("phase", "number"),
    [
        pytest.param(starts("agent.model.served"), INT, id="loads"),
        pytest.param(says("  "), TERM, id="answers", marks=pytest.mark.slow),
    ],
)
def test_a_model_is_ended_too(begin: Begin, phase: Callable[[Going], object], number: signal.Signals) -> None:
    """A line that begins with blanks tells an answer; the next one is being written."""
    going = begin((COMMAND, "model", "check"))
    until(lambda: phase(going), going)
    ends(going, number)


EACH = [INT, *(pytest.param(number, marks=pytest.mark.slow) for number in (TERM, HUP))]


@root
@pytest.mark.slow
@pytest.mark.parametrize("number", [INT, TERM, HUP])
def test_a_question_that_waits_is_ended(number: signal.Signals, begin: Begin) -> None:
    words = ("try", f"thp_{another()}", "--json-lines", "--max-runs", "40", "--budget", "300", "./program.py")
    going = begin((COMMAND, *words), stdin=subprocess.PIPE)
    assert going.process.stdout is not None
    assert '"question"' in going.process.stdout.readline(), read(going.folder / "said")
    ends(going, number, GOES_ON)


@root
@pytest.mark.parametrize("twice", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize("number", EACH)
def test_a_setting_that_is_on_is_put_back_and_said(number: signal.Signals, twice: bool, begin: Begin) -> None:
    """`twice`: the second signal ends it at once, and the watchdog puts back what it did not."""
    before, other = settings(), another()
    words = ("try", f"thp_{other}", "--allow", "system", "--max-runs", "40", "--budget", "300", "./program.py")
    going = begin((COMMAND, *words))
    ours = f"-{going.process.pid}-"
    until(lambda: any(ours in one.name for one in entries()) and f"[{other}]" in THP.read_text(), going)
    os.kill(going.process.pid, number) if twice else None
    said = ends(going, number, GOES_ON)
    short = before[str(THP)].partition("[")[2].partition("]")[0]
    by_whom = (f"is {short} again", f"is put back to {short} by the watchdog")
    assert any(f"; transparent_hugepage/enabled {words}; go on with: " in said for words in by_whom[: 1 + twice])
    assert not any(ours in one.name for one in entries())
    as_before(before)


def another() -> str:
    """A value of the setting that it does not have now."""
    return "never" if "[always]" in THP.read_text() else "always"


def hears_no_interrupt(status: str) -> bool:
    blocked = next(line.split()[1] for line in status.splitlines() if line.startswith("SigBlk"))
    return bool(int(blocked, 16) >> (INT - 1) & 1)


def test_a_worker_that_starts_does_not_hear_the_terminal() -> None:
    worker = evaluation._start(evaluation.Contest(()), 60)
    try:
        assert hears_no_interrupt(read(Path(f"/proc/{worker.process.pid}/status")))
    finally:
        worker.process.kill()
        worker.process.join()


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
def test_children_that_start_do_not_hear_the_terminal(begin: Begin, jobs: int) -> None:
    """Python that is interrupted while it starts tells so in many lines."""
    going = begin((COMMAND, "eval", "--cases", "cpu-hops*", "--jobs", str(jobs)))
    until(lambda: len(going.alive("multiprocessing.spawn")) >= jobs, going)
    places = [place for place in Path("/proc").glob("[0-9]*") if going.mark in read(place / "environ")]
    children = [read(place / "status") for place in places if "multiprocessing.spawn" in cmdline(place)]
    assert len(children) == jobs
    assert all(map(hears_no_interrupt, children))
    ends(going, INT)


def ends(going: Going, number: signal.Signals, goes_on: str = "", whole_group: bool = True) -> str:
    """Signal, and see that it ends as is promised; give its last line."""
    took_s, _, _ = going.end(number, whole_group)
    said = read(going.folder / "said")
    last = said.replace("\r", "\n").strip().splitlines()[-1]
    print(f"{took_s:.2f} s", last)  # shown by pytest -s, and where it fails
    assert not going.left(), said
    assert going.process.returncode == CODE[number], said
    assert "Traceback" not in said and "Exception ignored" not in said and "Error" not in said, said
    assert SAID[number] in last, said
    if goes_on:
        assert f"; go on with: {goes_on}" in last
    else:
        assert "go on with" not in last
    going.nothing_left()
    return last


@pytest.mark.slow
def test_what_was_cut_short_goes_on_as_the_line_says(begin: Begin, tmp_path: Path) -> None:
    going = begin((COMMAND, "diagnose", "--max-runs", "60", "--budget", "300", "--allow", "none", "./program.py"))
    until(lambda: decides("profile")(going), going)
    line = ends(going, signal.SIGTERM, "vgo-agent resume vgo-runs/")
    words = line.partition("go on with: vgo-agent ")[2].split()
    done = subprocess.run([COMMAND, *words, "--json"], cwd=tmp_path, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    for command in (("verify",), ("verify", "--recompute")):
        checked = subprocess.run([COMMAND, *command, words[1]], cwd=tmp_path, capture_output=True, text=True)
        assert checked.returncode == 0, checked.stderr


def test_json_has_one_object_that_says_why(begin: Begin) -> None:
    going = begin((COMMAND, "diagnose", "--json", *ENDLESS))
    until(lambda: going.alive("sleep 86399"), going)
    _, out, _ = going.end(signal.SIGINT)
    assert json.loads(out) == {"error": "stopped by Ctrl-C"}


def test_the_run_of_a_chat_outlives_a_closed_terminal(begin: Begin) -> None:
    going = begin((COMMAND, "chat", "--plain", "./program.py", "--max-runs", "40"))
    until(lambda: going.alive("agent.worker"), going)
    going.end(signal.SIGHUP)
    assert SAID[signal.SIGHUP] in read(going.folder / "said")
    (worker,) = [place for place in Path("/proc").glob("[0-9]*") if "agent.worker" in cmdline(place)
                 and going.mark in read(place / "environ")]  # fmt: skip
    os.kill(int(worker.name), signal.SIGTERM)
    deadline = time.monotonic() + ENDS_S
    while going.left():
        assert time.monotonic() < deadline, going.left()
        time.sleep(0.01)
    going.nothing_left()


@pytest.mark.parametrize("again", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize("what", ["swallows", "computes"])
def test_what_takes_no_signal_is_ended_beside_it_and_a_second_one_does_not_wait(
    begin: Begin, what: str, again: bool
) -> None:
    going = begin((sys.executable, "-c", COMMANDS, what))
    begun = signalled_once_on(going, computes=what == "computes")
    if again:
        assert what == "computes" or on(going)
        os.kill(going.process.pid, signal.SIGINT)
    assert stopped_s(going, begun) > (0 if again else 0.5)


def test_a_signal_just_before_a_call_that_waits_is_heard(begin: Begin) -> None:
    going = begin((sys.executable, "-c", COMMANDS, "reads"), stdin=subprocess.PIPE)
    stopped_s(going, signalled_once_on(going))


def signalled_once_on(going: Going, computes: bool = False) -> float:
    """Send SIGINT when the command is where it is meant to be; give when."""
    assert on(going)
    until(lambda: going.alive("sleep 1000"), going)
    before = ticks(going)
    until(lambda: not computes or ticks(going) > before + 1, going)
    begun = time.monotonic()
    os.kill(going.process.pid, signal.SIGINT)
    return begun


def ticks(going: Going) -> int:
    """User time that it has taken."""
    return int(read(Path(f"/proc/{going.process.pid}/stat")).rpartition(")")[2].split()[11])


def on(going: Going) -> bool:
    assert going.process.stdout is not None
    return going.process.stdout.readline() == "on\n"


def stopped_s(going: Going, begun: float) -> float:
    """See that it ends; give how long it took."""
    assert going.process.wait(timeout=ENDS_S) == 130
    took_s = time.monotonic() - begun
    going.nothing_left()
    assert read(going.folder / "said") == "vgo-agent: stopped by Ctrl-C\n"
    return took_s


def test_sighup_that_was_ignored_at_the_start_stays_so(begin: Begin) -> None:
    going = begin(("nohup", COMMAND, "diagnose", *ENDLESS))
    until(lambda: going.alive("sleep 86399"), going)
    os.killpg(going.process.pid, signal.SIGHUP)
    time.sleep(0.2)
    assert going.alive("sleep 86399") and going.process.poll() is None
    ends(going, signal.SIGTERM)


@pytest.mark.parametrize("hangs_up", [pytest.param(True, marks=pytest.mark.slow), False])
@pytest.mark.parametrize("words", [("diagnose", "--max-runs", "9999"), ("chat",)], ids=["diagnose", "chat"])
def test_a_terminal_that_is_closed_ends_it(begin: Begin, words: tuple[str, ...], hangs_up: bool) -> None:
    """`hangs_up`: the kernel tells it by SIGHUP; else it finds out, as a job that was disowned.

    An app hears SIGHUP even where `nohup` has it ignored: it is its worker that outlives the terminal.
    """
    if words == ("chat",) and not hangs_up:
        pytest.skip("an app that reads keys has the terminal")
    ours, theirs = pty.openpty()

    def leads() -> None:
        os.setsid() if os.getsid(0) != os.getpid() else None
        fcntl.ioctl(theirs, termios.TIOCSCTTY, 0) if hangs_up else None
        signal.signal(signal.SIGHUP, signal.SIG_IGN if words == ("chat",) else signal.SIG_DFL)
        for number in range(3):
            os.dup2(theirs, number)

    env = {"TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}
    mark = f"MARK={uuid4().hex}"
    process = subprocess.Popen(
        [COMMAND, *words, "--budget", "300", "./program.py"],
        cwd=begin(("true",)).folder,
        env=os.environ | env | dict([mark.split("=")]),
        start_new_session=True,
        preexec_fn=leads,
        pass_fds=(theirs,),
        text=True,
    )
    os.close(theirs)
    going = Going(process, Path(), mark)
    shown = ""
    while "program.py" not in shown:
        shown += os.read(ours, 65536).decode(errors="replace")
    os.close(ours)
    try:
        assert process.wait(timeout=ENDS_S) == 129
        left = [line for line in going.left() if "agent.worker" not in line]
    finally:
        process.kill()
        for place in Path("/proc").glob("[0-9]*"):
            if going.mark in read(place / "environ"):
                with suppress(ProcessLookupError):
                    os.kill(int(place.name), signal.SIGTERM)
    assert not left or words == ("chat",)


@pytest.mark.skipif(not shutil.which("setsid"), reason="no setsid")
def test_a_program_that_hides_in_a_session_of_its_own_is_ended(begin: Begin, tmp_path: Path) -> None:
    hider = tmp_path / "hider.sh"
    hider.write_text("#!/bin/sh\ntrap '' HUP INT TERM\nsetsid sleep 86398 &\nsleep 86397\n")
    hider.chmod(0o755)
    going = begin((COMMAND, "diagnose", "./hider.sh"))
    until(lambda: going.alive("sleep 86398") and going.alive("sleep 86397"), going)
    ends(going, signal.SIGTERM, whole_group=False)


@root
def test_what_a_signal_means_to_a_program_under_a_quota_is_its_own_affair(begin: Begin, tmp_path: Path) -> None:
    (tmp_path / "own.sh").write_text("trap 'exit 7' INT\necho on\nwhile :; do sleep 0.01; done\n")
    going = begin((COMMAND, "machine", "run", "--quota", "50%", "--", "sh", "own.sh"))
    assert going.process.stdout and going.process.stdout.readline() == "on\n"
    os.killpg(going.process.pid, signal.SIGINT)
    assert going.process.wait(timeout=60) == 7
    going.nothing_left()
