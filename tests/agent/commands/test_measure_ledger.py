"""`vgo-agent measure --ledger` says in milliseconds what slow runs wait for."""

import errno
import json
import re
from collections import defaultdict
from pathlib import Path

import pytest

from tests.layers.test_region import compiled
from vgo_agent.agent.cli import main
from vgo_agent.layers.loader import find_layer, open_probe

SLOW_SERVER = """
import os, socket, sys, time
with open("count", "a+") as file:
    file.write("x")
    file.flush()
    place = file.tell()
asks, answers = socket.socketpair()
if os.fork() == 0:
    answers.recv(1)
    time.sleep(0.3 if place % 3 == 0 else 0.001)
    answers.send(b"x")
    os._exit(0)
start = time.perf_counter()
sum(range(10**5))
asks.send(b"x")
asks.recv(1)
print("time_ms:", 1e3 * (time.perf_counter() - start))
sys.stdout.flush()
os.wait()
"""
SOMETIMES_SLEEPS = """
import os, time
with open("count", "a+") as file:
    file.write("x")
    file.flush()
    place = file.tell()
start = time.perf_counter()
sum(range(10**5))
if place % 3 == 0:
    time.sleep(0.3)
print("time_ms:", 1e3 * (time.perf_counter() - start))
"""

COMPUTES = """
import hashlib, time, zlib
with open("count", "a+") as file:
    file.write("x")
    file.flush()
    place = file.tell()
data = bytes(range(256)) * 4000
start = time.perf_counter()
for _ in range({rounds}):
    hashlib.sha256(data).digest()
{more}
print("time_ms:", 1e3 * (time.perf_counter() - start))
"""


@pytest.fixture
def stacks():
    probe = open_probe(find_layer("stacks"))
    why = probe.absent().get("stacks.on_cpu_ms")
    probe.close()
    if why:
        pytest.skip(why)


def test_a_program_that_sleeps_now_and_then_is_told_so(vgo, script, stacks) -> None:
    program = script("sleeps", SOMETIMES_SLEEPS)
    done = vgo(
        "measure", "--ledger", "--runs", "30", "--metric", "time_ms: ([0-9.]+)", "--unit", "ms", "--json", str(program)
    )
    assert done.returncode == 0, done.stderr
    ledger = json.loads(done.stdout)["ledger"]
    assert not ledger["whole"] and ledger["sums"]["hold"]
    shares = ledger["net"] or ledger["shares"]  # on a busy machine waiting for a CPU may vary more
    state = next(one for one in shares["states"] if one["state"] == "sleep")
    assert state["gap_ms"] > 100 and state["share"] > 0.3
    cause = next(one for one in ledger["causes"] if one["state"] == "sleep")
    assert "nanosleep" in cause["what"] and cause["episodes_slow"] > cause["episodes_fast"]
    asked = vgo("ask", json.loads(done.stdout)["run_dir"], "where did the time go?")
    said = " ".join(asked.stdout.split())
    assert asked.returncode == 0 and "asleep by a timer" in said and "clock_nanosleep" in said


@pytest.mark.slow
def test_code_that_slow_runs_alone_execute_is_named(vgo, script, stacks) -> None:
    compresses = "for _ in range(15 * (place % 3 == 0)): zlib.compress(data, 9)"
    ledger, shown = computing(vgo, script("other", COMPUTES.format(rounds=20, more=compresses)))
    found = ledger["on_cpu"]
    assert "libz" in found["functions"][0]["function"] or "zlib" in found["functions"][0]["function"]
    others = [one["share"] for one in ledger["shares"]["states"] if one["state"] == "queue_others"]
    if ledger["net"] or sum(others) < 0.1:  # else waiting behind others makes some of the slow runs slow
        assert found["reading"] == "other code" and shown.count("Slow runs execute") == 2 and "other work" in shown


@pytest.mark.slow
def test_other_code_is_said_only_where_it_was_found(vgo, script, stacks) -> None:
    ledger, shown = computing(vgo, script("alike", COMPUTES.format(rounds="30 + 5 * (place * 7 % 11)", more="")))
    found = ledger.get("on_cpu") or {"reading": "", "p_value": 1.0}
    assert found["reading"] == "other code" or "hardly do" not in shown
    assert found["p_value"] <= 0.05 or not found.get("functions"), "what may be luck names no function"


def computing(vgo, program: Path):
    """The ledger of a few runs, and what its page and an answer say."""
    words = ("--runs", "15", "--metric", "time_ms: ([0-9.]+)", "--unit", "ms", "--json")
    done = vgo("measure", "--ledger", "--runs", "30", *words, str(program))
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    saved = vgo("analyze", answer["run_dir"], "--read-only", "--save", "page.html")
    assert saved.returncode == 0, saved.stderr
    asked = vgo("ask", answer["run_dir"], "where did the time go?")
    assert asked.returncode == 0, asked.stderr
    return answer["ledger"], f"{(program.parent / 'page.html').read_text()} {' '.join(asked.stdout.split())}"


CALLS = """
#include <stdio.h>
#include <sys/prctl.h>
#include <time.h>
__attribute__((noinline)) void work(void) { for (volatile int i = 0; i < 2000000; i++); }
static double ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e3 * now.tv_sec + now.tv_nsec / 1e6;
}
int main(void) {
    FILE *file = fopen("count", "a");
    fputc('x', file);
    int calls = ftell(file) % 3 ? 10 : 30;
    fclose(file);
    prctl(PR_SET_NAME, "vgo:begin");
    double start = ms();
    while (calls--) work();
    double took = ms() - start;
    prctl(PR_SET_NAME, "vgo:end");
    printf("time_ms: %f\\n", took);
    return 0;
}
"""


def test_more_calls_of_a_function_are_told_to_be_more_work(vgo, tmp_path, stacks) -> None:
    program = compiled(tmp_path, CALLS)
    words = ("--metric", "time_ms: ([0-9.]+)", "--unit", "ms", "--runs", "15")
    done = vgo("measure", "--ledger", "--layer", f"calls:function=work,binary={program}", *words, "--json", program)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    left_out = sum(row.get("stacks.region") == "run: too many readings" for row in answer["rows"])
    assert left_out <= 1, "where calls are counted is not where the clock is watched"
    found = answer["ledger"]["on_cpu"]
    (calls,) = found["calls"]
    assert calls["function"] == "work" and 10 <= calls["fast"] < calls["slow"] <= 30 and calls["more"]
    assert "to_count" not in found


@pytest.mark.slow
def test_the_terminal_says_it_in_a_sentence_and_a_table(vgo, tmp_path, script, stacks) -> None:
    done = vgo("measure", "--ledger", "--layer", "stacks:ring_mib=16", str(script("sleeps", SOMETIMES_SLEEPS)))
    assert done.returncode == 0, done.stderr
    assert "Where the milliseconds went" in done.stdout and "asleep by a timer" in done.stdout
    assert "Split is the whole run, of " in done.stdout and "--read-only --save trace.json" in done.stdout
    analysed = vgo("analyze", next((tmp_path / "vgo-runs").iterdir()))
    assert "Where the milliseconds went" in analysed.stdout and "asleep by a timer" in analysed.stdout


def test_where_no_column_explains_runs_their_ledger_stands_beside_the_verdict(vgo, tmp_path) -> None:
    head = (
        "order,condition,pair,ok,exit_code,survivors,outcome,wall_s,layers,failure,ledger.on_cpu_ms,ledger.blocked_ms"
    )
    slow = [20 * (place % 3 == 0) + place / 10 for place in range(40)]
    rows = [f"{at},baseline,-1,1,0,0,{(50 + ms) / 1e3},{(50 + ms) / 1e3},ledger,,50,{ms}" for at, ms in enumerate(slow)]
    (tmp_path / "runs.csv").write_text("\n".join([head, *rows]))
    done = vgo("analyze", "runs.csv", "--outcome", "outcome")
    said = " ".join(done.stdout.split())
    assert "CAUSE NOT VISIBLE No column could explain slow runs" in said and "Their ledger: Slow runs take" in said
    assert done.returncode == 0 and "ms blocked. " in said
    assert "Their ledger" not in vgo("analyze", "runs.csv", "--outcome", "wall_s").stdout


def test_a_table_with_a_column_of_a_ledger_or_with_half_of_its_rows_is_analysed_as_any_other(vgo, tmp_path) -> None:
    rows = [f"baseline,{place % 7},{place},{place % 5}" for place in range(40)]
    (tmp_path / "part.csv").write_text("\n".join(["condition,outcome,ledger.on_cpu_ms,x", *rows]))
    head = "order,condition,pair,ok,exit_code,survivors,outcome,wall_s,layers,failure,stacks.on_cpu_ms,stacks.region"
    rows = [f"{place},baseline,-1,1,0,0,{place % 7},.1,stacks,,," for place in range(40)]
    (tmp_path / "cut.csv").write_text("\n".join([head, *rows]))
    for name in ("part.csv", "cut.csv"):
        done = vgo("analyze", name, "--outcome", "outcome")
        assert done.stderr == "" and "Where the milliseconds went" not in done.stdout
    (tmp_path / "changed.csv").write_text("\n".join([head, *(f"{row[:-1]}5,somewhere" for row in rows)]))
    assert "column `region` of the ledger cannot be read" in vgo("analyze", "changed.csv").stderr


@pytest.mark.slow
def test_a_diagnosis_locates_the_wait_for_a_slow_server_and_tries_nothing_that_cannot_shorten_it(
    vgo, script, stacks
) -> None:
    program = script("asks", SLOW_SERVER)
    words = ("--layer", "process", "--layer", "stacks", "--metric", "time_ms: ([0-9.]+)", "--unit", "ms")
    done = vgo("diagnose", *words, "--max-runs", "60", "--allow", "none", "--budget", "900", "--json", str(program))
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    parts = answer["verdict"]["cause"]["parts"]
    located = next(part for part in parts if part["kind"] == "located" and part["state"] == "sleep")
    assert located["gap_ms"] > 100 and "waits in recvfrom" in located["what"]
    report = (Path(answer["run_dir"]) / "report.md").read_text()
    assert "Where the milliseconds went" in report and "asleep by a timer" in report


SCRIPT = """#!/bin/sh
%s
start=$(date +%%s%%N)
sleep 0.0$(od -An -N1 -tu1 /dev/urandom | tr -d " ")
end=$(date +%%s%%N)
%s
echo "took: $(((end - start) / 1000))"
"""


@pytest.mark.parametrize("marked", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_part_that_nothing_shows_is_told_with_the_line_to_put_in_and_found_with_it(
    vgo, tmp_path, stacks, marked
) -> None:
    program = tmp_path / "script.sh"
    marks = [f"echo vgo:{end} > /proc/self/comm" if marked else "" for end in ("begin", "end")]
    program.write_text(SCRIPT % tuple(marks))
    program.chmod(0o755)
    words = ("--metric", "took: ([0-9]+)", "--unit", "us", "--runs", "12")
    done = vgo("measure", "--ledger", *words, str(program))
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stdout.split())
    assert ("Split is the part of the run between its marks" in said) == marked
    assert ("Which part of a run the metric measures was not found" in said) != marked
    assert ("echo vgo:begin > /proc/self/comm" in said) != marked


def test_where_the_kernel_refuses_events_the_ledger_tells_less(script, monkeypatch, tmp_path, capsys) -> None:
    def refused(*_: object) -> int:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("vgo_agent.layers.probes.perf_ring.perf_event_open", refused)
    monkeypatch.chdir(tmp_path)
    assert main(["measure", "--ledger", "--runs", "12", "--", str(script("sleeps", SOMETIMES_SLEEPS))]) == 0
    said = capsys.readouterr().out
    assert "Where the milliseconds went" in said and "asleep by a timer" not in said
    assert "off a CPU" in said


def test_too_few_runs_for_a_ledger_are_told_before_any_is_made(vgo, script) -> None:
    done = vgo("measure", "--ledger", "--runs", "4", str(script("sleeps", SOMETIMES_SLEEPS)))
    assert (done.returncode, done.stdout) == (1, "")
    assert "--runs 4 is too few for a ledger: give at least 10." in done.stderr


@pytest.mark.slow
def test_a_slow_and_a_fast_run_become_a_trace_and_both_classes_folded_stacks(vgo, script, stacks, tmp_path) -> None:
    program = script("asks", SLOW_SERVER.replace("0.3", "0.05"))
    done = vgo(
        "measure", "--ledger", "--runs", "12", "--metric", "time_ms: ([0-9.]+)", "--unit", "ms", "--json", program
    )
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    for name in ("trace.json", "ms.folded", "page.html"):
        saved = vgo("analyze", answer["run_dir"], "--read-only", "--save", name)
        assert saved.returncode == 0 and f"Saved: {name}" in saved.stdout, saved.stderr
    is_a_trace(json.loads((tmp_path / "trace.json").read_text())["traceEvents"], sleeper="asks")
    lines = (tmp_path / "ms.folded").read_text().splitlines()
    assert any("waits in recvfrom" in line and "asleep by a timer" in line for line in lines)
    fast, slow = (sum(float(line.rsplit(" ", 2)[column]) for line in lines) for column in (1, 2))
    assert slow - fast == pytest.approx(answer["ledger"]["shares"]["gap_ms"], abs=0.2)
    page = (tmp_path / "page.html").read_text()
    assert page.count("<svg role") == 3 and "where the time went" in page and "clock_nanosleep" in page
    refused = vgo("analyze", answer["run_dir"], "--read-only", "--save", f"{answer['run_dir']}/layers.json")
    assert refused.returncode == 1 and "holds something else" in refused.stderr


def is_a_trace(events, sleeper: str) -> None:
    """Check what the format asks for, and that the path of each run adds up to its time."""
    slices, names = defaultdict(list), {}
    for event in events:
        assert {"ph", "ts", "pid", "tid", "name"} <= event.keys() and isinstance(event["ts"], int) and event["ts"] >= 0
        if event["ph"] == "X":
            assert isinstance(event["dur"], int) and event["dur"] > 0
            slices[event["pid"], event["tid"]].append(event)
        elif event["ph"] == "M":
            names[event["name"], event["pid"], event["tid"]] = event["args"]
    arrows = {end: [event for event in events if event["ph"] == end] for end in "sf"}
    assert arrows["s"] and {one["id"] for one in arrows["s"]} == {one["id"] for one in arrows["f"]}
    for process, kind in ((1, "slow"), (2, "fast")):
        said = names["process_name", process, 100 * process]["name"]
        assert re.fullmatch(rf"{kind} run \d+, [0-9.]+ ms", said)
        path, ms = slices[process, 100 * process], said.split()[-2]
        assert sum(one["dur"] for one in path) / 1e3 == pytest.approx(float(ms), rel=1e-3, abs=0.05)
        threads = [args["name"] for (name, pid, tid), args in names.items() if (name, pid) == ("thread_name", process)]
        assert threads[0] == "where the time went" and any(sleeper in one or "python" in one for one in threads[1:])
    for each in slices.values():  # nothing overlaps, so that no viewer drops a slice
        assert all(a["ts"] + a["dur"] <= b["ts"] for a, b in zip(each, each[1:], strict=False))
