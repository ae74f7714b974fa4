"""The environment that a started command gets: named variables and fresh folders, nothing else."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

PASSED = frozenset(
    {
        "COLORTERM",
        "LANG",
        "LANGUAGE",
        "LOGNAME",
        "NO_COLOR",
        "PATH",
        "SHELL",
        "TERM",
        "TZ",
        "USER",
    }
)
"""Passed on as they are, with every ``LC_*``. What is not listed is not passed."""

_FOLDERS = {
    "HOME": "home",
    "XDG_CONFIG_HOME": "home/.config",
    "XDG_CACHE_HOME": "home/.cache",
    "XDG_DATA_HOME": "home/.local/share",
    "XDG_STATE_HOME": "home/.local/state",
    "XDG_RUNTIME_DIR": "run",
    "TMPDIR": "tmp",
}


def folders(folder: Path) -> list[Path]:
    """Return the folders below *folder* that :func:`scrubbed` makes."""
    return [
        folder / name for name in sorted({place.partition("/")[0] for place in _FOLDERS.values()})
    ]


def scrubbed(
    folder: Path, *, also: Iterable[str] = (), source: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Make fresh folders below *folder* and return an environment that points to them.

    Neither ``PG*`` nor a connection string nor anything else that may be a secret is in it, unless
    *also* names it. Git finds no settings but the repository's own, and asks no questions.

    :param folder: an existing folder that nobody else may enter; holds HOME, XDG and TMPDIR.
    :param also: names of further variables to pass, as far as they are set.
    :param source: where to take them from; the process's own environment if ``None``.
    """
    source = os.environ if source is None else source
    wanted = set(also)
    environment = {
        name: value
        for name, value in source.items()
        if name in PASSED or name.startswith("LC_") or name in wanted
    }
    for name, place in _FOLDERS.items():
        path = folder / place
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        if name not in wanted or name not in source:
            environment[name] = str(path)
    environment.setdefault("PATH", os.defpath)
    for name, value in {
        "GIT_AUTHOR_NAME": "fencepost worker",
        "GIT_AUTHOR_EMAIL": "fencepost@localhost",
        "GIT_COMMITTER_NAME": "fencepost worker",
        "GIT_COMMITTER_EMAIL": "fencepost@localhost",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        # A cache written into the clone would become part of the commit, and differ every time.
        "PYTHONDONTWRITEBYTECODE": "1",
    }.items():
        environment.setdefault(name, value)
    return environment
