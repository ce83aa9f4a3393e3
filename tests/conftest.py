"""Fixtures that every suite shares."""

import pytest

from support import SHARED, CommandResult, run_command


@pytest.fixture
def poolsplit(tmp_path):
    """Runs the real command line in an empty folder."""

    def run(*arguments: str, stdin: str | None = None, env: dict[str, str] | None = None) -> CommandResult:
        return run_command(*arguments, cwd=tmp_path, stdin=stdin, env=env)

    return run


@pytest.fixture(scope="session")
def shared():
    """The folder of facts beside the project; tests that need it are skipped where it is not."""
    if not SHARED.is_dir():
        pytest.skip("needs the facts beside the project")
    return SHARED
