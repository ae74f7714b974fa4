"""How much a command may use: what the kernel refuses it, and what ends it.

The kernel bounds each process: its data, the files it writes, and how many processes its account
has. What all processes of a command use together is looked at while it runs.
"""

from __future__ import annotations

import contextlib
import os
import re
import resource
import time
from dataclasses import dataclass
from pathlib import Path

from . import supervisor

_PAGE = resource.getpagesize()
_PAUSE = 0.25
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a command and all it starts may use; ``None`` is no limit."""

    memory: int | None = None
    """Bytes, all processes together; and for each process the size of its data."""
    processes: int | None = None
    """How many there may be at a time, threads included."""
    file_size: int | None = None
    """Bytes of the largest file that it may write."""
    free_disk: int | None = None
    """Bytes that have to stay free on the disk with the command's folder."""

    def for_each_process(self, account: int) -> list[tuple[int, int]]:
        """Return what the kernel is asked to enforce, as resource and value.

        It counts the processes of an account, not those of a command, and lets root have as many
        as it likes.

        :param account: the command's user id.
        """
        bounds = [(resource.RLIMIT_CORE, 0)]
        if self.memory is not None:
            bounds.append((resource.RLIMIT_DATA, self.memory))
        if self.file_size is not None:
            bounds.append((resource.RLIMIT_FSIZE, self.file_size))
        if self.processes is not None:
            bounds.append((resource.RLIMIT_NPROC, _tasks_of(account) + self.processes))
        return bounds


class Watch:
    """Looks at what a command uses, four times a second at most.

    :param folder: the command's folder.
    """

    def __init__(self, limits: Limits, folder: Path) -> None:
        self._limits = limits
        self._folder = folder
        self._due = 0.0

    def exceeded(self, ancestor: int) -> str | None:
        """Return which limit the descendants of a process do not keep, or ``None``.

        :raises OSError: the disk is nearly full, whoever filled it.
        """
        now = time.monotonic()
        if now < self._due:
            return None
        self._due = now + _PAUSE
        limits = self._limits
        if limits.free_disk is not None:
            disk = os.statvfs(self._folder)
            if disk.f_bavail * disk.f_frsize < limits.free_disk:
                message = f"less than {size(limits.free_disk)} of the disk is free"
                raise OSError(message)
        if limits.memory is None and limits.processes is None:
            return None
        processes = supervisor.descendants(ancestor)
        # Two of them are the sandbox's own.
        if limits.processes is not None and len(processes) > limits.processes + 2:
            return f"used more than {limits.processes} processes"
        if limits.memory is not None and _is_above(processes, limits.memory):
            return f"used more than {size(limits.memory)} of memory"
        return None


def parsed_size(given: str) -> int:
    """Read a size like 512m or 4g, or a number of bytes.

    :raises ValueError: it is none.
    """
    found = re.fullmatch(r"(\d{1,15})([kmgt]?)", given.strip().lower())
    if found is None or int(found[1]) == 0:
        message = f"{given!r} is not a size like 512m or 4g"
        raise ValueError(message)
    return int(found[1]) * _UNITS[found[2]]


def size(number: int) -> str:
    """Return a number of bytes as :func:`parsed_size` reads it."""
    for unit, factor in reversed(_UNITS.items()):
        if number >= factor and number % factor == 0:
            return f"{number // factor}{unit}"
    return str(number)


def _is_above(processes: list[int], limit: int) -> bool:
    """Return whether the memory of *processes* is above *limit*."""
    resident = 0
    for process in processes:
        with contextlib.suppress(OSError, IndexError, ValueError):
            resident += int(Path("/proc", str(process), "statm").read_text().split()[1]) * _PAGE
    if resident <= limit:
        return False
    # A page that several processes share was counted for each of them. This takes longer.
    return sum(map(_proportional, processes)) > limit


def _proportional(process: int) -> int:
    """Return a process's memory, with its part of what it shares."""
    place = Path("/proc", str(process))
    try:
        found = re.search(r"^Pss:\s+(\d+) kB", (place / "smaps_rollup").read_text(), re.MULTILINE)
        return int(found[1]) * 1024 if found else 0
    except PermissionError:  # it hides itself, as this program does
        with contextlib.suppress(OSError, IndexError, ValueError):
            return int((place / "statm").read_text().split()[1]) * _PAGE
    except OSError:
        pass
    return 0


def _tasks_of(account: int) -> int:
    """Return how many processes and threads an account has."""
    count = 0
    for entry in os.listdir("/proc"):  # noqa: PTH208 - as in fencepost.supervisor
        if not entry.isdigit():
            continue
        with contextlib.suppress(OSError):
            status = Path("/proc", entry, "status").read_text()
            user = re.search(r"^Uid:\s+(\d+)", status, re.MULTILINE)
            threads = re.search(r"^Threads:\s+(\d+)", status, re.MULTILINE)
            if user and threads and int(user[1]) == account:
                count += int(threads[1])
    return count
