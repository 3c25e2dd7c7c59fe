"""What is wrong with a command is said before the first run, with the cure."""

from pathlib import Path

import pytest

from vgo_agent.knowledge.errors import VgoError
from vgo_agent.tools.execution.launch import Launch, resolve
from vgo_agent.tools.execution.spawn import Spawner


def script(path: Path, text: str, mode: int = 0o755) -> Path:
    path.write_bytes(text.encode())
    path.chmod(mode)
    return path


def test_a_name_is_looked_up_on_path():
    program, *rest = resolve(["true", "a", "b c"])
    assert program.startswith("/") and program.endswith("/true")
    assert rest == ["a", "b c"]


def test_a_relative_path_becomes_absolute(tmp_path, monkeypatch):
    script(tmp_path / "bench.sh", "#!/bin/sh\n")
    monkeypatch.chdir(tmp_path)
    assert resolve(["./bench.sh"]) == (str(tmp_path / "bench.sh"),)


def test_a_link_is_not_followed_because_the_name_may_choose_the_program(tmp_path):
    (tmp_path / "applet").symlink_to("/bin/sh")
    assert resolve([str(tmp_path / "applet")]) == (str(tmp_path / "applet"),)


def test_a_shell_line_is_given_to_sh_as_one_word():
    assert resolve(["sort -u f | wc -l"], shell=True) == ("/bin/sh", "-c", "sort -u f | wc -l")


@pytest.mark.parametrize("argv", [[], [""]])
def test_no_command_is_refused(argv):
    with pytest.raises(VgoError, match="No command"):
        resolve(argv)


def test_a_program_in_this_directory_is_proposed_with_its_path(tmp_path, monkeypatch):
    script(tmp_path / "bench.sh", "#!/bin/sh\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(VgoError, match=r"did you mean \./bench\.sh\?"):
        resolve(["bench.sh"])


def test_a_plain_file_in_this_directory_is_proposed_with_chmod(tmp_path, monkeypatch):
    script(tmp_path / "bench.sh", "#!/bin/sh\n", mode=0o644)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(VgoError, match=r"chmod \+x bench\.sh, then \./bench\.sh"):
        resolve(["bench.sh"])


def test_a_whole_command_in_quotes_is_recognised():
    with pytest.raises(VgoError, match="leave the quotes away or ask for a shell"):
        resolve(["./bench.sh 3"])


def test_an_unknown_command_is_named():
    with pytest.raises(VgoError, match="no-such-command-anywhere is not on PATH: install it"):
        resolve(["no-such-command-anywhere"])


def test_a_missing_path_is_named():
    with pytest.raises(VgoError, match="no program /nowhere/bench"):
        resolve(["/nowhere/bench"])


def test_a_directory_is_refused(tmp_path):
    with pytest.raises(VgoError, match="is a directory"):
        resolve([str(tmp_path)])


def test_a_file_that_is_not_executable_is_refused_with_chmod(tmp_path):
    file = script(tmp_path / "bench.sh", "#!/bin/sh\n", mode=0o644)
    with pytest.raises(VgoError, match=r"chmod \+x"):
        resolve([str(file)])


def test_a_script_without_an_interpreter_line_is_refused(tmp_path):
    with pytest.raises(VgoError, match="put `#!/bin/sh`"):
        resolve([str(script(tmp_path / "bench.sh", "echo hi\n"))])


@pytest.mark.parametrize("line", ["#!/no/such/python -u\n", "#!\n", "#!  "])
def test_a_script_whose_interpreter_is_missing_is_refused(tmp_path, line):
    with pytest.raises(VgoError, match="interpreter"):
        resolve([str(script(tmp_path / "bench.sh", line))])


def test_windows_line_ends_are_named(tmp_path):
    with pytest.raises(VgoError, match="Windows line ends"):
        resolve([str(script(tmp_path / "bench.sh", "#!/bin/sh\r\necho hi\r\n"))])


def test_what_only_the_kernel_finds_out_is_a_sentence_too(tmp_path):
    foreign = tmp_path / "foreign"
    foreign.write_bytes(b"\x7fELF" + bytes(60))
    foreign.chmod(0o755)
    with Spawner() as spawner, pytest.raises(VgoError, match="neither a binary for this machine"):
        spawner.run(Launch(resolve([str(foreign)])))


def test_a_program_that_went_away_after_it_was_found_is_a_sentence(tmp_path):
    program = script(tmp_path / "bench.sh", "#!/bin/sh\n")
    argv = resolve([str(program)])
    program.unlink()
    with Spawner() as spawner, pytest.raises(VgoError, match=r"bench\.sh cannot be started"):
        spawner.run(Launch(argv))


def test_too_long_an_argument_is_a_sentence():
    with Spawner() as spawner, pytest.raises(VgoError, match="too many arguments"):
        spawner.run(Launch(("/bin/true", "x" * (1 << 22))))
