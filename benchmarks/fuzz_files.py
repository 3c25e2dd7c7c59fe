"""Files that a user may name by mistake, for `fuzz.py`: whatever a table, a space or a run folder can look like."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import random
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

ROWS = 60
CHANGING = "changing.csv"
"""Is written anew all the while that a command reads it."""
FORBIDDEN = "forbidden.csv"

Make = Callable[[random.Random, int], str]

_VALUES: dict[str, Make] = {
    "good": lambda draw, _: f"{draw.gauss(10, 1):.6f}",
    "two_modes": lambda draw, _: f"{draw.gauss(10, 0.2) + 3 * (draw.random() < 0.2):.6f}",
    "outlier": lambda draw, row: "54321" if row == 7 else f"{draw.gauss(10, 1):.6f}",
    "nan": lambda *_: "nan",
    "infinite": lambda draw, _: draw.choice(["inf", "-inf", "1.5", "2.5"]),
    "some_infinite": lambda draw, row: "inf" if row % 20 == 0 else f"{draw.gauss(10, 1):.6f}",
    "largest": lambda draw, _: draw.choice(["1e308", "-1e308", "1e307", "1"]),
    "too_large": lambda draw, _: draw.choice(["1e309", "1e308", "17"]),
    "e200": lambda draw, _: f"{draw.gauss(10, 1)}e200",
    "denormal": lambda draw, _: f"{draw.gauss(10, 1)}e-310",
    "tiny": lambda draw, _: f"{draw.gauss(10, 1)}e-200",
    "constant": lambda *_: "4.2",
    "zero": lambda *_: "0",
    "negative": lambda draw, _: f"{-draw.gauss(10, 1):.6f}",
    "around_zero": lambda draw, _: f"{draw.gauss(0, 1):.6f}",
    "whole": lambda draw, _: str(draw.randrange(10**18, 10**25)),
    "mixed": lambda draw, _: draw.choice(["1.5", "fast", "2 ms", "", "0x10", "true", "1,5"]),
    "dates": lambda draw, _: f"2025-0{draw.randint(1, 9)}-11 10:00:0{draw.randint(0, 9)}",
    "two_values": lambda draw, _: draw.choice(["1", "2"]),
    "empty_cells": lambda draw, row: "" if row % 3 else "1.25",
}
COLUMNS = ("time_s", "count", "run", "arm", "host", "note", "right")


def table(draw: random.Random, value: Make, rows: int = ROWS) -> str:
    """Make a table whose first column is hostile, and whose others are not."""
    lines = [",".join(COLUMNS)]
    for row in range(rows):
        arm, host = ("before", "after")[row % 2], f"h{row % 3}"
        note = draw.choice(["x", "y"])
        lines.append(f"{value(draw, row)},{draw.randrange(1000)},{row // 2},{arm},{host},{note},{draw.random():.3f}")
    return "\n".join(lines) + "\n"


def make(folder: Path) -> None:
    """Write them all."""
    draw = random.Random(1)
    folder.mkdir(parents=True)
    for name, value in _VALUES.items():
        (folder / f"{name}.csv").write_text(table(draw, value))
    (folder / CHANGING).write_text(table(draw, _VALUES["good"]))
    for name, text in _texts(draw).items():
        (folder / name).write_text(text)
    for name, content in _bytes(draw).items():
        (folder / name).write_bytes(content)
    (folder / "loop.csv").symlink_to("loop.csv")
    (folder / "dangling.csv").symlink_to("nowhere.csv")
    os.mkfifo(folder / "fifo.csv")
    os.mkfifo(folder / "fifo.yaml")
    (folder / "folder.csv").mkdir()
    (folder / FORBIDDEN).write_text(table(draw, _VALUES["good"]))
    (folder / FORBIDDEN).chmod(0)
    (folder / "program.sh").write_text("#!/bin/sh\necho time 1e308\n")
    (folder / "program.sh").chmod(0o755)


def _texts(draw: random.Random) -> dict[str, str]:
    good = table(draw, _VALUES["good"])
    head, _, body = good.partition("\n")
    return {
        "empty.csv": "",
        "blank.csv": "\n\n \n",
        "header.csv": head + "\n",
        "one_row.csv": table(draw, _VALUES["good"], 1),
        "two_rows.csv": table(draw, _VALUES["good"], 2),
        "one_column.csv": "time_s\n" + "".join(f"{draw.gauss(10, 1)}\n" for _ in range(ROWS)),
        "same_names.csv": "time_s,time_s,,\n" + "".join(f"{draw.random()},2,3,4\n" for _ in range(ROWS)),
        "no_header.csv": body,
        "ragged.csv": good.replace("before", "be,fore", 5),
        "quote.csv": good.replace("before", '"before', 1),
        "odd_names.csv": good.replace("time_s,count", '"=cmd()","Größe in µs 🙂"', 1),
        "our_names.csv": good.replace("time_s,count,run,arm,host", "outcome,order,condition,pair,ok", 1),
        "wide.csv": ",".join(f"c{at}" for at in range(2000)) + "\n" + "\n".join([",".join("1" * 2000)] * 3) + "\n",
        "semicolons.csv": good.replace(",", ";").replace(".", ","),
        "tabs.tsv": good.replace(",", "\t"),
        "crlf.csv": good.replace("\n", "\r\n"),
        "deep.json": "[" * 100_000,
        "deep.yaml": "[" * 5_000,
        "nan.json": '{"results": [{"command": "x", "times": [NaN, Infinity, 1e999, 1]}]}',
        "hyperfine.json": json.dumps({"results": [{"command": "x", "times": [1e308, -1e308, 3.0]}]}),
        "google.json": json.dumps({"context": {}, "benchmarks": [{"name": "a", "real_time": 1e308, "run_type": 1}]}),
        "odd.json": '{"results": {"command": 3}, "benchmarks": [[]], "context": null}',
        "number.json": "12345678901234567890123",
        "laughs.yaml": _laughs(),
        "tag.yaml": "!!python/object/apply:os.system ['true']\n",
        "number.yaml": "12345678901234567890123\n",
        "list.yaml": "- 1\n- {a: b}\n",
        "keys.yaml": "1: 2\n[a, b]: c\nnull: null\n",
        "space.yaml": "command: [/bin/true]\nparameters: {n: {levels: [1, .inf]}, '': {range: {low: 9, high: 1}}}\n",
        "huge_space.yaml": "parameters:\n  a: {range: {low: 0, high: 1e300, integer: true, steps: 99999999999999}}\n",
        "layer.yaml": "name: mine\ncolumns: {x: {unit: s}}\nprobe: nothing\n",
        "mapping.yaml": "columns:\n- {name: time_s, unit: s, role: outcome}\n- {name: nowhere, most_us: .inf}\n",
        "cluster.yaml": "cluster: nothing\nscheduler: 5\n",
        "key.yaml": "key: mine\nname: Mine\nfactors: 3\nscope: all\n",
    }


def _laughs() -> str:
    """Make a short file of a billion words."""
    names = "abcdefghi"
    pairs = zip(names[1:], names, strict=False)
    return "a: &a [x, x]\n" + "".join(f"{one}: &{one} [{', '.join([f'*{before}'] * 9)}]\n" for one, before in pairs)


def _bytes(draw: random.Random) -> dict[str, bytes]:
    good = table(draw, _VALUES["good"]).encode()
    return {
        "binary.csv": draw.randbytes(20_000),
        "nul.csv": good.replace(b"before", b"be\0fore"),
        "nul_late.csv": good + b"1,1,1,a,b,c,d\n" * 100_000 + b"\0\0\0\n",
        "long_line.csv": good + b"x" * 10_000_000 + b"\n",
        "long_header.csv": b"y" * 10_000_000 + b"\n1\n",
        "latin.csv": good.replace(b"before", b"bef\xf6re"),
        "utf16.csv": good.decode().encode("utf-16"),
        "bom.csv": b"\xef\xbb\xbf" + good,
        "zipped.csv.gz": gzip.compress(good),
        "cut.csv.gz": gzip.compress(good)[:200],
        "broken.parquet": b"PAR1" + draw.randbytes(500) + b"PAR1",
        "model.gguf": b"GGUF" + draw.randbytes(5_000),
        "binary.yaml": draw.randbytes(2_000),
        "perf.txt": b"1.0;;cycles;1e999;;\n<not counted>;;x\n",
    }


def runs(good: Path, folder: Path) -> list[str]:
    """Damage copies of a run folder: each file cut, emptied, changed, replaced by a folder, or away."""
    draw = random.Random(2)
    folder.mkdir(parents=True)
    names = [path.name for path in sorted(good.iterdir()) if path.is_file()]
    for name in names:
        for kind, damage in _DAMAGES.items():
            copy = folder / f"{kind}-{name}"
            shutil.copytree(good, copy)
            damage(copy / name, draw)
    return sorted(path.name for path in folder.iterdir())


def _cut(path: Path, draw: random.Random) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: draw.randrange(len(content) or 1)])


def _change(path: Path, draw: random.Random) -> None:
    content = bytearray(path.read_bytes() or b"x")
    for _ in range(3):
        content[draw.randrange(len(content))] = draw.randrange(256)
    path.write_bytes(bytes(content))


def _empty(path: Path, _: random.Random) -> None:
    path.write_bytes(b"")


def _folder(path: Path, _: random.Random) -> None:
    path.unlink()
    path.mkdir()


_DAMAGES: dict[str, Callable[[Path, random.Random], None]] = {
    "cut": _cut,
    "changed": _change,
    "empty": _empty,
    "folder": _folder,
    "away": lambda path, _: path.unlink(),
}


@contextlib.contextmanager
def changing(path: Path) -> Iterator[None]:
    """Write a file anew all the while, each time with other columns, half of it, or nothing."""
    whole = path.read_bytes()
    child = os.fork()
    if child == 0:
        contents = (whole, whole[: len(whole) // 2], b"", whole.replace(b"count", b"other"), whole * 200)
        with contextlib.suppress(OSError):
            while os.getppid() != 1:
                for content in contents:
                    path.write_bytes(content)
                    time.sleep(0.002)
        os._exit(0)
    try:
        yield
    finally:
        with contextlib.suppress(ProcessLookupError, ChildProcessError):  # ended with all that a case left
            os.kill(child, 9)
            os.waitpid(child, 0)
        path.write_bytes(whole)
