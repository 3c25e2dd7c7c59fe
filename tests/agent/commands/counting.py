"""Programs that count their runs, so that what they print depends on nothing else."""

from pathlib import Path


def program(folder: Path, text: str) -> list[str]:
    """Write the program and its count into a folder, and give the command."""
    path = folder / "program.sh"
    path.write_text(text)
    path.chmod(0o755)
    (folder / "count").write_text("0\n")
    return [str(path)]
