"""A command that looks for what it is not to see, and says what it found. Run as a script.

usage: spy.py FOLDER PATH ...

It reads every PATH, and of each process above it, and of all that it sees in a sandbox, whatever
/proc has: environment, command line, open files, memory. What it could read goes into FOLDER/seen,
in base64, with the environment and the command line that it was itself started with; these alone
go into FOLDER/given. What it could do goes into FOLDER/done.
"""

from __future__ import annotations

import base64
import contextlib
import ctypes
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

_ATTACH, _DETACH = 16, 17
_MOST = 1 << 24


def main(folder: Path, paths: list[str]) -> None:
    """Look everywhere."""
    given = [os.fsencode(argument) for argument in sys.argv]
    given += [name + b"=" + value for name, value in os.environb.items()]
    seen: list[bytes] = list(given)
    names = ("read", "traced", "connected", "descriptors", "visible")
    done: dict[str, list[str]] = {name: [] for name in names}
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            done["visible"].append((process / "comm").read_text().strip())
    for path in paths:
        with contextlib.suppress(OSError):
            if Path(path).is_socket():
                with socket.socket(socket.AF_UNIX) as client:
                    client.connect(path)
                    done["connected"].append(path)
            else:
                seen.append(Path(path).read_bytes())
                done["read"].append(path)
    for descriptor in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):
            leads = str(descriptor.readlink())
            if not leads.startswith("/proc/"):  # this very folder
                done["descriptors"].append(leads.partition(":")[0])
    libc = ctypes.CDLL(None, use_errno=True)
    for process in _others():
        for name in ("environ", "cmdline"):
            with contextlib.suppress(OSError):
                seen.append((process / name).read_bytes())
        with contextlib.suppress(OSError):
            seen.extend(_open_files(process))
        with contextlib.suppress(OSError, ValueError):
            seen.append(_memory(process))
        if libc.ptrace(_ATTACH, int(process.name), None, None) == 0:
            os.waitpid(int(process.name), 0)
            libc.ptrace(_DETACH, int(process.name), None, None)
            done["traced"].append((process / "comm").read_text().strip())
    asked = subprocess.run(
        ["git", "credential", "fill"],
        input=b"protocol=https\nhost=example.org\n\n",
        capture_output=True,
        timeout=20,
        check=False,
    )
    seen.append(asked.stdout)
    (folder / "given").write_bytes(base64.b64encode(b"\n".join(given)))
    (folder / "seen").write_bytes(base64.b64encode(b"\n".join(seen)))
    (folder / "done").write_text(json.dumps(done))


def _others() -> list[Path]:
    """Return the processes above this one, or all others where these are only a few."""
    visible = {int(path.name): path for path in Path("/proc").iterdir() if path.name.isdigit()}
    if len(visible) < 10:  # a sandbox
        return [path for number, path in visible.items() if number != os.getpid()]
    above, number = [], os.getppid()
    while number > 1 and number in visible:
        above.append(visible[number])
        number = int((visible[number] / "stat").read_text().rpartition(")")[2].split()[1])
    return above


def _open_files(process: Path) -> list[bytes]:
    found = []
    for descriptor in (process / "fd").iterdir():
        found.append(str(descriptor.readlink()).encode())
        if descriptor.is_file():
            found.append(descriptor.read_bytes()[:_MOST])
    return found


def _memory(process: Path) -> bytes:
    found = b""
    with (process / "mem").open("rb", buffering=0) as memory:
        for line in (process / "maps").read_text().splitlines():
            span, rights, *_ = line.split()
            begin, end = (int(part, 16) for part in span.split("-"))
            if rights.startswith("rw") and len(found) < _MOST:
                with contextlib.suppress(OSError):
                    memory.seek(begin)
                    found += memory.read(min(end - begin, _MOST))
    return found


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
