"""What the static tests found that is to be read at the end of a run."""

from __future__ import annotations

import pytest

# The requirements that are not shown yet, as test_requirements.py finds them.
STILL_OPEN = pytest.StashKey[list[str]]()


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Say which requirements are open, where the test that reads them ran."""
    still_open = config.stash.get(STILL_OPEN, [])
    if still_open:
        terminalreporter.section(f"{len(still_open)} requirements are open")
        for line in still_open:
            terminalreporter.write_line(line)
