"""What somebody left for git to wait at, or to read without an end: looked for before git looks.

Git opens some files of a folder by their name, and takes what is there for a file. From a FIFO it
reads until somebody writes into that, and from a device for ever.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from .interrupt import Interrupt

READ_BY_GIT = frozenset({b".gitattributes", b".gitignore", b".gitmodules", b".mailmap"})
"""The names under which git opens files wherever they stand in a folder."""

MOST_BYTES = 100 << 20
"""How large such files may be together, which git holds in memory; itself it takes no attributes
file that is larger."""

_LONGEST = os.pathconf("/", "PC_PATH_MAX") - 1
_MOST_NAMES = 256 << 20
_TOO_LONG = "has too long a name to be looked at"

_GITFILE_BYTES = 1 << 20
_NULL = os.makedev(1, 3)


def obstacle(folder: Path, *, interrupt: Interrupt | None = None) -> str | None:
    """Return what in a folder of files would hold git, in words; ``None`` where nothing does."""
    top = os.fsencode(folder)
    names = held = 0
    for entry in _walk(top, interrupt):
        names += len(entry.path) - len(top)
        if names > _MOST_NAMES:
            return f"the folder holds too many files: their names have over {_MOST_NAMES} bytes"
        # git, which begins in the folder, goes on where this does not.
        found = _TOO_LONG if len(entry.path) > _LONGEST else None
        if found is None and entry.name in READ_BY_GIT:
            found = _not_read(entry.path)
            held += _size(entry.path)
            if found is None and held > MOST_BYTES:
                found = f"has, with others that git reads, over {MOST_BYTES} bytes"
        elif found is not None:
            pass
        elif entry.name == b".git" and os.path.dirname(entry.path) != top:  # noqa: PTH120 - bytes
            found = _not_read_in_repository(entry.path)
        else:
            continue
        if found is not None:
            return f"{os.fsdecode(os.path.relpath(entry.path, top))[-200:]} {found}: remove it"
    return None


def intrusion(repository: Path, *, interrupt: Interrupt | None = None) -> str | None:
    """Return what among the objects of the client's own repository git never put there."""
    top = os.fsencode(repository / "objects")
    borrowed = os.path.join(top, b"info", b"alternates")  # noqa: PTH118 - bytes
    for entry in _walk(top, interrupt):
        if entry.is_dir(follow_symlinks=False):
            continue
        if not entry.is_file(follow_symlinks=False) or entry.path == borrowed:
            where = os.fsdecode(os.path.relpath(entry.path, top))
            return f"objects/{where} was put into the client's own repository"
    return None


def _walk(top: bytes, interrupt: Interrupt | None) -> Iterator[os.DirEntry[bytes]]:
    """Yield all that is below a folder, except for what is in a ``.git``; follow no link."""
    waiting = [top]
    while waiting and not interrupt:
        try:
            entries = os.scandir(waiting.pop())
        except OSError:  # git says it better
            continue
        with entries:
            for entry in entries:
                yield entry
                if entry.name != b".git" and entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)


def _size(path: bytes) -> int:
    try:
        return os.stat(path).st_size  # noqa: PTH116 - bytes
    except OSError:
        return 0


def _not_read(path: bytes) -> str | None:
    """Return what a file that git would open is instead; links are followed, as by an older git."""
    try:
        status = os.stat(path)  # noqa: PTH116 - bytes
    except OSError as error:
        return _TOO_LONG if error.errno == errno.ENAMETOOLONG else None
    if stat.S_ISREG(status.st_mode):
        return f"has over {MOST_BYTES} bytes" if status.st_size > MOST_BYTES else None
    if stat.S_ISDIR(status.st_mode):
        return None
    if stat.S_ISCHR(status.st_mode) and status.st_rdev == _NULL:
        return None
    for kind, name in (
        (stat.S_ISFIFO, "a FIFO"),
        (stat.S_ISSOCK, "a socket"),
        (stat.S_ISCHR, "a device"),
        (stat.S_ISBLK, "a device"),
    ):
        if kind(status.st_mode):
            return f"is {name}, and git would read it"
    return "is no file, and git would read it"


def _not_read_in_repository(path: bytes) -> str | None:
    """Return the same of a ``.git`` below the folder, by which git tells a repository."""
    if (found := _not_read(path)) is not None:
        return found
    place = path
    if os.path.isfile(path):  # noqa: PTH113 - bytes
        with open(path, "rb") as file:  # noqa: PTH123 - likewise
            content = file.read(_GITFILE_BYTES)
        leads = content.removeprefix(b"gitdir: ").rstrip(b"\r\n")
        if b"\0" in leads:
            return None
        place = os.path.join(os.path.dirname(path), leads)  # noqa: PTH118, PTH120
    for name in (b"HEAD", b"commondir"):
        found = _not_read(os.path.join(place, name))  # noqa: PTH118
        if found is not None:
            return f"leads to a {name.decode()} that {found}"
    return None
