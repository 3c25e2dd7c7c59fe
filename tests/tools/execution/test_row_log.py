"""What a killed process or a loss of power leaves of a log is read up to its first torn line."""

from __future__ import annotations

from pathlib import Path

import pytest

from vgo_agent.tools.execution.row_log import RowLog, rows_in


@pytest.mark.parametrize("torn", [b"", b'{"pair":', b"\0" * 64, b"\xff\xfe\n", b"[1]\n", b'\0\0\n{"pair":2}\n'])
def test_rows_before_what_is_torn_are_kept(torn: bytes, tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(b'{"pair":0}\n{"pair":1}\n' + torn)
    assert [row["pair"] for row in rows_in(path)] == [0, 1]
    log = RowLog(path)
    log.append({"pair": 7})
    log.close()
    assert path.read_bytes() == b'{"pair":0}\n{"pair":1}\n{"pair":7}\n'


def test_rows_are_dropped_wherever_they_stand_and_an_equal_one_stays(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    log = RowLog(path)
    log.append({"pair": 0}, {"pair": 1}, {"pair": 1}, {"pair": 2})
    log.drop([log.rows[0], log.rows[2]])
    log.append({"pair": 3})
    log.close()
    assert [row["pair"] for row in log.rows] == [row["pair"] for row in rows_in(path)] == [1, 2, 3]
