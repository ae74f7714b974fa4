"""tools/setup: it names what is missing, and installs nothing that it was not asked for."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PROJECT = Path(__file__).resolve().parents[3]
NOBODY = 65534

ONLY_FOR_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root installs")


@pytest.fixture
def project() -> Iterator[Path]:
    """Yield a folder that any account can read, with the tool and programs of a bare Debian."""
    folder = Path(tempfile.mkdtemp(prefix="fencepost-setup-"))
    folder.chmod(0o755)
    (folder / "tools").mkdir()
    (folder / "python_client").mkdir()
    (folder / "bin").mkdir()
    shutil.copy(PROJECT / "tools" / "setup", folder / "tools")
    shutil.copy(PROJECT / "python_client" / "pyproject.toml", folder / "python_client")
    program(folder, "dpkg-query", "exit 1")
    program(folder, "apt-get", f"echo apt-get $* >>{folder}/calls; [[ $1 != install ]]")
    program(folder, "apt-cache", "echo offered")
    yield folder
    shutil.rmtree(folder)


def program(folder: Path, name: str, body: str) -> None:
    file = folder / "bin" / name
    file.write_text(f"#!/bin/bash\n{body}\n")
    file.chmod(0o755)


@pytest.fixture
def setup(project: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    def run(*, as_root: bool) -> subprocess.CompletedProcess[str]:
        change = NOBODY if os.geteuid() == 0 and not as_root else None
        return subprocess.run(
            ["/bin/bash", project / "tools" / "setup"],
            env={"PATH": f"{project}/bin:/usr/bin:/bin"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            user=change,
            group=change,
            extra_groups=None if change is None else [],
        )

    return run


def test_without_root_it_prints_one_line_for_an_administrator(
    setup: Callable[..., subprocess.CompletedProcess[str]], project: Path
) -> None:
    ended = setup(as_root=False)

    assert ended.returncode == 69
    last = ended.stderr.splitlines()[-1]
    assert last.startswith("apt-get update && apt-get install -y --no-install-recommends sqitch ")
    assert "postgresql-15-pgtap" in last
    assert not (project / "calls").exists()
    assert not (project / ".venv").exists()


@ONLY_FOR_ROOT
def test_as_root_it_names_what_is_missing_and_then_installs_it(
    setup: Callable[..., subprocess.CompletedProcess[str]], project: Path
) -> None:
    ended = setup(as_root=True)

    assert ended.returncode == 69  # the false apt-get installs nothing, and says so
    assert "these packages are missing: sqitch libdbd-pg-perl postgresql-15 " in ended.stderr
    update, install = (project / "calls").read_text().splitlines()
    assert update.startswith("apt-get update")
    assert install.startswith("apt-get install -y ")
    assert "postgresql-15-plpgsql-check" in install


@ONLY_FOR_ROOT
def test_where_15_is_not_offered_it_names_where_it_comes_from(
    setup: Callable[..., subprocess.CompletedProcess[str]], project: Path
) -> None:
    program(project, "apt-cache", "[[ $2 == postgresql-15* ]] || echo offered")

    ended = setup(as_root=True)

    assert ended.returncode == 69
    assert "postgresql-15 is not offered" in ended.stderr
    assert "apt.postgresql.org.sh" in ended.stderr
    assert "install" not in (project / "calls").read_text()


def test_with_nothing_to_do_it_is_silent() -> None:
    ended = subprocess.run(
        [PROJECT / "tools" / "setup"], capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
