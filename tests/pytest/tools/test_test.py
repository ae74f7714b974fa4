"""tools/test: it counts what ran, and nothing run is no success."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from typing import Any

import pytest

PROJECT = Path(__file__).resolve().parents[3]
TOOL = PROJECT / "tools" / "test"

ONE_PGTAP = """
select plan(3);
select pass();
select is(current_setting('search_path'), 'tap,public', 'the session looks into tap');
select is(e.extnamespace::regnamespace::text, 'tap', 'pgTAP is in a schema of its own')
from pg_extension as e where e.extname = 'pgtap';
select finish();
"""

ONE_PYTEST = """
import pytest

@pytest.mark.parametrize("n", [1, 2, 3])
def test_it(n): pass

@pytest.mark.skip
def test_not(): pass
"""

SKIPPED = "import pytest\n@pytest.mark.skip\ndef test_no(): pass\n"


@pytest.fixture(scope="module")
def tool() -> Any:
    """Return tools/test as a module; its name has no ending that Python knows."""
    specification = spec_from_loader("tools_test", SourceFileLoader("tools_test", str(TOOL)))
    assert specification is not None
    assert specification.loader is not None
    module = module_from_spec(specification)
    sys.modules["tools_test"] = module
    specification.loader.exec_module(module)
    return module


@pytest.fixture(autouse=True)
def in_project(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(PROJECT)


def test_it_counts_files_and_assertions(tool: Any, empty_database: str, tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "one.sql").write_text(ONE_PGTAP)
    (tmp_path / "below" / "two.sql").write_text(ONE_PGTAP)
    (tmp_path / "fixture.psql").write_text("no test\n")
    result = tool.Result("15.18", pytest=7)

    tool.prove(empty_database, [str(tmp_path)], result)

    assert str(result) == "PostgreSQL 15.18: 2 pgTAP files, 6 assertions, 7 pytest"
    assert result.complaints == []


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (None, "no pgTAP test ran"),
        ("select plan(2); select pass();\n", "pgTAP"),
        ("select plan(1); select fail();\n", "pgTAP"),
        ("select plan(1); select pass(); select 1 / 0;\n", "pgTAP"),
    ],
)
def test_pgtap_that_fails_or_does_not_run_is_a_failure(
    tool: Any, empty_database: str, tmp_path: Path, text: str | None, complaint: str
) -> None:
    if text is not None:
        (tmp_path / "one.sql").write_text(text)
    result = tool.Result("15.18")

    tool.prove(empty_database, [str(tmp_path)], result)

    assert result.complaints == [complaint]


def test_it_counts_the_pytests_that_ran(tool: Any, tmp_path: Path) -> None:
    (tmp_path / "test_three.py").write_text(ONE_PYTEST)
    result = tool.Result("15.18", 1, 2)

    tool.run_pytest(["-q", str(tmp_path / "test_three.py")], result)

    assert str(result) == "PostgreSQL 15.18: 1 pgTAP files, 2 assertions, 3 pytest"
    assert result.complaints == []


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "pytest"),
        ("def test_no(): assert False\n", "pytest"),
        (SKIPPED, "no pytest test ran"),
    ],
)
def test_pytest_that_fails_or_does_not_run_is_a_failure(
    tool: Any, tmp_path: Path, text: str, complaint: str
) -> None:
    (tmp_path / "test_one.py").write_text(text)
    result = tool.Result("15.18")

    tool.run_pytest(["-q", str(tmp_path / "test_one.py")], result)

    assert result.complaints == [complaint]


def test_a_missing_major_is_a_failure() -> None:
    if Path("/usr/lib/postgresql/16/bin/postgres").exists():
        pytest.skip("PostgreSQL 16 is installed here")

    ended = subprocess.run([TOOL, "--major", "16"], capture_output=True, text=True, check=False)

    assert ended.returncode == 1
    last = ended.stdout.splitlines()[-1]
    assert last == "PostgreSQL 16.?: 0 pgTAP files, 0 assertions, 0 pytest"


def test_outside_a_cluster_a_test_says_what_it_needs() -> None:
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PG", "FENCEPOST"))}

    ended = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-c", "python_client/pyproject.toml"),
            *("-p", "no:cacheprovider", "tests/pytest/tools/test_principal.py"),
        ],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert ended.returncode == 1
    assert "this test needs a server: run `make test-pytest`" in ended.stdout
