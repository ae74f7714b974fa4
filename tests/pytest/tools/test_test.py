"""tools/test: it counts what ran, and nothing run is no success."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

PROJECT = Path(__file__).resolve().parents[3]


@pytest.fixture
def run(tmp_path: Path, major: int) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Return a function that runs tools/test on this major, with files given as keywords."""

    def run_tool(*options: str, **files: str) -> subprocess.CompletedProcess[str]:
        for name, text in files.items():
            (tmp_path / name.replace("__", ".")).write_text(text)
        arguments = [option.replace("HERE", str(tmp_path)) for option in options]
        return subprocess.run(
            [sys.executable, PROJECT / "tools" / "test", "--major", str(major), *arguments],
            capture_output=True,
            text=True,
            check=False,
        )

    return run_tool


ONE_PGTAP = "select plan(2); select pass(); select ok(true, 'so it is'); select finish();\n"


def test_it_counts_files_assertions_and_tests(
    run: Callable[..., subprocess.CompletedProcess[str]], major: int
) -> None:
    ended = run("--pgtap", "HERE", "--pytest", "-q", "HERE", one__sql=ONE_PGTAP, **PYTHON)

    last = ended.stdout.splitlines()[-1]
    assert re.fullmatch(rf"PostgreSQL {major}\.\d+: 1 pgTAP files, 2 assertions, 3 pytest", last)
    assert ended.returncode == 0, ended.stdout + ended.stderr


PYTHON = {
    "test_three__py": (
        "import pytest\n\n"
        "@pytest.mark.parametrize('n', [1, 2, 3])\n"
        "def test_it(n): pass\n\n"
        "@pytest.mark.skip\n"
        "def test_not(): pass\n"
    )
}


@pytest.mark.parametrize(
    ("options", "files", "complaint"),
    [
        (["--pgtap", "HERE"], {}, "no pgTAP test ran"),
        (["--pgtap", "HERE"], {"one__sql": "select plan(2); select pass();\n"}, "pgTAP"),
        (["--pgtap", "HERE"], {"one__sql": "select plan(1); select fail();\n"}, "pgTAP"),
        (["--pytest", "HERE"], {}, "pytest"),
        (
            ["--pytest", "HERE"],
            {"test_no__py": "import pytest\n@pytest.mark.skip\ndef test_no(): pass\n"},
            "no pytest test ran",
        ),
        (["--pytest", "HERE"], {"test_no__py": "def test_no(): assert False\n"}, "pytest"),
    ],
)
def test_nothing_run_and_something_failed_are_failures(
    run: Callable[..., subprocess.CompletedProcess[str]],
    options: list[str],
    files: dict[str, str],
    complaint: str,
) -> None:
    ended = run(*options, **files)

    assert ended.returncode == 1
    assert re.search(rf"^FAILED on PostgreSQL \S+: {complaint}$", ended.stdout, re.MULTILINE)


def test_a_missing_major_is_a_failure(
    run: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    if Path("/usr/lib/postgresql/16/bin/postgres").exists():
        pytest.skip("PostgreSQL 16 is installed here")

    ended = run("--major", "16", "--pgtap", "HERE", one__sql=ONE_PGTAP)

    assert ended.returncode == 1
    last = ended.stdout.splitlines()[-1]
    assert last == "PostgreSQL 16.?: 0 pgTAP files, 0 assertions, 0 pytest"


def test_pgtap_is_out_of_other_sessions_sight(
    run: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    ended = run(
        "--pgtap",
        "HERE",
        one__sql="""
            select plan(2);
            select is(current_setting('search_path'), 'tap,public', 'the session looks into tap');
            select is(
                (select nspname::text from pg_namespace as n join pg_extension as e
                     on e.extnamespace = n.oid where e.extname = 'pgtap'),
                'tap',
                'pgTAP is in a schema of its own'
            );
            select finish();
        """,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_outside_a_cluster_a_test_says_what_it_needs(tmp_path: Path) -> None:
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PG", "FENCEPOST"))}

    ended = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-c", "python_client/pyproject.toml"),
            *("-p", "no:cacheprovider", "tests/pytest/tools/test_principal.py"),
        ],
        cwd=PROJECT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert ended.returncode == 1
    assert "this test needs a server: run `make test-pytest`" in ended.stdout
