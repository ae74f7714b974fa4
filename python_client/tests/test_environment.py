"""What a command gets to see of the environment."""

from __future__ import annotations

import stat
from pathlib import Path

from fencepost.environment import scrubbed

SOURCE = {
    "PATH": "/usr/bin",
    "HOME": "/home/me",
    "LANG": "de_DE.UTF-8",
    "LC_TIME": "C",
    "PGPASSFILE": "/secret",
    "PGSERVICE": "x",
    "PGHOST": "x",
    "DATABASE_URL": "postgresql://x:y@z/",
    "AWS_SECRET_ACCESS_KEY": "x",
    "GITHUB_TOKEN": "x",
    "SSH_AUTH_SOCK": "/run/x",
    "GIT_DIR": "/x",
    "GIT_SSH_COMMAND": "x",
    "LD_PRELOAD": "x",
    "PYTHONPATH": "/x",
    "XDG_CONFIG_HOME": "/home/me/.config",
    "FENCEPOST_GIT_CONFIG": "/x",
    "MY_KEY": "1",
}


def test_only_what_is_listed_is_passed(tmp_path: Path) -> None:
    found = scrubbed(tmp_path, source=SOURCE)
    passed = {name for name in found if name in SOURCE and found[name] == SOURCE[name]}
    assert passed == {"PATH", "LANG", "LC_TIME"}
    assert not [name for name in found if name.startswith("PG")]
    assert not {"DATABASE_URL", "GITHUB_TOKEN", "SSH_AUTH_SOCK", "GIT_DIR", "MY_KEY"} & found.keys()


def test_home_and_the_other_folders_are_fresh_and_private(tmp_path: Path) -> None:
    found = scrubbed(tmp_path, source=SOURCE)
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR", "TMPDIR"):
        folder = Path(found[name])
        assert folder.is_relative_to(tmp_path)
        assert stat.S_IMODE(folder.stat().st_mode) & 0o077 == 0 or folder.parent != tmp_path


def test_a_named_variable_is_passed_if_it_is_set(tmp_path: Path) -> None:
    found = scrubbed(tmp_path, also=["MY_KEY", "NOT_SET", "HOME"], source=SOURCE)
    assert found["MY_KEY"] == "1"
    assert found["HOME"] == "/home/me"
    assert "NOT_SET" not in found


def test_there_is_always_a_path(tmp_path: Path) -> None:
    assert scrubbed(tmp_path, source={})["PATH"]
