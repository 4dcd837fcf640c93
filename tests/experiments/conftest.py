"""What tests of the command line share."""

from collections.abc import Callable
from pathlib import Path

import pytest

from experiments.cli import main


@pytest.fixture
def refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., str]:
    """Run a command in `tmp_path` that must end with status 2, say why in one line and write nothing."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> str:
        before = sorted(tmp_path.iterdir())
        assert main(list(arguments)) == 2
        error = capsys.readouterr().err.strip()
        assert error.startswith("selforg: ") and "\n" not in error
        assert sorted(tmp_path.iterdir()) == before
        return error

    return run
